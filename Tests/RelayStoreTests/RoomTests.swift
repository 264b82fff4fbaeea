// SPDX-License-Identifier: Apache-2.0
import RelayProtocol
import Testing

@testable import RelayStore

/// Rooms, memberships, and marks.
@Suite struct RoomTests {
  let test: TestStore
  init() throws { test = try TestStore() }

  @Test func `joining creates the room and a member who has read everything`() async throws {
    let first = try await test.write { try $0.rooms.join(alice, room: room, epoch: "one", now: .at(5)) }
    let empty = RoomState(room: room, epoch: "one", seq: 0, cursor: 0)
    #expect(first == JoinedRoom(record: empty, isNewMember: true, read: 0, received: 0))

    try await test.write { for _ in 1...3 { _ = try $0.messages.append(draft()) } }
    let second = try await test.write { try $0.rooms.join(bob, room: room, epoch: "two", now: .at(6)) }
    let filled = RoomState(room: room, epoch: "one", seq: 3, cursor: 0)
    #expect(second == JoinedRoom(record: filled, isNewMember: true, read: 3, received: 3))

    let snapshot = try #require(try await test.read { try $0.rooms.snapshot(room) })
    #expect(snapshot.state == filled)
    #expect(
      snapshot.members.sorted { $0.user.id < $1.user.id } == [
        MemberRecord(record: UserRecord(user: alice, lastSeen: .at(5)), read: 3, received: 0),
        MemberRecord(record: UserRecord(user: bob, lastSeen: .at(6)), read: 3, received: 3),
      ])
  }

  @Test func `a repeated join changes no mark`() async throws {
    try await test.write { try $0.prepareRoom() }
    try await test.write { _ = try $0.messages.append(draft()) }
    let again = try await test.write { try $0.rooms.join(bob, room: room, epoch: "other", now: .at(0)) }
    #expect(!again.isNewMember)
    #expect(again.read == 0)
    #expect(again.record.epoch == "epoch")
  }

  @Test func `a join stores a new name or avatar, and keeps an absent one`() async throws {
    let id = alice.id
    func join(_ name: String?, _ avatar: String?) async throws -> User? {
      let told = User(id: id, name: name, avatar: avatar)
      try await test.write { _ = try $0.rooms.join(told, room: room, epoch: "e", now: .at(0)) }
      return try await test.read { try $0.people.user(id)?.user }
    }
    #expect(try await join("Al", nil) == User(id: id, name: "Al"))
    #expect(try await join(nil, "https://a") == User(id: id, name: "Al", avatar: "https://a"))
    #expect(try await join("Alice", nil) == User(id: id, name: "Alice", avatar: "https://a"))
  }

  @Test func `a leave ends the membership and cancels the waiting jobs`() async throws {
    try await test.write { try $0.prepareRoom() }
    let other = RoomID(unchecked: "other")
    try await test.write { try $0.prepareRoom(other) }
    try await test.write { _ = try $0.messages.append(draft(jobs: [job()])) }
    try await test.write { _ = try $0.messages.append(draft(in: other, jobs: [job()])) }
    let left = try await test.write {
      [try $0.rooms.leave(bob.id, room: room), try $0.rooms.leave(bob.id, room: room)]
    }
    #expect(left == [true, false])
    #expect(try await test.read { try $0.rooms.isMember(bob.id, of: room) } == false)
    #expect(try await test.read { try $0.rooms.isMember(bob.id, of: other) })
    let jobs = try await test.read { try $0.queue.jobs(limit: 9) }
    #expect(jobs.map(\.state) == [.ready, .cancelled])
    #expect(jobs[1].note == "not a member")
    #expect(jobs[1].finishedAt == .at(0))
  }

  @Test func `a room without messages is deleted with its last member, and created again`() async throws {
    try await test.write { try $0.prepareRoom() }
    try await test.write { _ = try $0.rooms.leave(alice.id, room: room) }
    #expect(try await test.read { try $0.rooms.snapshot(room) } != nil)
    try await test.write { _ = try $0.rooms.leave(bob.id, room: room) }
    #expect(try await test.read { try $0.rooms.snapshot(room) } == nil)
    let again = try await test.write { try $0.rooms.join(bob, room: room, epoch: "next", now: .at(5)) }
    #expect(again.record == RoomState(room: room, epoch: "next", seq: 0, cursor: 0))
    #expect(again.isNewMember)
    #expect(try await test.write { try $0.messages.append(draft(from: bob)) }.seq == 1)
  }

  @Test func `a room with a message keeps its epoch and seq without members`() async throws {
    try await test.write { try $0.prepareRoom() }
    try await test.write { _ = try $0.messages.append(draft(jobs: [job()])) }
    _ = try await test.write { try $0.messages.trim(room, to: Retention(count: 0), maxDeleted: 9) }
    try await test.write { for user in [alice, bob] { try $0.rooms.leave(user.id, room: room) } }
    #expect(try await test.read { try $0.rooms.snapshot(room) }?.state.seq == 1)
    #expect(try await test.write { try $0.rooms.forgetIfUnused(room) } == false)
  }

  @Test func `a leave that is undone keeps the room`() async throws {
    struct Undone: Error {}
    try await test.write { _ = try $0.rooms.join(alice, room: room, epoch: "one", now: .at(5)) }
    await #expect(throws: StoreError.self) {
      try await test.write {
        try $0.rooms.leave(alice.id, room: room)
        throw Undone()
      }
    }
    #expect(try await test.write { try $0.messages.append(draft()) }.epoch == "one")
  }

  @Test func `an unknown user cannot leave`() async throws {
    #expect(try await test.write { try $0.rooms.leave(alice.id, room: room) } == false)
  }

  @Test func `a room is created once`() async throws {
    let first = try await test.write { try $0.rooms.create(room, epoch: "one") }
    #expect(try await test.write { try $0.rooms.create(room, epoch: "two") } == first)
    #expect(try await test.read { try $0.rooms.snapshot(room) } == RoomSnapshot(state: first, members: []))
    #expect(try await test.read { try $0.rooms.snapshot(RoomID(unchecked: "none")) } == nil)
  }

  @Test func `marks only rise, and not above the newest message`() async throws {
    try await test.write { try $0.prepareRoom() }
    try await test.write { for _ in 1...5 { _ = try $0.messages.append(draft()) } }
    func marks(_ read: Int64?, _ received: Int64?) async throws -> [Int64] {
      try await test.write { try $0.rooms.mark(room, bob.id, read: read, received: received) }
      let member = try await test.read { try $0.rooms.snapshot(room)?.members.first { $0.user.id == bob.id } }
      return [member?.read ?? -1, member?.received ?? -1]
    }
    #expect(try await marks(nil, 4) == [0, 4])
    #expect(try await marks(2, 3) == [2, 4])
    #expect(try await marks(1, nil) == [2, 4])
    #expect(try await marks(9, 9) == [5, 5])
  }

  @Test func `the time of the last activity only rises`() async throws {
    test.clocks.pass(.seconds(1))
    try await test.write { try $0.people.touch(bob.id, lastSeen: .at(10)) }
    try await test.write { try $0.people.touch(bob.id, lastSeen: .at(9)) }
    #expect(try await test.read { try $0.people.user(bob.id)?.lastSeen } == .at(10))
  }

  @Test func `the cursor only rises, and not above the newest message`() async throws {
    try await test.write { try $0.prepareRoom() }
    try await test.write { for _ in 1...3 { _ = try $0.messages.append(draft()) } }
    #expect(try await test.read { try $0.rooms.undecided() } == [room])
    func advance(to seq: Int64) async throws -> Int64? {
      try await test.write { try $0.rooms.advanceCursor(room, to: seq) }
      return try await test.read { try $0.rooms.snapshot(room)?.state.cursor }
    }
    #expect(try await advance(to: 2) == 2)
    #expect(try await advance(to: 1) == 2)
    #expect(try await advance(to: 7) == 3)
    #expect(try await test.read { try $0.rooms.undecided() } == [])
  }

  @Test func `two users share a room if both are members of it`() async throws {
    let carol = User(id: UserID(unchecked: "carol"))
    try await test.write { try $0.prepareRoom() }
    try await test.write { _ = try $0.rooms.join(carol, room: RoomID(unchecked: "other"), epoch: "e", now: .at(0)) }
    let others = [bob.id, carol.id, UserID(unchecked: "nobody")]
    #expect(try await test.read { try $0.rooms.relatedUsers(of: alice.id, among: others) } == [bob.id])
    #expect(try await test.read { try $0.rooms.names(of: alice.id) } == [room])
    #expect(try await test.read { try $0.rooms.members(of: [room], among: others) } == [bob.id])
    #expect(try await test.read { try $0.rooms.members(of: [], among: others) } == [])
  }

  @Test func `a snapshot has each member's focus and devices`() async throws {
    let focus = FocusRecord(
      device: .default, isFocused: true, authorization: .authorized, at: .at(1), number: 4, source: .intent,
      received: .at(2))
    try await test.write { transaction in
      try transaction.prepareRoom()
      try transaction.people.save(focus, of: alice.id)
      try transaction.devices.register(phone("tablet", token: "other"), of: bob.id, now: .at(0))
    }
    let members = try #require(try await test.read { try $0.rooms.snapshot(room)?.members }).sorted {
      $0.user.id < $1.user.id
    }
    #expect(members.map(\.record.focus) == [[focus], []])
    #expect(
      members.map(\.record.devices) == [[], [phone().registered(), phone("tablet", token: "other").registered()]])
  }

  @Test func `a snapshot of 10,000 members is complete`() async throws {
    let focus = FocusRecord(
      device: .default, isFocused: false, authorization: .authorized, at: .at(0), number: nil, source: nil,
      received: .at(0))
    try await test.write { transaction in
      for number in 1...10_000 {
        let user = User(id: UserID(unchecked: "user\(number)"))
        _ = try transaction.rooms.join(user, room: room, epoch: "e", now: .at(0))
        try transaction.people.save(focus, of: user.id)
        try transaction.devices.register(phone(token: "token\(number)"), of: user.id, now: .at(0))
      }
    }
    let members = try #require(try await test.read { try $0.rooms.snapshot(room)?.members })
    #expect(Set(members.map(\.user.id)).count == 10_000)
    #expect(members.allSatisfy { $0.record.focus == [focus] && $0.record.devices.count == 1 })
  }

  @Test func `users are returned in the requested order, without unknown ones`() async throws {
    try await test.write { try $0.prepareRoom() }
    let asked = [bob.id, UserID(unchecked: "nobody"), alice.id]
    let users = try await test.read { try $0.people.users(asked) }
    #expect(users.map(\.user) == [bob, alice])
    #expect(users.map(\.devices.count) == [1, 0])
    #expect(try await test.read { try $0.people.user(UserID(unchecked: "nobody")) } == nil)
  }
}

extension RoomTests {
  private func join(_ user: String, _ name: String, _ bounds: MembershipBounds) async throws(StoreError) {
    let user = User(id: UserID(unchecked: user))
    let room = RoomID(unchecked: name)
    _ = try await test.store.write { try $0.rooms.join(user, room: room, epoch: "e", now: .at(0), within: bounds) }
  }

  @Test func `a member beyond the limit of a room is refused and stores nothing`() async throws {
    let bounds = MembershipBounds(membersPerRoom: 2)
    for user in ["a", "b"] { try await join(user, "one", bounds) }
    await #expect(throws: StoreError.tooMany(.membersPerRoom)) { try await join("c", "one", bounds) }
    #expect(try await test.read { try $0.people.user(UserID(unchecked: "c")) } == nil)
    try await join("b", "one", bounds)
    try await test.write { _ = try $0.rooms.leave(UserID(unchecked: "a"), room: RoomID(unchecked: "one")) }
    try await join("c", "one", bounds)
    await #expect(throws: StoreError.tooMany(.membersPerRoom)) { try await join("a", "one", bounds) }
  }

  @Test func `a room beyond the limit of a user is refused and not created`() async throws {
    let bounds = MembershipBounds(roomsPerUser: 2)
    for room in ["one", "two"] { try await join("a", room, bounds) }
    await #expect(throws: StoreError.tooMany(.roomsPerUser)) { try await join("a", "three", bounds) }
    #expect(try await test.read { try $0.rooms.snapshot(RoomID(unchecked: "three")) } == nil)
    try await join("b", "three", bounds)
  }
}
