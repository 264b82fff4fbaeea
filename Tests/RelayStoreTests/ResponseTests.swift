// SPDX-License-Identifier: Apache-2.0
import GRDB
import RelayDelivery
import RelayProtocol
import Testing

@testable import RelayStore

/// Responses of users to notifications.
@Suite struct ResponseTests {
  let test: TestStore
  init() async throws {
    test = try TestStore()
    try await test.write { transaction in
      try transaction.prepareRoom()
      try transaction.devices.register(Self.tablet, of: bob.id, now: TestStore.time)
    }
  }

  private static let tablet = phone("tablet", token: "other")
  private static let accept = ActionID(unchecked: "accept")
  private static let decline = ActionID(unchecked: "decline")

  /// Sends a message from Alice that is pushed to Bob's phone and tablet. Returns the ids of the pushes.
  private func notify(push: String = #"{"category":"invitation"}"#) async throws -> [String] {
    try await test.write { transaction in
      var message = draft()
      message.push = PushRequest(push)
      message.jobs = [job(), job(Self.tablet)]
      return try transaction.messages.append(message).jobs
    }
  }

  @discardableResult
  private func respond(
    _ id: String, _ action: ActionID = accept, text: String? = nil, key: String? = nil, by user: User = bob
  ) async throws -> Responded {
    try await test.write {
      try $0.responses.respond(
        ResponseDraft(notification: id, user: user.id, action: action, text: text, key: key))
    }
  }

  private func unsent(after id: Int64 = 0, limit: Int = 2_000) async throws -> [StoredResponse] {
    try await test.read { try $0.responses.responses(to: alice.id, after: id, limit: limit) }
  }

  @Test func `a notification that is dismissed on a second device does not change there`() async throws {
    let ids = try await notify()
    try await test.write { transaction in
      for id in ids { try transaction.db.run("UPDATE jobs SET state = 'sent', finished_at = 0 WHERE id = ?", [id]) }
    }
    for id in ids { try await respond(id, .dismiss) }
    let states = try await test.read {
      try $0.db.all("SELECT phone FROM jobs WHERE kind = 'push'") { $0[0] as String? }
    }
    #expect(states == ["ended", "ended"])
  }

  @Test func `a response is stored until the sender has received it`() async throws {
    let id = try await notify()[0]
    let responded = try await respond(id, text: "yes")
    let expected = StoredResponse(
      id: 1, notification: id, message: MessageReference(room: room, seq: 1), user: bob.id, sender: alice.id,
      action: Self.accept, text: "yes")
    #expect(responded == Responded(response: expected, time: .at(0)))
    #expect(try await unsent() == [expected])
    #expect(try await test.read { try $0.responses.sendersWithResponses() } == [alice.id])
    #expect(try await test.write { try $0.responses.markSent([1], to: alice.id) } == false)
    #expect(try await unsent().isEmpty)
    #expect(try await test.read { try $0.responses.sendersWithResponses() }.isEmpty)
  }

  @Test func `the result shows that more responses wait`() async throws {
    for _ in 0..<3 { try await respond(notify()[0]) }
    #expect(try await unsent(limit: 2).map(\.id) == [1, 2])
    #expect(try await test.write { try $0.responses.markSent([1, 2], to: alice.id) })
    #expect(try await unsent(after: 2).map(\.id) == [3])
  }

  @Test func `a repeated response has no effect, from any device`() async throws {
    let ids = try await notify()
    let first = try await respond(ids[0], text: "yes")
    for id in ids {
      let again = try await respond(id, text: "yes")
      #expect(again.isDuplicate && !again.needsSending)
      #expect(again.response == first.response)
    }
    #expect(try await unsent().count == 1)
  }

  @Test func `a response with a known key is a duplicate, whatever its contents`() async throws {
    let ids = try await notify()
    try await respond(ids[0], .open)
    let first = try await respond(ids[0], key: "k")
    let again = try await respond(ids[1], Self.decline, text: "no", key: "k")
    #expect(again.isDuplicate)
    #expect(again.response == first.response)
  }

  @Test func `a user can answer a message once`() async throws {
    let ids = try await notify()
    try await respond(ids[0], text: "yes")
    await #expect(throws: StoreError.answered) { try await respond(ids[1], Self.decline) }
    await #expect(throws: StoreError.answered) { try await respond(ids[0], text: "no") }
    await #expect(throws: StoreError.answered) { try await respond(ids[0], text: nil, key: "k") }
    #expect(try await unsent().count == 1)
  }

  @Test func `a notification can still be answered after it was opened or dismissed`() async throws {
    let ids = try await notify()
    for (id, action) in [(ids[0], ActionID.dismiss), (ids[1], .open), (ids[1], Self.accept), (ids[0], .open)] {
      try await respond(id, action)
    }
    #expect(try await unsent().map(\.action) == [.dismiss, .open, Self.accept])
  }

  @Test func `a user cannot read or answer another user's notification`() async throws {
    let id = try await notify()[0]
    #expect(try await test.read { try $0.responses.notification(id, of: alice.id) } == nil)
    #expect(try await test.read { try $0.responses.notification("none", of: bob.id) } == nil)
    await #expect(throws: StoreError.self) { try await respond(id, by: alice) }
    let found = try await test.read { try $0.responses.notification(id, of: bob.id) }
    #expect(
      found
        == NotificationRecord(
          message: MessageReference(room: room, seq: 1), sender: alice.id,
          category: CategoryID(unchecked: "invitation")))
    try await test.write { _ = try $0.rooms.leave(bob.id, room: room) }
    #expect(try await test.read { try $0.responses.notification(id, of: bob.id) }?.isMember == false)
    try await test.write { _ = try $0.messages.delete(room, 1) }
    #expect(try await test.read { try $0.responses.notification(id, of: bob.id) } == nil)
  }

  @Test func `a blocked sender does not receive the response`() async throws {
    let id = try await notify()[0]
    try await test.write { _ = try $0.people.block(alice.id, by: bob.id) }
    let responded = try await respond(id)
    #expect(!responded.needsSending)
    #expect(try await unsent().isEmpty)
    #expect(try await respond(id).isDuplicate)
  }

  @Test func `the oldest responses are dropped beyond the maximum`() async throws {
    let ids = try await test.write { transaction in
      try (0...ResponseWriter.maxPending).map { _ in
        try #require(try transaction.messages.append(draft(jobs: [job()])).jobs.first)
      }
    }
    try await test.write { transaction in
      for id in ids {
        _ = try transaction.responses.respond(ResponseDraft(notification: id, user: bob.id, action: .open))
      }
    }
    let kept = try await unsent()
    #expect(kept.count == ResponseWriter.maxPending)
    #expect(kept.first?.notification == ids[1])
    #expect(try await respond(ids[0], .open).isDuplicate)
  }

  @Test func `responses that only open a notification are dropped before answers`() async throws {
    let answered = try await notify()[0]
    try await respond(answered)
    let ids = try await test.write { transaction in
      try (0..<ResponseWriter.maxPending).map { _ in
        try #require(try transaction.messages.append(draft(jobs: [job()])).jobs.first)
      }
    }
    try await test.write { transaction in
      for id in ids {
        _ = try transaction.responses.respond(ResponseDraft(notification: id, user: bob.id, action: .open))
      }
    }
    let kept = try await unsent()
    #expect(kept.count == ResponseWriter.maxPending)
    #expect(kept.first?.notification == answered && kept[1].notification == ids[1])
  }

  @Test func `a user who has left the room cannot respond, and receives no texts from it`() async throws {
    let ids = try await notify()
    try await respond(ids[0], text: "yes")
    try await test.write { _ = try $0.rooms.leave(alice.id, room: room) }
    #expect(try await unsent().map(\.text) == [nil])
    #expect(try await unsent().map(\.action) == [Self.accept])
    let others = try await notify()
    try await test.write { _ = try $0.rooms.leave(bob.id, room: room) }
    await #expect(throws: StoreError.notMember) { try await respond(others[0]) }
    await #expect(throws: StoreError.noNotification) { try await respond("none") }
  }

  // MARK: Texts that become messages

  private func post(_ text: String, to id: String, key: String? = nil) async throws -> Appended {
    try await test.write { transaction in
      var message = draft(text, from: bob)
      message.replyTo = 1
      message.response = ResponseDraft(
        notification: id, user: bob.id, action: Self.accept, text: text, key: key)
      return try transaction.messages.append(message)
    }
  }

  @Test func `a text becomes one message`() async throws {
    let ids = try await notify()
    let first = try await post("yes", to: ids[0], key: "k")
    #expect((first.seq, first.isDuplicate, first.response?.needsSending) == (2, false, true))
    #expect(first.response?.response.posted == 2)
    for id in ids {
      let again = try await post("yes", to: id, key: "k")
      #expect((again.seq, again.isDuplicate) == (2, true))
      #expect(again.response?.response == first.response?.response)
    }
    await #expect(throws: StoreError.answered) { try await post("no", to: ids[0]) }
    #expect(try await test.read { try $0.messages.page(room, after: 1, limit: 9) }?.messages.map(\.seq) == [2])
    #expect(try await unsent().map(\.text) == ["yes"])
    // The seq of a refused text is used again.
    #expect(try await test.write { try $0.messages.append(draft()) }.seq == 3)
  }

  @Test func `an answer does not mark the room as read, and is not unread for its sender`() async throws {
    let ids = try await notify()
    try await test.write { transaction in for _ in 0..<3 { _ = try transaction.messages.append(draft()) } }
    _ = try await post("yes", to: ids[0])
    let unread = { try await test.read { try $0.messages.unread(of: bob.id, now: .at(0)) }.total.messages }
    #expect(try await unread() == 3)
    #expect(try await test.read { try $0.rooms.snapshot(room) }?.members.first { $0.user.id == bob.id }?.read == 1)
    #expect(try await test.read { try $0.messages.unread(of: alice.id, now: .at(0)) }.total.messages == 1)
    try await test.write { _ = try $0.messages.delete(room, 5) }
    #expect(try await unread() == 3)
    // Any other message raises the read mark.
    try await test.write { _ = try $0.messages.append(draft(from: bob)) }
    #expect(try await unread() == 0)
  }

  // MARK: Calls

  @Test func `a call that was answered is not retried`() async throws {
    let ids = try await ring()
    try await respond(ids[0])
    #expect(try await test.write { try $0.queue.retry(ids[1], due: .at(1)) } == false)
    #expect(
      try await test.read { try $0.queue.job(ids[1]) }.map { [$0.state.rawValue, $0.note] } == [
        "cancelled", "answered",
      ])
    // The state after a crash.
    try await test.write { try $0.queue.releaseLeases() }
    #expect(try await test.write { try $0.queue.claim(limit: 9, now: .at(2), leaseUntil: .at(9)) }.isEmpty)
    #expect(try await test.read { try $0.queue.job(ids[0]) }?.note == "answered")
  }

  @Test func `a message is still retried after a response`() async throws {
    let ids = try await notify()
    _ = try await test.write { try $0.queue.claim(limit: 9, now: .at(0), leaseUntil: .at(9)) }
    try await respond(ids[0])
    #expect(try await test.write { try $0.queue.retry(ids[1], due: .at(1)) })
  }

  private func ring() async throws -> [String] {
    let ids = try await test.write { transaction in
      var message = draft()
      message.push = PushRequest(#"{"kind":"call"}"#)
      message.jobs = [job(), job(Self.tablet)].map {
        var job = $0
        job.explanation.facts.message.expires = .at(45_000)
        return job
      }
      return try transaction.messages.append(message).jobs
    }
    let claims = try await test.claim()
    #expect(claims.count == 2)
    return ids
  }

  @Test(arguments: [ActionID.open, accept])
  func `a call that was answered on one device is missed on no device`(action: ActionID) async throws {
    let ids = try await ring()
    try await test.write { transaction in
      for id in ids { try transaction.queue.finish(id, state: .sent, now: .at(0)) }
    }
    try await respond(ids[0], action)
    #expect(try await test.write { try $0.updates.claim(limit: 9, now: .at(45_000), leaseUntil: .at(99_000)) }.isEmpty)
  }

  @Test func `a call that was answered does not ring on other devices`() async throws {
    let ids = try await ring()
    try await test.write { transaction in
      try transaction.queue.finish(ids[0], state: .sent, now: .at(0))
      try transaction.queue.retry(ids[1], due: .at(5))
    }
    try await respond(ids[0])
    let job = try await test.read { try $0.queue.job(ids[1]) }
    #expect((job?.state, job?.note) == (.cancelled, "answered"))
  }

  @Test func `a message that was answered is still pushed to the other devices`() async throws {
    let ids = try await notify()
    try await respond(ids[0])
    #expect(try await test.read { try $0.queue.job(ids[1]) }?.state == .ready)
  }
}
