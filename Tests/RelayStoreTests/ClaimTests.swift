// SPDX-License-Identifier: Apache-2.0
import GRDB
import RelayDelivery
import RelayProtocol
import Testing

@testable import RelayStore

/// Claims of push jobs: their order, their contents, and their leases.
@Suite struct ClaimTests {
  let test: TestStore
  init() throws { test = try TestStore() }
  static let lease = Timestamp.at(60_000)

  private func prepare(_ work: @escaping @Sendable (Transaction) throws -> Void = { _ in }) async throws {
    try await test.write { transaction in
      try transaction.prepareRoom()
      try work(transaction)
    }
  }

  private func finish(_ claims: [Claim], _ state: FinishedState = .sent) async throws {
    try await test.write { transaction in
      for claim in claims { try transaction.queue.finish(claim.id, state: state, now: .at(0)) }
    }
  }

  @Test func `a claim has all data of the payload`() async throws {
    try await prepare { transaction in
      _ = try transaction.messages.append(draft("first"))
      _ = try transaction.messages.append(draft("second", at: .at(3), jobs: [job()]))
      // The device registers again after the job was made.
      try transaction.devices.register(phone(token: "refreshed"), of: bob.id, now: .at(4))
    }
    let claims = try await test.claim(now: .at(5))
    let device = phone(token: "refreshed").registered(at: .at(4))
    let id = claims.first?.id ?? ""
    #expect(
      claims == [
        Claim(
          id: id, attempts: 1, created: .at(3), recipient: bob.id, device: device,
          content: .alert(
            ShownMessages(
              notification: id, room: PayloadRoom(id: room), epoch: "epoch",
              message: StoredMessage(seq: 2, from: alice.id, time: .at(3), body: Array("\"second\"".utf8)),
              sender: alice, ends: .never, unread: 2, collapse: MessageReference(room: room, seq: 2),
              collapseScope: .message)))
      ])
    let stored = try #require(try await test.read { try $0.queue.jobs(limit: 9).first })
    #expect(stored.state == .sending)
    #expect(stored.lease == .at(60_005))
    #expect(stored.token == "refreshed")
  }

  @Test(arguments: [
    ("ConnectFailed", true, false), ("Timeout", true, false), ("ServiceUnavailable", false, false),
    ("ConnectFailed, outcome unknown", false, true), ("ConnectFailed", false, true), (nil, false, false),
  ])
  func `a push is sent now if its last attempt did not reach the service`(
    note: String?, isDue: Bool, isUnknown: Bool
  ) async throws {
    try await prepare { transaction in _ = try transaction.messages.append(draft("text", at: .at(0), jobs: [job()])) }
    let claim = try #require(try await test.claim().first)
    try await test.write { transaction in
      try transaction.queue.retry(claim.id, due: .at(90_000), note: note, isUnknown: isUnknown)
    }
    #expect(try await test.claim(now: .at(1)).isEmpty)
    let lane = Lane(of: phone())
    let hasMore = try await test.write { try $0.queue.retryNow(lane, after: ["ConnectFailed", "Timeout"]) }
    #expect(!hasMore)
    #expect(try await test.claim(now: .at(1)).map(\.id) == (isDue ? [claim.id] : []))
    // A push that is being sent stays as it is.
    _ = try await test.write { try $0.queue.retryNow(lane, after: ["ConnectFailed", "Timeout"]) }
    #expect(try await test.read { try $0.queue.jobs(limit: 9).first?.state } == (isDue ? .sending : .retrying))
  }

  @Test func `a claim has a next one only if another push waits for the same device`() async throws {
    let tablet = phone("tablet", token: "tablet")
    try await prepare { transaction in
      try transaction.devices.register(tablet, of: bob.id, now: .at(0))
      for device in [phone(), phone(), tablet] {
        _ = try transaction.messages.append(draft("text", at: .at(0), jobs: [job(to: bob, device)]))
      }
    }
    let claims = try await test.claim()
    #expect(claims.map(\.device.id.rawValue).sorted() == ["phone", "tablet"])
    for claim in claims {
      let hasNext = try await test.write { transaction in
        try transaction.queue.finish(claim.id, state: .sent, now: .at(0))
        return try transaction.queue.hasNext(after: claim)
      }
      #expect(hasNext == (claim.device.id.rawValue == "phone"))
    }
  }

  @Test func `the badge counts unread messages of all rooms, except the user's own`() async throws {
    let other = RoomID(unchecked: "other")
    try await prepare { transaction in
      try transaction.prepareRoom(other)
      for _ in 1...3 { _ = try transaction.messages.append(draft(in: other)) }
      try transaction.rooms.mark(other, bob.id, read: 1)
      _ = try transaction.messages.append(draft())
      _ = try transaction.messages.append(draft(from: bob))
      _ = try transaction.messages.append(draft(jobs: [job()]))
      // Bob is not a member of this room.
      _ = try transaction.rooms.create(RoomID(unchecked: "third"), epoch: "e")
      _ = try transaction.messages.append(draft(in: RoomID(unchecked: "third")))
    }
    #expect(try await test.claim().map(\.shown?.unread) == [3])
  }

  @Test func `a device gets one job at a time, in the order of the messages`() async throws {
    try await prepare { transaction in for _ in 1...4 { _ = try transaction.messages.append(draft(jobs: [job()])) } }
    var seqs: [Int64] = []
    while case let claims = try await test.claim(), !claims.isEmpty {
      #expect(claims.count == 1)
      #expect(try await test.claim() == [])
      seqs += claims.compactMap(\.shown?.message.seq)
      try await finish(claims)
    }
    #expect(seqs == [1, 2, 3, 4])
  }

  @Test func `a device gets one job at a time, even from several rooms`() async throws {
    let rooms = ["a", "b", "c"].map { RoomID(unchecked: $0) }
    try await prepare { transaction in
      for (index, room) in rooms.enumerated() {
        try transaction.prepareRoom(room)
        _ = try transaction.messages.append(draft(in: room, jobs: [job(due: .at(Int64(-index)))]))
      }
    }
    var order: [RoomID] = []
    for _ in rooms {
      let claims = try await test.claim()
      order += claims.compactMap(\.shown?.room.id)
      #expect(try await test.claim() == [])
      #expect(try await test.read { try $0.queue.nextDue() } == .at(60_000))
      try await finish(claims)
    }
    // The job with the earliest due time is the first.
    #expect(order == rooms.reversed())
  }

  @Test func `an expired lease is renewed while the caller still works on the push`() async throws {
    try await prepare { _ = try $0.messages.append(draft(jobs: [job()])) }
    let claims = try await test.claim()
    let ids = Set(claims.map(\.id))
    #expect(ids.count == 1)
    try await test.write { try $0.queue.renewLeases(of: ids, now: .at(61_000), until: .at(121_000)) }
    #expect(try await test.claim(now: .at(61_000)) == [])
    #expect(try await test.read { try $0.queue.nextDue() } == .at(121_000))
    // Other expired claims are taken again.
    try await test.write { try $0.queue.renewLeases(of: ["other"], now: .at(121_000), until: .at(181_000)) }
    #expect(try await test.claim(now: .at(121_000)).map(\.id) == claims.map(\.id))
  }

  @Test(arguments: [Int64(-3_600_000), 3_600_000])
  func `waiting jobs keep their delay when the wall clock is set`(step: Int64) async throws {
    let now = Timestamp.at(10_000)
    try await prepare { transaction in
      _ = try transaction.messages.append(draft(jobs: [job(due: .at(4_000))]))
      try transaction.devices.register(phone("later", token: "later"), of: bob.id, now: .at(0))
      _ = try transaction.messages.append(draft(jobs: [job(phone("later", token: "later"), due: .at(12_000))]))
    }
    let set = now + .milliseconds(step)
    try await test.write { try $0.queue.moveDue(by: .milliseconds(step), setTo: set) }
    let dues = try await test.read { try $0.queue.jobs(limit: 9).map(\.due) }
    #expect(Set(dues) == [min(.at(4_000), set), set + .seconds(2)])
    let claims = try await test.claim(now: set)
    #expect(claims.count == 1)
    try await test.write { try $0.queue.moveDue(by: .milliseconds(-step), setTo: now) }
    #expect(try await test.read { try $0.queue.nextDue() } == .at(12_000))
    let leases = try await test.read { try $0.queue.jobs(limit: 9).compactMap(\.lease) }
    #expect(leases == [now + .seconds(60)])
  }

  @Test(arguments: [Int64(-3_600_000), 3_600_000])
  func `due times are moved in slices, and not in jobs that are stored meanwhile`(step: Int64) async throws {
    let set = Timestamp.at(10_000 + step)
    let move: @Sendable (Transaction, DueTimes?) throws -> DueTimes? = {
      try $0.queue.moveDue(by: .milliseconds(step), setTo: set, $1, limit: 2)
    }
    let add: @Sendable (Transaction, Int, Timestamp) throws -> Void = { transaction, number, due in
      let device = phone("p\(number)", token: "t\(number)")
      try transaction.devices.register(device, of: bob.id, now: .at(0))
      _ = try transaction.messages.append(draft(jobs: [job(device, due: due)]))
    }
    try await prepare { for number in 0..<5 { try add($0, number, .at(12_000)) } }
    var slice = try await test.write { try move($0, nil) }
    try await test.write { try add($0, 5, set + .seconds(9)) }
    var works = 1
    while let next = slice {
      slice = try await test.write { try move($0, next) }
      works += 1
    }
    #expect(works == 3)
    let dues = try await test.read { try $0.queue.jobs(limit: 9).reversed().map(\.due) }
    #expect(dues == Array(repeating: set + .seconds(2), count: 5) + [set + .seconds(9)])
  }

  @Test(arguments: [Int64(-3_600_000), 3_600_000])
  func `a later slice does not change a time of the new clock`(step: Int64) async throws {
    let set = Timestamp.at(10_000 + step)
    try await prepare { transaction in
      for number in 0..<3 {
        let device = phone("p\(number)", token: "t\(number)")
        try transaction.devices.register(device, of: bob.id, now: .at(0))
        _ = try transaction.messages.append(draft(jobs: [job(device, due: .at(9_000 + Int64(number)))]))
      }
    }
    // One push is sent before the step, and two wait.
    let old = try await test.write { try $0.queue.claim(limit: 1, now: .at(10_000), leaseUntil: .at(70_000)) }
    #expect(old.count == 1)
    try await test.write { transaction in
      for id in try transaction.reader.queue.jobs(limit: 9).filter({ $0.lease == nil }).map(\.id) {
        try transaction.db.run("UPDATE jobs SET due = ? WHERE id = ?", [Timestamp.at(30_000).rawValue, id])
      }
    }
    var rest = try await test.write { try $0.queue.moveDue(by: .milliseconds(step), setTo: set, limit: 1) }
    // The relay writes by the new clock between two slices.
    let (lease, due) = (set + .seconds(45), set + .seconds(90))
    let changed = try await test.write { transaction in
      try transaction.db.run("UPDATE jobs SET lease = ? WHERE lease IS NOT NULL", [lease.rawValue])
      let jobs = try transaction.reader.queue.jobs(limit: 9).filter { $0.lease == nil }
      let last = try #require(jobs.first { $0.due == .at(30_000) })
      try transaction.db.run("UPDATE jobs SET due = ? WHERE id = ?", [due.rawValue, last.id])
      return last.id
    }
    while let next = rest {
      rest = try await test.write { try $0.queue.moveDue(by: .milliseconds(step), setTo: set, next, limit: 1) }
    }
    let jobs = try await test.read { try $0.queue.jobs(limit: 9) }
    #expect(jobs.compactMap(\.lease) == [lease])
    #expect(jobs.first { $0.id == changed }?.due == due)
    #expect(jobs.first { $0.lease == nil && $0.id != changed }?.due == .at(30_000 + step))
  }

  @Test func `without a journal one work moves all times`() async throws {
    try await prepare { transaction in
      for number in 0..<300 {
        let device = phone("p\(number)", token: "t\(number)")
        try transaction.devices.register(device, of: bob.id, now: .at(0))
        _ = try transaction.messages.append(draft(jobs: [job(device, due: .at(12_000))]))
      }
    }
    let rest = try await test.write { try $0.queue.moveDue(by: .seconds(-5), setTo: .at(5_000)) }
    #expect(rest == nil)
    #expect(try await test.read { Set(try $0.queue.jobs(limit: 400).map(\.due)) } == [.at(7_000)])
  }

  /// Jobs with the new time may be stored before the relay notices the step, for example because the store had failed.
  @Test(arguments: [Int64(-3_600_000), -3_000, 3_000, 3_600_000])
  func `a push with the new time is not delayed when the wall clock is set`(step: Int64) async throws {
    let set = Timestamp.at(10_000 + step)
    try await prepare { transaction in
      for (index, due) in [set, set + .seconds(20)].enumerated() {
        let device = phone("new\(index)", token: "new\(index)")
        try transaction.devices.register(device, of: bob.id, now: .at(0))
        _ = try transaction.messages.append(draft(at: set, jobs: [job(device, due: due)]))
      }
    }
    try await test.write { try $0.queue.moveDue(by: .milliseconds(step), setTo: set) }
    let dues = try await test.read { try $0.queue.jobs(limit: 9).reversed().map(\.due) }
    #expect(dues[0] == set)
    #expect((set...set + .seconds(20)).contains(dues[1]))
  }

  @Test(arguments: [Int64(-3_600_000), 3_600_000])
  func `waiting updates keep their delay when the wall clock is set`(step: Int64) async throws {
    try await prepare { _ = try $0.messages.append(draft(jobs: [job()])) }
    try await finish(try await test.claim())
    try await test.write { transaction in
      _ = try transaction.messages.edit(room, 1, body: [])
      let claim = try #require(try transaction.updates.claim(limit: 1, now: .at(0), leaseUntil: .at(60_000)).first)
      try transaction.updates.retry(claim.id, due: .at(12_000))
    }
    let set = Timestamp.at(10_000 + step)
    try await test.write { try $0.queue.moveDue(by: .milliseconds(step), setTo: set) }
    #expect(try await test.read { try $0.queue.nextDue() } == set + .seconds(2))
  }

  @Test func `devices do not wait for each other, and a claim has a limit`() async throws {
    try await prepare { transaction in
      let phones = (1...5).map { phone("phone\($0)", token: "token\($0)") }
      for device in phones { try transaction.devices.register(device, of: bob.id, now: .at(0)) }
      for _ in 1...2 { _ = try transaction.messages.append(draft(jobs: phones.map { job($0) })) }
    }
    let first = try await test.claim(3)
    let second = try await test.claim(3)
    #expect(first.count == 3)
    #expect(second.count == 2)
    #expect(Set((first + second).map(\.device.id)).count == 5)
    #expect((first + second).allSatisfy { $0.shown?.message.seq == 1 })
  }

  @Test func `a job is claimed when it is due, to the millisecond`() async throws {
    try await prepare { _ = try $0.messages.append(draft(jobs: [job(due: .at(10))])) }
    #expect(try await test.read { try $0.queue.nextDue() } == .at(10))
    #expect(try await test.claim(now: .at(9)) == [])
    #expect(try await test.claim(now: .at(10)).count == 1)
  }

  @Test func `a retried job delays later jobs of its room, but not of others`() async throws {
    let other = RoomID(unchecked: "other")
    try await prepare { transaction in
      try transaction.prepareRoom(other)
      for _ in 1...2 { _ = try transaction.messages.append(draft(jobs: [job()])) }
    }
    let first = try await test.claim()
    #expect(try await test.write { try $0.queue.retry(first[0].id, due: .at(500), note: "503", isUnknown: true) })
    #expect(try await test.claim() == [])
    #expect(try await test.read { try $0.queue.nextDue() } == .at(500))

    try await test.write { _ = try $0.messages.append(draft(in: other, jobs: [job()])) }
    #expect(try await test.read { try $0.queue.nextDue() } == .at(0))
    let passing = try await test.claim()
    #expect(passing.map(\.shown?.room.id) == [other])
    try await finish(passing)

    let again = try await test.claim(now: .at(500))
    #expect(again.map(\.id) == [first[0].id])
    #expect(again.map(\.attempts) == [2])
    #expect(try await test.read { try $0.queue.jobs(limit: 9).last?.note } == "503")
  }

  @Test func `a job for an earlier message is sent first, even if it was made later`() async throws {
    try await prepare { transaction in
      _ = try transaction.messages.append(draft())
      _ = try transaction.messages.append(draft(jobs: [job()]))
      try transaction.queue.insert([job()], room: room, seq: 1)
    }
    let first = try await test.claim()
    #expect(first.map(\.shown?.message.seq) == [1])
    try await finish(first)
    #expect(try await test.claim().map(\.shown?.message.seq) == [2])
  }

  @Test func `the next job is sent when an earlier message is read`() async throws {
    try await prepare { transaction in for _ in 1...3 { _ = try transaction.messages.append(draft(jobs: [job()])) } }
    let claims = try await test.claim()
    try await test.write { try $0.queue.retry(claims[0].id, due: .at(900)) }
    #expect(try await test.claim() == [])
    try await test.write { try $0.queue.cancel(room, bob.id, upTo: 1, reason: "read") }
    #expect(try await test.claim().map(\.shown?.message.seq) == [2])
  }

  @Test func `a claim with an expired lease is taken again with the same id`() async throws {
    try await prepare { _ = try $0.messages.append(draft(jobs: [job()])) }
    let first = try await test.claim()
    #expect(try await test.read { try $0.queue.nextDue() } == .at(60_000))
    #expect(try await test.claim(now: .at(59_999)) == [])
    let second = try await test.claim(now: .at(60_000))
    #expect(second.map(\.id) == first.map(\.id))
    #expect(second.map(\.attempts) == [2])
  }

  @Test func `a start releases every claim`() async throws {
    try await prepare { _ = try $0.messages.append(draft(jobs: [job()])) }
    let first = try await test.claim()
    try await test.write { try $0.queue.releaseLeases() }
    #expect(try await test.read { try $0.queue.jobCounts() } == [.ready: 1])
    #expect(try await test.claim().map(\.id) == first.map(\.id))
  }

  @Test func `a job without a message is cancelled, and does not block others`() async throws {
    try await prepare { transaction in
      try transaction.queue.insert([job()], room: room, seq: 7)
      try transaction.devices.register(phone("tablet", token: "other"), of: bob.id, now: .at(0))
      _ = try transaction.messages.append(draft(jobs: [job(phone("tablet", token: "other"))]))
    }
    #expect(try await test.claim().map(\.device.id.rawValue) == ["tablet"])
    let cancelled = try await test.read { try $0.queue.jobs(limit: 9).first { $0.state == .cancelled } }
    #expect(cancelled?.note == "no message")
  }

  /// The changes of a room, and the look of a push after each of them.
  @Test func `a room with a title or a third member is a group for good`() async throws {
    let carol = User(id: UserID(unchecked: "carol"))
    func look() async throws -> [String] {
      try await test.write { transaction in
        _ = try transaction.messages.append(draft(jobs: [job()]))
        return try transaction.queue.claim(limit: 9, now: .at(0), leaseUntil: .at(9)).compactMap { claim in
          try transaction.queue.finish(claim.id, state: .sent, now: .at(0))
          return claim.shown.map { "\($0.room.isGroup) \($0.room.recipientCount)" }
        }
      }
    }
    try await prepare { _ in }
    #expect(try await look() == ["false 1"])
    try await test.write { _ = try $0.rooms.join(carol, room: room, epoch: "epoch", now: .at(0)) }
    #expect(try await look() == ["true 2"])
    try await test.write { _ = try $0.rooms.leave(carol.id, room: room) }
    #expect(try await look() == ["true 1"])
    // A sender who is no member is none of the recipients.
    try await test.write { _ = try $0.rooms.leave(alice.id, room: room) }
    #expect(try await look() == ["true 1"])
  }

  @Test func `a claim has the decision and the message`() async throws {
    try await prepare { transaction in
      _ = try transaction.messages.append(draft("question", from: bob))
      var message = draft("answer")
      message.mentions = [bob.id]
      message.replyTo = 1
      message.push = PushRequest(#"{"title":"a"}"#)
      message.reports = true
      message.jobs = [job()]
      message.jobs[0].level = .passive
      _ = try transaction.messages.append(message)
    }
    let claim = try #require(try await test.claim().first)
    #expect(
      claim.shown?.message
        == StoredMessage(
          seq: 2, from: alice.id, time: .at(0), body: Array("\"answer\"".utf8),
          mentions: Mentions([bob.id], answered: bob.id), replyTo: 1))
    #expect(claim.shown?.push == PushRequest(#"{"title":"a"}"#))
    #expect(claim.shown?.isReply == true)
    #expect(claim.shown?.reports == true)
    #expect(claim.shown?.level == .passive)
    #expect(claim.shown?.collapse == MessageReference(room: room, seq: 2))
    #expect(claim.shown?.count == 1)
    #expect(claim.shown?.others == [])
  }

  @Test func `a reply to another user does not count as a reply to the recipient`() async throws {
    try await prepare { transaction in
      _ = try transaction.messages.append(draft("question"))
      var message = draft("answer", jobs: [job()])
      message.replyTo = 1
      _ = try transaction.messages.append(message)
    }
    #expect(try await test.claim().map(\.shown?.isReply) == [false])
  }

  @Test func `a job is not claimed after its message was read or deleted`() async throws {
    try await prepare { transaction in
      for _ in 1...3 { _ = try transaction.messages.append(draft()) }
      // The job was decided before the read and stored after it.
      try transaction.rooms.mark(room, bob.id, read: 1)
      _ = try transaction.messages.delete(room, 2)
      for seq in 1...3 as ClosedRange<Int64> { try transaction.queue.insert([job()], room: room, seq: seq) }
    }
    for _ in 1...2 { #expect(try await test.claim() == []) }
    #expect(try await test.claim().map(\.shown?.message.seq) == [3])
    #expect(try await test.read { try $0.queue.jobs(limit: 9).map(\.note) } == [nil, "deleted", "read"])
  }

  @Test(arguments: [("read", true), ("deleted", false)])
  func `a push is not retried after its message was read or deleted`(note: String, isRead: Bool) async throws {
    try await prepare { transaction in for _ in 1...2 { _ = try transaction.messages.append(draft(jobs: [job()])) } }
    let first = try await test.claim()
    try await test.write { transaction in
      if isRead {
        try transaction.rooms.mark(room, bob.id, read: 1)
        #expect(try transaction.queue.cancel(room, bob.id, upTo: 1, reason: "read") == 0)
      } else {
        _ = try transaction.messages.delete(room, 1)
      }
      #expect(try transaction.queue.retry(first[0].id, due: .at(5)) == false)
    }
    let ended = try await test.read { try $0.queue.job(first[0].id) }
    #expect(ended?.state == .cancelled)
    #expect(ended?.note == note)
    #expect(try await test.claim().map(\.shown?.message.seq) == [2])
  }

  @Test func `the recipient's label of the room takes precedence over that of the account`() async throws {
    try await prepare { transaction in
      var device = phone()
      device.criteria = "account"
      try transaction.devices.register(device, of: bob.id, now: .at(0))
      for _ in 1...2 { _ = try transaction.messages.append(draft(jobs: [job()])) }
    }
    let first = try await test.claim()
    #expect(first.map(\.shown?.criteria) == ["account"])
    try await finish(first)
    try await test.write { transaction in
      var preferences = Preferences()
      preferences[room] = RoomPreference(criteria: "work")
      try transaction.people.save(preferences, of: bob.id)
    }
    #expect(try await test.claim().map(\.shown?.criteria) == ["work"])
  }

  @Test(arguments: [
    "UPDATE users SET preferences = '{' WHERE name = 'bob'",
    "UPDATE devices SET platform = 'pager' WHERE device = 'phone'",
  ])
  func `a damaged row does not block the pushes of other users`(damage: String) async throws {
    let carol = User(id: UserID(unchecked: "carol"))
    try await prepare { transaction in
      _ = try transaction.rooms.join(carol, room: room, epoch: "e", now: .at(0))
      try transaction.devices.register(phone("carols", token: "carol"), of: carol.id, now: .at(0))
      _ = try transaction.messages.append(draft(jobs: [job(), job(to: carol, phone("carols", token: "carol"))]))
      try transaction.db.execute(sql: damage)
    }
    #expect(try await test.claim().map(\.recipient) == [carol.id])
    let dead = try await test.read { try $0.queue.jobs(of: bob.id, limit: 9) }
    #expect(dead.map(\.state) == [.dead])
    #expect(dead.first?.note?.isEmpty == false)
  }

  @Test func `an empty queue has no due time`() async throws {
    #expect(try await test.read { try $0.queue.nextDue() } == nil)
    #expect(try await test.claim() == [])
  }
}
