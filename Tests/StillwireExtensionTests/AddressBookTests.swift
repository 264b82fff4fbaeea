// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import StillwireExtension

@Suite struct AddressBookTests {
  private static let nodes = ["a", "b", "c"].map { node($0) }
  private var book = AddressBook(nodes)

  /// Plays a round. Each step is the leader that the node names. Returns the nodes that were tried.
  private mutating func play(_ leaders: [String?]) -> String {
    book.beginRound()
    var tried = book.address.host.prefix(1)
    for leader in leaders {
      guard book.selectNext(leader: leader) else { break }
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
    book.avoid()
    #expect(play([nil, nil]) == "bca")
  }

  @Test func `an address that occurs twice counts once`() {
    #expect(!AddressBook([node("a"), node("a")]).areSeveral)
  }
}

private func node(_ name: String) -> RelayAddress { RelayAddress("https://\(name).example.org")! }
