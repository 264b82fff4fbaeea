// SPDX-License-Identifier: Apache-2.0
import GRDB
import RelayDelivery
import RelayProtocol
import Testing

@testable import RelayStore

/// Edits and deletions of messages.
@Suite struct EditTests {
  let test: TestStore
  init() async throws {
    test = try TestStore()
    try await test.write { try $0.prepareRoom() }
  }

  private static let full: MessageDraft = {
    var message = draft("first")
    message.mentions = [bob.id, alice.id]
    message.replyTo = 1
    message.push = PushRequest(#"{"title":"é"}"#)
    message.reports = true
    return message
  }()
  private static let new = Array(#"{"text":"second"}"#.utf8)

  private func message(_ seq: Int64 = 1) async throws -> StoredMessage? {
    try await test.read { try $0.messages.message(room, seq) }
  }

  private func head() async throws -> MessageHead? { try await test.read { try $0.messages.head(room, 1) } }

  @Test func `every query returns all fields of a message`() async throws {
    try await test.write { _ = try $0.messages.append(Self.full) }
    let expected = StoredMessage(
      seq: 1, from: alice.id, time: .at(0), body: Self.full.body, mentions: [bob.id, alice.id], replyTo: 1)
    #expect(try await message() == expected)
    var quoting = expected
    quoting.quote = Quote(seq: 1, from: alice.id, preview: "first")
    #expect(try await test.read { try $0.messages.page(room, after: 0, limit: 9)?.messages } == [quoting])
    #expect(try await test.read { try $0.messages.page(room, before: nil, limit: 9)?.messages } == [quoting])
    let head = MessageHead(
      seq: 1, time: .at(0),
      traits: MessageTraits(
        from: alice.id, mentions: [bob.id, alice.id], push: try #require(Self.full.push)), reports: true)
    #expect(try await test.read { try $0.messages.undecided(in: room) } == [head])
    #expect(try await test.read { try $0.messages.head(room, 1) } == head)
  }

  @Test func `a message that requests no push is stored so`() async throws {
    var message = draft()
    message.push = PushRequest("false")
    message.isCounted = false
    try await test.write { [message] in _ = try $0.messages.append(message) }
    #expect(try await head()?.traits.push == PushRequest(isAsked: false))
  }

  @Test func `an edit replaces only the body`() async throws {
    try await test.write { _ = try $0.messages.append(Self.full) }
    let edited = try await test.write { try $0.messages.edit(room, 1, by: alice.id, at: .at(5), body: Self.new) }
    #expect(edited == Edited(from: alice.id, time: .at(0), isChanged: true, newest: 1, change: 1))
    var expected = try #require(try await message())
    #expect(expected.body == Self.new)
    #expect(expected.mentions == [bob.id, alice.id])
    #expect(expected.edited == .at(5))
    #expect(try await head()?.traits.push == Self.full.push)

    expected.body = Self.full.body
    expected.edited = .at(6)
    #expect(try await test.write { try $0.messages.edit(room, 1, at: .at(6), body: Self.full.body) }?.change == 2)
    #expect(try await message() == expected)
  }

  @Test func `a deleted message keeps its seq and loses its contents`() async throws {
    try await test.write { _ = try $0.messages.append(Self.full) }
    let deleted = try await test.write { try $0.messages.delete(room, 1, by: alice.id) }
    #expect(deleted == Edited(from: alice.id, time: .at(0), isChanged: true, newest: 1, change: 1))
    let expected = StoredMessage(seq: 1, from: alice.id, time: .at(0), body: [], isDeleted: true)
    #expect(try await message() == expected)
    #expect(try await test.read { try $0.messages.page(room, after: 0, limit: 9)?.messages } == [expected])
    #expect(
      try await test.read { try $0.messages.undecided(in: room) } == [
        MessageHead(
          seq: 1, time: .at(0), traits: MessageTraits(from: alice.id, isDeleted: true), reports: true)
      ])
  }

  @Test func `a message of another sender stays, and the result names the sender`() async throws {
    try await test.write { _ = try $0.messages.append(Self.full) }
    let before = try await message()
    let refused = Edited(from: alice.id, time: .at(0), isChanged: false, newest: 1)
    #expect(try await test.write { try $0.messages.edit(room, 1, by: bob.id, body: Self.new) } == refused)
    #expect(try await test.write { try $0.messages.delete(room, 1, by: bob.id) } == refused)
    #expect(try await message() == before)
  }

  @Test func `a deleted message cannot be edited or deleted again`() async throws {
    try await test.write { _ = try $0.messages.append(Self.full) }
    try await test.write { _ = try $0.messages.delete(room, 1) }
    #expect(try await test.write { try $0.messages.edit(room, 1, body: Self.new) }?.isChanged == false)
    #expect(try await test.write { try $0.messages.delete(room, 1) }?.isChanged == false)
    #expect(try await message()?.body == [])
  }

  @Test func `a message that is not stored cannot be edited or deleted`() async throws {
    let none = RoomID(unchecked: "none")
    for (room, seq) in [(room, 1), (none, 1)] as [(RoomID, Int64)] {
      #expect(try await test.write { try $0.messages.edit(room, seq, body: Self.new) } == nil)
      #expect(try await test.write { try $0.messages.delete(room, seq) } == nil)
      #expect(try await test.read { try $0.messages.message(room, seq) } == nil)
    }
  }

  @Test func `a push that was not sent yet has the new body`() async throws {
    try await test.write { transaction in
      _ = try transaction.messages.append(draft(jobs: [job()]))
      _ = try transaction.messages.edit(room, 1, body: Self.new)
    }
    let claims = try await test.write { try $0.queue.claim(limit: 9, now: .at(0), leaseUntil: .at(9)) }
    #expect(claims.map(\.shown?.message.body) == [Self.new])
  }

  @Test func `a deletion cancels each push except the one that is being sent`() async throws {
    let devices = ["held", "waiting", "sending", "sent"].map { phone($0, token: $0) }
    try await test.write { transaction in
      for device in devices { try transaction.devices.register(device, of: bob.id, now: .at(0)) }
      var jobs = devices.map { job($0) }
      jobs[0].isHeld = true
      jobs[1].due = .at(9)
      _ = try transaction.messages.append(draft(jobs: jobs))
      _ = try transaction.messages.append(draft(jobs: [job(devices[0])]))
      for claim in try transaction.queue.claim(limit: 9, now: .at(0), leaseUntil: .at(9))
      where claim.device.id.rawValue == "sent" {
        try transaction.queue.finish(claim.id, state: .sent, now: .at(0))
      }
      _ = try transaction.messages.delete(room, 1)
    }
    let jobs = try await test.read { try $0.queue.jobs(limit: 9) }
    let states = Dictionary(uniqueKeysWithValues: jobs.filter { $0.seq == 1 }.map { ($0.device.rawValue, $0.state) })
    #expect(states == ["held": .cancelled, "waiting": .cancelled, "sending": .sending, "sent": .sent])
    #expect(jobs.filter { $0.state == .cancelled }.map(\.note) == ["deleted", "deleted"])
    #expect(jobs.first?.state == .sending)

    // The push that was being sent has left.
    let sending = try #require(jobs.first { $0.device.rawValue == "sending" })
    #expect(try await test.write { try $0.queue.finish(sending.id, state: .sent, now: .at(1)) })
  }

  @Test func `a deletion that is undone cancels nothing`() async throws {
    struct Undone: Error {}
    try await test.write { _ = try $0.messages.append(draft("kept", jobs: [job()])) }
    await #expect(throws: StoreError.self) {
      try await test.write {
        _ = try $0.messages.delete(room, 1)
        throw Undone()
      }
    }
    #expect(try await message()?.isDeleted == false)
    #expect(try await test.read { try $0.queue.jobCounts() } == [.ready: 1])
  }

  @Test func `damaged mentions are an error`() async throws {
    try await test.write { transaction in
      _ = try transaction.messages.append(Self.full)
      try transaction.db.execute(sql: "UPDATE messages SET mentions = '[1]'")
    }
    await #expect(throws: StoreError.invalidRow(reason: "the stored JSON of a message's mentions cannot be read")) {
      try await test.read { try $0.messages.message(room, 1) }
    }
  }
}
