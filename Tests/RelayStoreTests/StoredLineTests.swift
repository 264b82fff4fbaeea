// SPDX-License-Identifier: Apache-2.0
import GRDB
import RelayDelivery
import RelayJSON
import RelayProtocol
import Testing

@testable import RelayStore

/// Stored texts that are older than the rule for texts of one line: each reader gets them as lines.
@Suite struct StoredLineTests {
  let test: TestStore

  /// A room with a title, whose sender and recipient have names of several lines.
  init() async throws {
    test = try TestStore()
    try await test.write { transaction in
      try transaction.prepareRoom()
      _ = try transaction.rooms.update(room, RoomChange(title: "Title"), by: .backend)
      _ = try transaction.messages.append(draft("hi", jobs: [job()]))
      try transaction.db.execute(
        sql: """
          UPDATE users SET display_name = display_name || char(10) || char(0x202E) || 'x', handle = 'h' || char(7),
            handle_type = 't' || char(0x2066), status = '{"text":"s\u{202E}"}';
          UPDATE details SET title = 'Title' || char(0x2029) || char(0x202D) || 'x'
          """)
      // The cache has the texts from before.
      transaction.cache.removeAll()
    }
  }

  @Test func `the record of a user and of a member`() async throws {
    let user = try #require(try await test.read { try $0.people.user(alice.id) })
    #expect(user.user.name == "Alice x")
    #expect(user.status == UserStatus(text: "s"))
    let members = try await test.read { try $0.rooms.snapshot(room)?.members }
    #expect(members?.map(\.user.name) == ["Alice x", "Bob x"])
    #expect(members?.map(\.record.status) == [UserStatus(text: "s"), UserStatus(text: "s")])
  }

  @Test func `the record of a room, and the list of rooms`() async throws {
    #expect(try await test.read { try $0.rooms.details(of: room)?.title } == "Title x")
    let page = try await test.read { try $0.inbox.rooms(of: bob.id, limit: 9, now: .at(0)) }
    #expect(page.entries.first?.details.title == "Title x")
    #expect(page.entries.first?.lastMessage?.from.name == "Alice x")
  }

  @Test func `a push`() async throws {
    let claims = try await test.claim()
    let shown = try #require(claims.first?.shown)
    #expect(shown.room.title == "Title x")
    #expect([shown.sender.name, shown.sender.handle, shown.sender.handleType] == ["Alice x", "h", "t"])
  }

  @Test func `a change of another member of a profile keeps the name as a line`() async throws {
    let changed = try await test.write { try $0.people.changeProfile(of: alice.id) { $0.avatar = nil } }
    #expect([changed.name, changed.handle, changed.handleType] == ["Alice x", "h", "t"])
    let stored: String? = try await test.read {
      try $0.db.first("SELECT display_name FROM users WHERE name = ?", [alice.id.rawValue])?[0]
    }
    #expect(stored == "Alice x")
  }

  @Test func `a change of the metadata of a room keeps the title as a line`() async throws {
    let change = RoomChange(metadata: Array("{}".utf8))
    _ = try await test.write { try $0.rooms.update(room, change, by: .backend) }
    #expect(try await test.read { try $0.rooms.details(of: room)?.title } == "Title x")
  }

  @Test(arguments: [
    (#"{"title":"a\nb","level":"passive"}"#, PushText.text("a b")),
    (#"{"title":"\u202e","level":"passive"}"#, .text("?")),
    (
      #"{"titleKey":"k\u0007","titleArgs":["\u2066a","\u2066"],"level":"passive"}"#,
      .localized(key: "k", arguments: ["a", ""])
    ),
  ])
  func `a stored push keeps its other fields`(json: String, title: PushText) {
    let push = PushRequest(storedRest: Array(json.utf8), kind: .message, category: nil, collapse: .message)
    #expect(push.style.title == title)
    #expect(push.level == .passive)
  }
}
