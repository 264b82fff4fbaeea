// SPDX-License-Identifier: Apache-2.0
import GRDB
import RelayJSON
import RelayProtocol
import Testing

@testable import RelayStore

/// Reactions to messages, and their recovery.
@Suite struct ReactionTests {
  let test: TestStore
  init() async throws { test = try await .withMessages(5) }

  @discardableResult
  private func react(_ seq: Int64, _ key: String = "👍", by user: UserID = alice.id) async throws -> Annotated? {
    try await test.write { try $0.messages.react(room, seq, key, by: user, at: .at(7)) }
  }

  @discardableResult
  private func unreact(_ seq: Int64, _ key: String = "👍", by user: UserID = alice.id) async throws -> Annotated? {
    try await test.write { try $0.messages.unreact(room, seq, key, by: user, at: .at(8)) }
  }

  private func changes(after change: Int64, upTo seq: Int64 = 5, kept: Int = .max) async throws -> [ChangedMessage]? {
    try await test.read {
      try $0.messages.changes(room, upTo: seq, after: change, kept: kept, limit: 9, maxBytes: 999)
    }
  }

  private func text(_ value: [UInt8]?) -> String? { value.map { String(decoding: $0, as: UTF8.self) } }

  private func count(_ table: String) async throws -> Int? {
    try await test.read { try $0.db.first("SELECT count(*) FROM \(table)")?[0] }
  }

  @Test func `a user has one reaction with a key, and a removal ends it`() async throws {
    #expect(text(try await react(2)?.value) == #"[{"key":"👍","count":1,"users":["alice"]}]"#)
    let again = try await react(2)
    #expect(again?.change == nil)
    #expect(text(again?.value) == #"[{"key":"👍","count":1,"users":["alice"]}]"#)
    #expect(try await react(2, "🎉", by: bob.id)?.change == 2)
    let both = try await react(2, by: bob.id)
    let list = #"[{"key":"👍","count":2,"users":["alice","bob"]},{"key":"🎉","count":1,"users":["bob"]}]"#
    #expect(both?.change == 3)
    #expect(text(both?.value) == list)
    #expect(text(try await test.read { try $0.messages.message(room, 2)?.reactions }) == list)
    #expect(try await test.read { try $0.messages.message(room, 3)?.reactions } == nil)
    #expect(try await unreact(2, "🙈")?.change == nil)
    try await unreact(2)
    try await unreact(2, by: bob.id)
    let last = try await unreact(2, "🎉", by: bob.id)
    #expect(last?.change == 6 && last?.value == nil)
    #expect(try await unreact(2, by: UserID(unchecked: "nobody"))?.change == nil)
    #expect(try await count("reactions") == 0)
  }

  @Test func `the record names the first users of a key, and counts all`() async throws {
    for number in 1...7 { try await react(1, by: UserID(unchecked: "u\(number)")) }
    try await unreact(1, by: UserID(unchecked: "u2"))
    let reactions = try await test.read { try $0.messages.message(room, 1)?.reactions }
    #expect(text(reactions) == #"[{"key":"👍","count":6,"users":["u1","u3","u4","u5","u6"]}]"#)
  }

  @Test func `a message has at most 20 keys and 1000 reactions`() async throws {
    for number in 1...Reactions.maxKeys { try await react(1, "\(number)") }
    await #expect(throws: StoreError.refused(.tooManyReactionKeys)) { try await react(1, "21") }
    #expect(try await react(1, "20", by: bob.id)?.change == 21)
    try await test.write { transaction in
      for number in 22...Reactions.maxCount {
        _ = try transaction.messages.react(room, 1, "1", by: UserID(unchecked: "u\(number)"))
      }
    }
    await #expect(throws: StoreError.refused(.tooManyReactions)) { try await react(1, "1", by: bob.id) }
    // A reaction that exists is no new one.
    #expect(try await react(1, "1")?.change == nil)
    try await unreact(1, "1")
    #expect(try await react(1, "1", by: bob.id)?.change == Int64(Reactions.maxCount) + 2)
  }

  @Test func `a message that is unknown, deleted or outside the history has no reactions`() async throws {
    try await react(2)
    try await test.write { _ = try $0.messages.delete(room, 2) }
    for seq in [2, 9] as [Int64] {
      #expect(try await react(seq) == nil)
      #expect(try await unreact(seq) == nil)
    }
    #expect(try await count("reactions") == 0)
    #expect(try await count("annotations") == 0)
    #expect(try await test.write { try $0.messages.react(RoomID(unchecked: "none"), 1, "x", by: alice.id) } == nil)
  }

  @Test func `a client recovers the newest reactions together with edits`() async throws {
    try await react(2)
    try await test.write { _ = try $0.messages.edit(room, 2, at: .at(7), body: Array("1".utf8)) }
    try await react(4)
    try await unreact(2)
    let edit = ChangedMessage(seq: 2, change: 2, time: .at(7), body: Array("1".utf8))
    let removed = ChangedMessage(
      seq: 2, change: 4, time: .at(8), body: nil, annotation: Annotation(.reactions, nil))
    let added = ChangedMessage(
      seq: 4, change: 3, time: .at(7), body: nil,
      annotation: Annotation(.reactions, Array(#"[{"key":"👍","count":1,"users":["alice"]}]"#.utf8)))
    #expect(try await changes(after: 0) == [edit, added, removed])
    #expect(try await changes(after: 2) == [added, removed])
    #expect(try await changes(after: 0, upTo: 3) == [edit, removed])
    #expect(try await changes(after: 4) == [])
    // A client that does not name its newest change gets all since its newest message.
    let since = try await test.read { try $0.messages.changes(room, upTo: 5, limit: 9, maxBytes: 999) }
    #expect(since == [edit, removed, added])
    #expect(try await test.read { try $0.messages.changes(room, upTo: 5, limit: 2, maxBytes: 999) } == nil)
    #expect(try await test.read { try $0.messages.changes(room, upTo: 5, after: 0, limit: 9, maxBytes: 40) } == nil)
    #expect(try await test.read { try $0.rooms.snapshot(room)?.change } == 4)
  }

  @Test func `a reaction alone is a change of the room`() async throws {
    try await react(2)
    #expect(try await test.read { try $0.rooms.snapshot(room)?.changed } == 5)
  }

  @Test func `the reactions of swept messages make the list incomplete, and leave no rows`() async throws {
    try await react(1)
    try await react(5)
    #expect(try await changes(after: 0, kept: 2) == nil)
    try await test.write { transaction in
      try transaction.rooms.advanceCursor(room, to: 5)
      _ = try transaction.messages.trim(room, to: Retention(count: 3), maxDeleted: 9)
    }
    #expect(try await changes(after: 0) == nil)
    #expect(try await changes(after: 1)?.map(\.seq) == [5])
    #expect(try await count("reactions") == 1)
    #expect(try await count("annotations") == 1)
    #expect(try await test.write { try $0.messages.react(room, 1, "x", by: alice.id) } == nil)
  }

  @Test func `many reactions of swept messages are deleted in steps`() async throws {
    try await test.write { transaction in
      for seq in 1...3 as ClosedRange<Int64> {
        for number in 1...400 {
          _ = try transaction.messages.react(room, seq, "x", by: UserID(unchecked: "u\(number)"))
        }
      }
      try transaction.rooms.advanceCursor(room, to: 5)
    }
    let trim = { @Sendable () async throws -> MessageWriter.Trimmed? in
      try await test.write { try $0.messages.trim(room, to: Retention(count: 1), maxDeleted: 9) }
    }
    #expect(try await trim() == .init(first: 5, deleted: 4, more: true))
    #expect(try await count("reactions") == 200)
    #expect(try await test.read { try $0.rooms.aging(after: 0, limit: 9).rooms.map(\.hasLeftovers) } == [true])
    #expect(try await trim() == .init(first: 5, deleted: 0, more: false))
    #expect(try await count("reactions") == 0)
    #expect(try await test.read { try $0.rooms.aging(after: 0, limit: 9).rooms.map(\.hasLeftovers) } == [false])
  }

  @Test func `the deletion of a room deletes the reactions`() async throws {
    try await react(1)
    try await test.write { transaction in
      _ = try transaction.rooms.delete(room, by: .backend)
      while try transaction.rooms.sweepDeleted() {}
    }
    #expect(try await count("reactions") == 0)
    #expect(try await count("annotations") == 0)
  }

  // MARK: Keys that are older than the rule for texts of one line

  /// Reactions of Alice and Bob to the first message, with keys that show nothing or the same.
  private func reactWithOldKeys() async throws {
    let old = [
      ("w", "\u{202E}👍", alice.id), ("x", "👍", bob.id), ("y", "👍\u{2069}", bob.id), ("z", "a\u{2028}b", bob.id),
    ]
    for (key, _, user) in old { try await react(1, key, by: user) }
    try await test.write { transaction in
      for (key, oldKey, _) in old {
        try transaction.db.run("UPDATE reactions SET key = ? WHERE key = ?", [oldKey, key])
        try transaction.db.run(
          "UPDATE annotations SET value = CAST(replace(CAST(value AS TEXT), ?, ?) AS BLOB)",
          ["\"\(key)\"", "\"\(oldKey)\""])
      }
    }
  }

  private func shown() async throws -> String? {
    text(try await test.read { try $0.messages.message(room, 1)?.reactions })
  }

  @Test func `old keys are shown as lines`() async throws {
    try await reactWithOldKeys()
    let value = try #require(try await shown())
    #expect(value.isLine)
    #expect(value.contains(#""key":"👍""#) && value.contains(#""key":"a b""#))
    let recovered = try #require(try await changes(after: 0)?.last?.annotation)
    #expect(text(recovered.value)?.isLine == true)
  }

  @Test func `a user removes a reaction with the key that is shown`() async throws {
    try await reactWithOldKeys()
    let list = #"[{"key":"👍","count":1,"users":["bob"]},{"key":"a b","count":1,"users":["bob"]}]"#
    #expect(text(try await unreact(1)?.value) == list)
    #expect(try await shown() == list)
    try await unreact(1, "a b", by: bob.id)
    #expect(try await unreact(1, by: bob.id)?.value == nil)
    #expect(try await count("reactions") == 0)
  }

  @Test func `a new reaction counts with those of old keys`() async throws {
    try await reactWithOldKeys()
    #expect(try await react(1)?.change == nil)
    #expect(try await react(1, "🎉")?.change == 5)
    let list =
      #"[{"key":"👍","count":2,"users":["alice","bob"]},{"key":"a b","count":1,"users":["bob"]},"#
      + #"{"key":"🎉","count":1,"users":["alice"]}]"#
    #expect(try await shown() == list)
  }
}
