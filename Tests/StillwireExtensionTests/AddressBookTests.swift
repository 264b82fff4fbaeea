// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import StillwireExtension

@Suite struct AddressBookTests {
  private static let nodes = ["a", "b", "c"].map { node($0) }
  private var book = AddressBook(nodes)

  /// The answer of a standby node that knows no leader.
  private static let unaware = "unaware"

  /// Plays a round. Each step is the leader that the node names, `unaware`, or `nil` for no answer. Returns the nodes
  /// that were tried.
  private mutating func play(_ answers: [String?], at now: Duration = .zero) -> String {
    book.beginRound()
    var tried = book.address.host.prefix(1)
    for answer in answers {
      let leader = answer == Self.unaware ? nil : answer
      guard book.selectNext(leader: leader, isStandby: answer != nil, at: now) else { break }
      tried += book.address.host.prefix(1)
    }
    return String(tried)
  }

  static let table: [(name: String, leaders: [String?], tried: String)] = [
    ("without a leader the nodes follow in order", [nil, nil, nil], "abc"),
    ("the leader is next", ["https://c.example.org", nil, nil], "acb"),
    ("nodes that name each other are tried once", ["https://b.example.org", "https://a.example.org", nil], "abc"),
    ("a node that names itself is not tried again", ["https://a.example.org", nil, nil], "abc"),
    ("the port of the scheme and the path of the socket do not matter", ["wss://c.example.org:443/v1/connect"], "ac"),
    ("the case of the host does not matter", ["https://C.Example.ORG/"], "ac"),
    ("a leader with another host is ignored", ["https://c.example.com"], "ab"),
    ("a leader with another port is ignored", ["https://c.example.org:8443"], "ab"),
    ("a leader without TLS is ignored", ["http://c.example.org"], "ab"),
    ("a leader below another path is ignored", ["https://c.example.org/chat"], "ab"),
    ("a name that looks like a node is ignored", ["https://c.example.org@evil.example"], "ab"),
    ("a text that is no URL is ignored", ["c.example.org"], "ab"),
    ("nodes that know no leader are tried once", [unaware, "https://a.example.org", unaware, unaware], "abc"),
  ]

  @Test(arguments: table.indices) mutating func `a round tries each address at most once`(_ index: Int) {
    let (name, leaders, tried) = Self.table[index]
    #expect(play(leaders) == tried, "\(name)")
  }

  @Test mutating func `a round begins with the last leader`() {
    _ = play(["https://c.example.org"])
    book.succeeded()
    #expect(play([nil, nil]) == "cab")
  }

  @Test mutating func `a round begins with the newest leader that a node named, also if that node was tried`() {
    _ = play([nil, "https://a.example.org", "https://b.example.org"])
    #expect(play([]) == "b")
  }

  @Test mutating func `a round begins after a leader that no longer answers`() {
    book.succeeded()
    book.avoid(at: .zero)
    #expect(play([nil, nil]) == "bca")
  }

  static let silences: [(name: String, at: Duration, answers: [String?], tried: String)] = [
    ("a silent node is left out if the others know no leader", .milliseconds(9_999), [unaware, unaware], "bc"),
    ("a silent node is tried again after 10 s", .seconds(10), [unaware, unaware], "bca"),
    ("a silent node is tried if a node names it", .zero, [unaware, "https://a.example.org"], "bca"),
    ("a silent node is tried if a node names an unknown address", .zero, [unaware, "https://x.example"], "bca"),
    ("a silent node is tried if no other node answers", .zero, [nil, nil], "bca"),
  ]

  @Test(arguments: silences.indices) mutating func `a round may leave out a silent node`(_ index: Int) {
    let (name, now, answers, tried) = Self.silences[index]
    book.succeeded()
    book.avoid(at: .zero)
    #expect(play(answers, at: now) == tried, "\(name)")
  }

  @Test mutating func `a node that answers is no longer silent`() {
    book.succeeded()
    book.avoid(at: .zero)
    #expect(play(["https://a.example.org", Self.unaware, Self.unaware]) == "bac")
    #expect(play([Self.unaware, Self.unaware]) == "abc")
  }

  @Test mutating func `a leader is news if it is another node than before, or if a node has named it`() {
    let rounds: [[String?]] = [[], [], ["https://b.example.org"], [], [nil, "https://b.example.org"], []]
    let found = rounds.map { leaders in
      book.beginRound()
      for leader in leaders { _ = book.selectNext(leader: leader, isStandby: true, at: .zero) }
      return book.succeeded()
    }
    #expect(found == [true, false, true, false, true, false])
    var single = AddressBook([node("a")])
    single.beginRound()
    #expect(single.succeeded() == false)
  }

  @Test func `an address that occurs twice counts once`() {
    #expect(!AddressBook([node("a"), node("a")]).areSeveral)
  }
}

private func node(_ name: String) -> RelayAddress { RelayAddress("https://\(name).example.org")! }
