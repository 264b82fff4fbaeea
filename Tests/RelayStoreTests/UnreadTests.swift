// SPDX-License-Identifier: Apache-2.0
import RelayProtocol
import Testing

@testable import RelayStore

/// Unread messages and badges.
@Suite struct UnreadTests {
  let test: TestStore
  init() async throws {
    test = try TestStore()
    try await test.write { transaction in
      try transaction.prepareRoom()
      try transaction.prepareRoom(Self.other)
    }
  }

  private static let other = RoomID(unchecked: "other")

  private func append(
    _ count: Int = 1, in room: RoomID = room, mentions: Mentions = [], isCounted: Bool = true,
    _ retention: Retention = .everything
  ) async throws {
    try await test.write { transaction in
      for _ in 0..<count {
        var message = draft(in: room, cursorFollows: true)
        message.mentions = mentions
        message.isCounted = isCounted
        message.retention = retention
        _ = try transaction.messages.append(message)
      }
    }
  }

  private func unread(now: Timestamp = .at(0)) async throws -> (rooms: [RoomID: Unread], total: Unread) {
    try await test.read { try $0.messages.unread(of: bob.id, now: now) }
  }

  /// Returns the badge that a push would show.
  private func badge(now: Timestamp = .at(0)) async throws -> Int? {
    try await test.write { transaction in
      let message = draft(in: Self.other, jobs: [job(due: .at(-9))])
      _ = try transaction.messages.append(message)
      let claims = try transaction.queue.claim(limit: 9, now: now, leaseUntil: .at(9))
      for claim in claims { try transaction.queue.finish(claim.id, state: .sent, now: .at(0)) }
      return claims.first?.shown.map { $0.unread - 1 }
    }
  }

  @Test func `each room is counted from its read mark`() async throws {
    #expect(try await unread().rooms == [:])
    try await append(5)
    try await append(2, in: Self.other)
    try await test.write { try $0.rooms.mark(room, bob.id, read: 2, received: 5) }
    #expect(try await unread().rooms == [room: Unread(messages: 3), Self.other: Unread(messages: 2)])
    #expect(try await unread().total == Unread(messages: 5))
    #expect(try await badge() == 5)
    // The user's own messages do not count.
    #expect(try await test.read { try $0.messages.unread(of: alice.id, now: .at(0)) }.rooms == [:])
  }

  /// Bob sends a message. Alice then sends messages that mention nobody by name.
  @Test func `reserved words and answers count as mentions`() async throws {
    try await test.write { _ = try $0.messages.append(draft(from: bob)) }
    try await append(1, mentions: Mentions(all: true))
    try await append(1, mentions: Mentions(online: true, present: [bob.id]))
    try await append(1, mentions: Mentions(online: true, present: [UserID(unchecked: "bobby")]))
    let answered = try await test.write { transaction in
      [Int64(1), 2].map { seq in
        var answer = draft()
        answer.replyTo = seq
        return Result { try transaction.messages.append(answer).answered }
      }
    }
    #expect(try answered.map { try $0.get() } == [bob.id, nil])
    #expect(try await unread().rooms == [room: Unread(messages: 5, mentions: 3)])
    #expect(try await test.read { try $0.messages.sender(of: 1, in: room) } == bob.id)
    #expect(try await test.read { try $0.messages.sender(of: 9, in: room) } == nil)
  }

  @Test func `mentions are counted separately`() async throws {
    try await append(2)
    try await append(3, mentions: [alice.id, bob.id])
    // Names that contain other names.
    try await append(1, mentions: [UserID(unchecked: "bobby"), UserID(unchecked: "b.ob"), alice.id])
    #expect(try await unread().rooms == [room: Unread(messages: 6, mentions: 3)])
    try await test.write { try $0.rooms.mark(room, bob.id, read: 3) }
    #expect(try await unread().total == Unread(messages: 3, mentions: 2))
  }

  @Test func `uncounted and deleted messages are not unread`() async throws {
    try await append(3, mentions: [bob.id])
    try await append(2, mentions: [bob.id], isCounted: false)
    try await test.write { _ = try $0.messages.delete(room, 2) }
    #expect(try await unread().rooms == [room: Unread(messages: 2, mentions: 2)])
    #expect(try await badge() == 2)
    // A read message is not subtracted twice.
    try await test.write { try $0.rooms.mark(room, bob.id, read: 2) }
    #expect(try await unread().rooms[room] == Unread(messages: 1, mentions: 1))
    try await test.write { try $0.rooms.mark(room, bob.id, read: 3) }
    #expect(try await unread().rooms[room] == nil)
  }

  @Test func `messages outside the history are not unread`() async throws {
    try await append(1, mentions: [bob.id])
    try await append(99, isCounted: false)
    try await append(100)
    _ = try await test.write { try $0.messages.trim(room, to: Retention(count: 10), maxDeleted: 1_000) }
    #expect(try await unread().rooms == [room: Unread(messages: 10)])
    #expect(try await badge() == 10)
    _ = try await test.write { try $0.messages.trim(room, to: Retention(count: 0), maxDeleted: 1_000) }
    #expect(try await unread().rooms[room] == nil)
    #expect(try await badge() == 1)
  }

  @Test func `a room without the right to join has no unread messages`() async throws {
    try await append(3)
    try await append(2, in: Self.other)
    try await test.write { try $0.people.withdraw(from: [room, RoomID(unchecked: "unknown")], bob.id) }
    #expect(try await test.read { try $0.people.user(bob.id)?.withdrawn } == [room])
    let members = try await test.read { try $0.rooms.snapshot(room)?.members }
    #expect(members?.first { $0.user.id == bob.id }?.record.withdrawn == [room])
    #expect(try await test.read { try $0.people.user(alice.id)?.withdrawn } == [])
    #expect(try await unread().rooms == [Self.other: Unread(messages: 2)])
    #expect(try await badge() == 2)
    try await test.write { try $0.people.withdraw(from: [Self.other], bob.id) }
    #expect(try await test.read { try $0.people.user(bob.id)?.withdrawn } == [Self.other])
    #expect(try await unread().rooms == [room: Unread(messages: 3)])
    try await test.write { try $0.people.withdraw(from: [], bob.id) }
    #expect(try await unread().total == Unread(messages: 6))
  }

  @Test func `a new membership is not withdrawn`() async throws {
    try await test.write { transaction in
      try transaction.people.withdraw(from: [room], bob.id)
      try transaction.rooms.leave(bob.id, room: room)
      _ = try transaction.rooms.join(bob, room: room, epoch: "e", now: .at(0))
    }
    #expect(try await test.read { try $0.people.user(bob.id)?.withdrawn } == [])
  }

  @Test func `a muted room is counted, but not in the total`() async throws {
    try await append(3, mentions: [bob.id])
    try await append(2, in: Self.other)
    for (level, until, total, mentions) in [
      (.none, nil, 2, 0), (.none, .at(1), 2, 0), (.none, .at(0), 5, 3), (.mentions, nil, 5, 3), (.all, nil, 5, 3),
    ] as [(RoomLevel, Timestamp?, Int, Int)] {
      try await test.write { transaction in
        var preferences = Preferences()
        preferences[room] = RoomPreference(level: level, until: until, criteria: "label")
        try transaction.people.save(preferences, of: bob.id)
      }
      let unread = try await unread()
      #expect(unread.rooms == [room: Unread(messages: 3, mentions: 3), Self.other: Unread(messages: 2)])
      #expect(unread.total == Unread(messages: total, mentions: mentions))
    }
  }

  @Test func `a badge leaves out muted rooms`() async throws {
    try await append(3)
    try await test.write { transaction in
      var preferences = Preferences()
      preferences[room] = RoomPreference(level: .none, until: .at(5))
      try transaction.people.save(preferences, of: bob.id)
    }
    #expect(try await badge(now: .at(4)) == 0)
    #expect(try await badge(now: .at(5)) == 3 + 1)
  }

  /// The badge counts two messages of `room`, which Bob has labelled, and one message of the other room.
  @Test(
    arguments: [
      (["work"], "work", nil, 3), (["home"], "work", nil, 1), ([], "work", nil, 1), (["home"], nil, nil, 3),
      (["work"], nil, "home", 0), (["work"], "work", "home", 2), (["home"], "work", "home", 1), ([], nil, "home", 0),
    ] as [([String], String?, String?, Int)])
  func `a badge leaves out the rooms that the filter of the device refuses`(
    allow: [String], label: String?, account: String?, expected: Int
  ) async throws {
    try await append(2)
    try await test.write { transaction in
      var preferences = Preferences()
      preferences[room] = RoomPreference(criteria: label)
      try transaction.people.save(preferences, of: bob.id)
      var device = phone()
      device.criteria = account
      try transaction.devices.register(device, of: bob.id, now: .at(0))
      try transaction.people.save(
        FilterRecord(device: device.id, isActive: true, allow: allow, at: .at(0), number: nil, received: .at(0)),
        of: bob.id)
    }
    // `badge` does not count the message that it adds to the other room.
    #expect(try await badge().map { $0 + 1 } == expected)
  }

  @Test func `an expired filter, or one of another device, does not change the badge`() async throws {
    try await append(2)
    try await test.write { transaction in
      var preferences = Preferences()
      preferences[room] = RoomPreference(criteria: "work")
      try transaction.people.save(preferences, of: bob.id)
      let other = DeviceID(unchecked: "other")
      for device in [phone().id, other] {
        try transaction.people.save(
          FilterRecord(device: device, isActive: true, allow: [], at: .at(0), number: nil, received: .at(0)), of: bob.id
        )
      }
    }
    #expect(try await badge(now: .at(1)) == 0)
    let end = Timestamp.at(0) + FilterRecord.lifetime
    #expect(try await badge(now: end) == 2 + 1)
    try await test.write { transaction in
      try transaction.people.save(
        FilterRecord(device: phone().id, isActive: false, allow: [], at: end, number: nil, received: end), of: bob.id)
    }
    #expect(try await badge(now: end) == 2 + 2)
  }

  @Test func `an unknown user has no unread messages`() async throws {
    let unread = try await test.read { try $0.messages.unread(of: UserID(unchecked: "nobody"), now: .at(0)) }
    #expect(unread.rooms == [:])
    #expect(unread.total == Unread())
  }
}
