// SPDX-License-Identifier: Apache-2.0
import RelayProtocol
import Testing

@testable import RelayRequests
@testable import RelayState

/// The log of presence changes, and the filter of a stream.
@Suite struct PresenceLogTests {
  private var log = PresenceLog(epoch: "e", capacity: 3)

  private mutating func note(_ changes: String...) {
    for change in changes { log.note(Array(change.utf8), of: UserID(unchecked: String(change.prefix(1)))) }
  }

  /// The entries after a number, such as `a1 b1`.
  private func entries(
    after number: Int64, maxChanges: Int = 100, maxBytes: Int = 1_000, of users: String = "abcdefgh"
  ) -> String {
    log.page(after: number, maxChanges: maxChanges, maxBytes: maxBytes) { users.contains($0.rawValue) }.entries
      .map { String(decoding: $0.entry, as: UTF8.self) }.joined(separator: " ")
  }

  @Test mutating func `a reader that is behind gets the newest state of each user once, in the order of the changes`() {
    note("a1", "b1", "a2", "c1", "a3")
    #expect(entries(after: 0) == "b1 c1 a3")
    #expect(entries(after: 2) == "c1 a3")
    #expect(entries(after: 4) == "a3")
    #expect(entries(after: 5) == "")
    #expect(entries(after: 0, of: "b") == "b1")
    #expect(log.newest == 5)
  }

  @Test mutating func `a page ends at its bounds, and the next one continues without a gap`() {
    note("a1", "a2", "b1", "c1")
    let everybody: (UserID) -> Bool = { _ in true }
    let first = log.page(after: 0, maxChanges: 100, maxBytes: 1, where: everybody)
    #expect(first.entries.map(\.number) == [2])
    #expect(first.end == 2)
    #expect(entries(after: first.end) == "b1 c1")
    let none = log.page(after: 0, maxChanges: 3, maxBytes: 100) { $0.rawValue == "c" }
    #expect(none.entries.isEmpty)
    #expect(none.end == 3)
    #expect(entries(after: none.end, of: "c") == "c1")
    #expect(log.page(after: 4, maxChanges: 1, maxBytes: 1, where: everybody).end == 4)
  }

  @Test mutating func `above the capacity the oldest user is removed, and readers behind must begin again`() {
    note("a1", "b1", "c1")
    #expect(log.horizon == 0)
    note("a2", "d1")
    #expect(log.horizon == 2)
    #expect(entries(after: 2) == "c1 a2 d1")
    #expect(log.start(at: "e.1") == .failure(.expired))
    #expect(log.start(at: "e.2") == .success(2))
    #expect(log.start(at: log.position(5)) == .success(5))
  }

  @Test mutating func `many changes of few users need no more memory, and no reader misses one`() {
    var number: Int64 = 0
    var seen: [String] = []
    for round in 0..<1_000 {
      note("a\(round)", "b\(round)")
      guard round % 50 == 49 else { continue }
      let page = log.page(after: number, maxChanges: 10_000, maxBytes: 10_000) { _ in true }
      seen += page.entries.map { String(decoding: $0.entry, as: UTF8.self) }
      number = page.end
    }
    #expect(seen == (0..<20).flatMap { ["a\($0 * 50 + 49)", "b\($0 * 50 + 49)"] })
    #expect(log.horizon == 0)
    #expect(log.count <= 2 * 3 + 64)
  }

  @Test(arguments: [
    (nil, PresenceLog.Reset.new), ("", .new), ("e", .restarted), ("e.", .restarted), ("e.x", .restarted),
    ("f.1", .restarted), ("e.9", .restarted), ("e.1.1", .restarted), ("e.-1", .expired), (".1", .restarted),
  ])
  mutating func `another position begins again, and says why`(position: String?, reset: PresenceLog.Reset) {
    note("a1")
    #expect(log.start(at: position) == .failure(reset))
  }

  @Test mutating func `after the log is cleared, every earlier position is expired`() {
    note("a1")
    let before = log.position(log.newest)
    log.clear()
    #expect(log.start(at: before) == .failure(.expired))
    #expect(entries(after: log.newest) == "")
    note("b1")
    #expect(entries(after: 2) == "b1")
  }

  // MARK: The filter

  @Test(arguments: [
    ("ann", "ann", true), ("ann", "anna", false), ("ann,bob", "bob", true), ("team-*", "team-1", true),
    ("team-*,ann", "ann", true), ("team-*", "ann", false), ("*", "ann", true),
  ])
  func `a filter has names and patterns`(text: String, user: String, isIncluded: Bool) throws {
    #expect(try PresenceFilter(text).includes(UserID(unchecked: user)) == isIncluded)
    #expect(PresenceFilter.all.includes(UserID(unchecked: user)))
  }

  @Test func `a filter has at most 100 parts, and no wrong names`() throws {
    func parts(_ count: Int) -> String { (0..<count).map { "u\($0)" }.joined(separator: ",") }
    _ = try PresenceFilter(parts(100))
    for text in [parts(101), "", "ann,", "a b", "ä*", "me"] {
      let error = #expect(throws: RequestError.self, "\(text)") { _ = try PresenceFilter(text) }
      #expect(error?.at == "/query/users")
    }
  }
}
