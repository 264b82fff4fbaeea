// SPDX-License-Identifier: Apache-2.0
import RelayDelivery
import RelayProtocol
import Testing

@testable import RelayStore

/// Notifications: pushes to a user without a message of a room.
@Suite struct NotificationTests {
  let test: TestStore
  init() throws { test = try TestStore() }

  private let notificationRoom = RoomID.notifications(of: bob.id)

  /// Stores a notification.
  /// - Returns: The stored notification, and the id of the push to the phone.
  @discardableResult
  private func post(
    key: String? = nil, from sender: User = alice, jobs: [PlannedPush] = [job()]
  ) async throws -> (stored: Appended, push: String?) {
    let notificationRoom = notificationRoom
    let posted = try await test.write { transaction in
      try transaction.devices.register(phone(), of: bob.id, now: .at(0))
      return try transaction.messages.post(
        MessageDraft(
          room: notificationRoom, from: sender, time: .at(0), body: Array("null".utf8), push: PushRequest("{}"),
          isCounted: false,
          key: key, jobs: jobs, cursorFollows: true), epoch: "epoch")
    }
    return (posted.stored, posted.pushes[phone().id])
  }

  @Test func `a notification is claimed although its room has no members`() async throws {
    let posted = try await post()
    let claims = try await test.write { try $0.queue.claim(limit: 9, now: .at(0), leaseUntil: .at(60)) }
    let claim = try #require(claims.first)
    #expect(claim.id == posted.push)
    let shown = try #require(claim.shown)
    #expect((claim.recipient, shown.sender.id, shown.room.id, shown.unread) == (bob.id, alice.id, notificationRoom, 0))
    #expect(shown.room.id.isNotifications)
  }

  @Test func `a notification is decided again like other pushes`() async throws {
    var held = job()
    held.isHeld = true
    held.due = .at(9)
    let posted = try await post(jobs: [held])
    let open = try await test.read { try $0.queue.openJobs(of: bob.id).jobs }
    #expect(open.map(\.id) == [posted.push])
    #expect(open.first?.marks == nil)
  }

  @Test func `a key belongs to a sender and a recipient`() async throws {
    let first = try await post(key: "key")
    let again = try await post(key: "key")
    #expect(again.stored.isDuplicate)
    #expect(again.push == first.push)
    let other = try await post(key: "key", from: User(id: UserID(unchecked: "carol")))
    #expect(!other.stored.isDuplicate)
    #expect(other.push != first.push)
  }

  @Test func `a notification is in no user's rooms, and a start decides nothing again`() async throws {
    try await post()
    for user in [alice, bob] { #expect(try await test.read { try $0.rooms.names(of: user.id) } == []) }
    #expect(try await test.read { try $0.rooms.undecided() }.isEmpty)
    #expect(try await test.read { try $0.messages.unread(of: bob.id, now: .at(0)) }.total == Unread(messages: 0))
  }

  @Test func `a silent notification wakes the app`() async throws {
    var silent = job()
    silent.explanation.facts.message.isSilent = true
    #expect(try await post(jobs: [silent]).push == nil)
    let updates = try await test.write { try $0.updates.claim(limit: 9, now: .at(0), leaseUntil: .at(60)) }
    guard case .silent(let room, _, _, _)? = updates.first?.content else {
      Issue.record("\(updates)")
      return
    }
    #expect(room == notificationRoom)
  }

  @Test func `the name of a notification room is not a valid room name`() {
    #expect(RoomID(rawValue: notificationRoom.rawValue) == nil)
    #expect(!room.isNotifications)
  }
}
