// SPDX-License-Identifier: Apache-2.0
import GRDB
import RelayDelivery
import RelayProtocol
import Testing

@testable import RelayStore

/// Held jobs, and new decisions about open jobs.
@Suite struct HeldJobTests {
  let test: TestStore
  init() async throws {
    test = try TestStore()
    try await test.write { try $0.prepareRoom() }
  }

  private static let hour: Int64 = 3_600_000

  private static func held(due: Int64 = 5_000, to user: User = bob, _ device: Device = phone()) -> PlannedPush {
    var draft = job(to: user, device, due: .at(due))
    draft.isHeld = true
    return draft
  }

  /// Appends a message for each draft. Returns the ids of the jobs.
  private func append(_ drafts: [PlannedPush]) async throws -> [String] {
    try await test.write { transaction in
      for draft in drafts { _ = try transaction.messages.append(RelayStoreTests.draft(jobs: [draft])) }
    }
    return try await test.read { try $0.queue.jobs(limit: drafts.count).reversed().map(\.id) }
  }

  private func decide(_ id: String, _ action: JobDecision.Action, explanation: String? = nil) async throws -> Bool {
    try await test.write { try $0.queue.decide(id, action, explanation: explanation) }
  }

  @Test func `an expired digest head hands its digest over`() async throws {
    let ids = try await append([Self.held(), Self.held()])
    #expect(try await decide(ids[0], .merge(into: ids[1])))
    #expect(try await decide(ids[1], .expire))
    let expired = try await test.record(ids[1])
    #expect((expired.state, expired.note, expired.finishedAt) == (.expired, "expired", .at(0)))
    #expect(try await test.record(ids[0]).state == .held)
  }

  /// Appends a call whose push is held, and returns the id of its job.
  private func heldCall() async throws -> String {
    try await test.write { transaction in
      var message = RelayStoreTests.draft(jobs: [Self.held()])
      message.push = PushRequest(kind: .call)
      message.call = CallDraft(media: .audio)
      _ = try transaction.messages.append(message)
    }
    return try #require(try await test.read { try $0.queue.jobs(limit: 1).first?.id })
  }

  /// Sends the updates that are due at a time.
  private func updates(at time: Int64 = 1) async throws -> [EntryText] {
    try await test.write { transaction in
      let claims = try transaction.updates.claim(limit: 9, now: .at(time), leaseUntil: .at(time + 9_000))
      for claim in claims { try transaction.updates.finish(claim) }
      return claims.compactMap { claim in
        guard case .change(let text, _) = claim.content else { return nil }
        return text
      }
    }
  }

  @Test func `a held call that rings no more becomes one missed call`() async throws {
    let id = try await heldCall()
    #expect(try await updates(at: 90_000) == [])
    #expect(try await decide(id, .miss))
    let job = try await test.record(id)
    #expect((job.state, job.note) == (.expired, "missed"))
    #expect(try await updates(at: 90_000) == [.missed])
    #expect(try await !decide(id, .miss))
    #expect(try await updates(at: 99_000) == [])
  }

  @Test func `a held call that still rings is missed at its end`() async throws {
    let id = try await heldCall()
    #expect(try await decide(id, .miss))
    #expect(try await updates() == [])
    #expect(try await updates(at: 90_000) == [.missed])
  }

  @Test func `a held call stays when its caller cancels it`() async throws {
    let id = try await heldCall()
    let message = MessageReference(room: room, seq: 1)
    _ = try await test.write { try $0.calls.perform(.hangUp, message, by: alice.id, on: nil, at: .at(1)) }
    #expect(try await test.record(id).state == .held)
    #expect(try await updates() == [])
    #expect(try await decide(id, .miss))
    #expect(try await updates() == [.missed])
  }

  @Test func `a held call that was cancelled is missed when its hold ends while it would ring`() async throws {
    let id = try await heldCall()
    let message = MessageReference(room: room, seq: 1)
    _ = try await test.write { try $0.calls.perform(.hangUp, message, by: alice.id, on: nil, at: .at(1)) }
    #expect(try await decide(id, .push(.active)))
    #expect(try await test.claim(now: .at(2)).isEmpty)
    #expect(try await test.record(id).state == .cancelled)
    #expect(try await updates(at: 2) == [.missed])
  }

  @Test(arguments: [Call.Action.decline, .answer])
  func `a held call that the user has answered or declined elsewhere is not missed`(_ action: Call.Action) async throws
  {
    let id = try await heldCall()
    let message = MessageReference(room: room, seq: 1)
    _ = try await test.write { try $0.calls.perform(action, message, by: bob.id, on: nil, at: .at(1)) }
    #expect(try await test.record(id).state == .cancelled)
    #expect(try await updates(at: 90_000) == [])
  }

  @Test func `a held job waits for a new decision and is not sent`() async throws {
    var draft = Self.held()
    draft.level = .active
    let appended = try await test.write { [draft] in try $0.messages.append(RelayStoreTests.draft(jobs: [draft])) }
    #expect(appended.jobs == [])
    #expect(try await test.claim(now: .at(9_000)) == [])
    #expect(try await test.read { try $0.queue.nextDue() } == nil)
    #expect(try await test.read { try $0.queue.nextHeldDue() } == .at(5_000))
    let stored = try #require(try await test.read { try $0.queue.jobs(limit: 9).first })
    #expect(stored.state == .held)
    #expect(stored.level == .active)
    #expect(stored.explanation == Array(StoredJSON.text(of: draft.explanation).utf8))
    let unfinished = try await test.read { try $0.queue.unfinishedJobs(at: Moment(now: .at(0))) }
    #expect(unfinished.counts == [.held: 1])
    #expect(unfinished.oldestAge == nil)
  }

  @Test(arguments: [12 * hour - 1, 12 * hour, 12 * hour + 1, .max / 2] as [Int64])
  func `a hold lasts at most twelve hours`(asked: Int64) async throws {
    let due = min(asked, 12 * Self.hour)
    let ids = try await append([Self.held(due: asked), job()])
    #expect(try await test.record(ids[0]).due == .at(due))
    #expect(try await decide(ids[1], .hold(until: .at(asked))))
    #expect(try await test.record(ids[1]).due == .at(due))
  }

  @Test func `a wait lasts as decided, even for a job that is older than the longest hold`() async throws {
    let ids = try await append([Self.held()])
    let end = 40 * Self.hour
    #expect(try await decide(ids[0], .wait(until: .at(end))))
    #expect(try await test.record(ids[0]).due == .at(end))
    #expect(try await test.read { try $0.queue.nextHeldDue() } == .at(end))
  }

  @Test func `all held jobs can be made due at once`() async throws {
    _ = try await append([Self.held(due: 9_000_000)])
    try await test.write { try $0.queue.decideHeldAgain(by: .at(2_000)) }
    #expect(try await test.read { try $0.queue.nextHeldDue() } == .at(2_000))
    try await test.write { try $0.queue.decideHeldAgain(by: .at(3_000)) }
    #expect(try await test.read { try $0.queue.nextHeldDue() } == .at(2_000), "no job is postponed")
  }

  @Test func `held jobs are made due in slices`() async throws {
    _ = try await append([Self.held(due: 9_000_000), Self.held(due: 9_000_001), Self.held(due: 9_000_002)])
    #expect(try await test.write { try $0.queue.decideHeldAgain(by: .at(2_000), limit: 2) })
    #expect(try await test.write { try $0.queue.decideHeldAgain(by: .at(2_000), limit: 2) } == false)
    let dues = try await test.read { try $0.queue.jobs(limit: 9).map(\.due) }
    #expect(dues == [.at(2_000), .at(2_000), .at(2_000)])
  }

  @Test func `only due jobs of the user are postponed`() async throws {
    let ids = try await append([Self.held(due: -1), Self.held(due: 9_000_000), Self.held(due: -1, to: alice)])
    try await test.write { try $0.queue.postponeHeld(of: bob.id, to: .at(60_000)) }
    #expect(try await test.record(ids[0]).due == .at(60_000))
    #expect(try await test.record(ids[1]).due == .at(9_000_000))
    #expect(try await test.record(ids[2]).due == .at(-1))
  }

  @Test func `a held job does not delay other jobs`() async throws {
    let ids = try await append([Self.held(), job(), Self.held(), job()])
    let first = try await test.claim()
    #expect(first.map(\.id) == [ids[1]])
    try await test.write { try $0.queue.finish(ids[1], state: .sent, now: .at(0)) }
    #expect(try await test.claim().map(\.id) == [ids[3]])
  }

  @Test func `a held job without its device, message or membership is cancelled at once`() async throws {
    try await test.write { transaction in
      try transaction.queue.insert([Self.held()], room: room, seq: 7)
      try transaction.queue.insert([Self.held(phone("lost"))], room: room, seq: 7)
      _ = try transaction.messages.append(draft(jobs: [Self.held(to: User(id: UserID(unchecked: "carol")), phone())]))
    }
    let notes = try await test.read { try $0.queue.jobs(limit: 9).map(\.note) }
    #expect(notes == ["no device", "no device", "no message"])
    #expect(try await test.read { try $0.queue.nextHeldDue() } == nil)
  }

  @Test func `a message that is decided again after a crash has one held job`() async throws {
    let ids = try await append([Self.held()])
    try await test.write { transaction in
      try transaction.queue.insert([job(), Self.held(due: 9)], room: room, seq: 1)
      try transaction.queue.releaseLeases()
    }
    #expect(try await test.read { try $0.queue.jobs(limit: 9).map(\.id) } == ids)
    #expect(try await test.record(ids[0]).state == .held)
    #expect(try await test.record(ids[0]).due == .at(5_000))
  }

  @Test func `users with due holds are returned by their due times`() async throws {
    let users = ["a", "b", "c", "d"].map { User(id: UserID(unchecked: $0)) }
    try await test.write { transaction in
      for (index, user) in users.enumerated() {
        _ = try transaction.rooms.join(user, room: room, epoch: "e", now: .at(0))
        let device = phone(token: user.id.rawValue)
        try transaction.devices.register(device, of: user.id, now: .at(0))
        for due in [10, 20] {
          _ = try transaction.messages.append(draft(jobs: [Self.held(due: Int64(due - index), to: user, device)]))
        }
      }
    }
    func held(_ time: Int64, _ limit: Int = 9) async throws -> [String] {
      try await test.read { try $0.queue.heldUsers(dueBy: .at(time), limit: limit).map(\.rawValue) }
    }
    #expect(try await held(6) == [])
    #expect(try await held(7) == ["d"])
    #expect(try await held(9) == ["d", "c", "b"])
    #expect(try await held(99) == ["d", "c", "b", "a"])
    #expect(try await held(99, 2) == ["d", "c"])
    #expect(try await test.read { try $0.queue.nextHeldDue() } == .at(7))
  }

  @Test func `an open job has all facts for its decision`() async throws {
    try await test.write { transaction in
      var message = draft(at: .at(-9))
      message.mentions = [bob.id]
      message.push = PushRequest("{}")
      message.reports = true
      message.jobs = [Self.held()]
      message.jobs[0].level = .passive
      _ = try transaction.messages.append(message)
      _ = try transaction.messages.append(draft())
      try transaction.rooms.mark(room, bob.id, read: 0, received: 2)
      var device = phone(token: "refreshed")
      device.allowsAlerts = false
      try transaction.devices.register(device, of: bob.id, now: .at(0))
    }
    var device = phone(token: "refreshed")
    device.allowsAlerts = false
    let open = try await test.read { try $0.queue.openJobs(of: bob.id) }
    #expect(
      open.jobs == [
        OpenPush(
          id: open.jobs.first?.id ?? "", room: room,
          message: MessageHead(
            seq: 1, time: .at(-9), traits: MessageTraits(from: alice.id, mentions: [bob.id]), reports: true),
          device: device.registered(), isHeld: true, due: .at(5_000), level: .passive,
          marks: .init(read: 0, received: 2))
      ])
    #expect(try await test.record(open.jobs[0].id).created == .at(-9))
    #expect(open.next == nil)
  }

  @Test func `a user's open jobs are neither finished nor being sent`() async throws {
    let ids = try await append([job(), job(), Self.held(), job(due: .at(9)), job(), job()])
    try await test.write { transaction in
      _ = try transaction.queue.claim(limit: 9, now: .at(0), leaseUntil: .at(9))
      try transaction.queue.retry(ids[0], due: .at(0), isUnknown: true)
      try transaction.queue.finish(ids[1], state: .dead, now: .at(0))
      _ = try transaction.queue.claim(limit: 9, now: .at(0), leaseUntil: .at(9))
      try transaction.queue.decide(ids[4], .merge(into: ids[5]))
    }
    func states() async throws -> [JobState?] {
      try await test.read { reader in
        try reader.queue.openJobs(of: bob.id).jobs.map { try reader.queue.job($0.id)?.state }
      }
    }
    #expect(try await states() == [.ready, .merged, .waiting, .held])
    #expect(
      try await test.read { try $0.queue.openJobs(of: bob.id).jobs.map(\.isHeld) } == [false, false, false, true])
    for user in [alice.id, UserID(unchecked: "nobody")] {
      #expect(try await test.read { try $0.queue.openJobs(of: user).jobs } == [])
    }
    try await test.write { try $0.queue.retry(ids[0], due: .at(9)) }
    #expect(try await states().last == .retrying)
  }

  @Test func `the pages of open jobs contain each job once`() async throws {
    let ids = try await append((0..<7).map { $0.isMultiple(of: 2) ? Self.held() : job() })
    var found: [String] = []
    var next: Int64?
    repeat {
      let page = try await test.read { [next] in try $0.queue.openJobs(of: bob.id, before: next, limit: 3) }
      #expect(page.jobs.count <= 3)
      found += page.jobs.map(\.id)
      next = page.next
    } while next != nil
    #expect(found == ids.reversed())
  }
}

/// The results of new decisions.
extension HeldJobTests {
  @Test func `a released push is sent in the order of its room`() async throws {
    let ids = try await append([Self.held(), job(), job()])
    #expect(try await test.claim().map(\.id) == [ids[1]])
    #expect(try await decide(ids[0], .push(.passive), explanation: "{}"))
    try await test.write { try $0.queue.finish(ids[1], state: .sent, now: .at(0)) }
    let claims = try await test.claim()
    #expect(claims.map(\.id) == [ids[0]])
    #expect(claims.map(\.shown?.level) == [.passive])
    #expect(try await test.record(ids[0]).explanation == Array("{}".utf8))
    try await test.write { try $0.queue.finish(ids[0], state: .sent, now: .at(0)) }
    #expect(try await test.claim().map(\.id) == [ids[2]])
  }

  @Test func `a new decision does not shorten the delay of a retry`() async throws {
    let ids = try await append([job(), job(due: .at(900))])
    _ = try await test.claim()
    try await test.write { try $0.queue.retry(ids[0], due: .at(500)) }
    for id in ids { #expect(try await decide(id, .push(.active))) }
    #expect(try await test.record(ids[0]).state == .retrying)
    #expect(try await test.record(ids[0]).due == .at(500))
    #expect(try await test.record(ids[1]).state == .waiting)
    #expect(try await test.record(ids[1]).due == .at(900))
    #expect(try await test.record(ids[1]).level == .active)
  }

  @Test(arguments: [0, 900]) func `a queued push that is held lets others pass`(due: Int64) async throws {
    let ids = try await append([job(due: .at(due)), job()])
    #expect(try await decide(ids[0], .hold(until: .at(7))))
    #expect(try await test.record(ids[0]).state == .held)
    #expect(try await test.record(ids[0]).due == .at(7))
    #expect(try await test.claim().map(\.id) == [ids[1]])
  }

  @Test func `a new decision can move the end of a hold`() async throws {
    let ids = try await append([Self.held()])
    #expect(try await decide(ids[0], .hold(until: .at(8)), explanation: "1"))
    #expect(try await test.record(ids[0]).due == .at(8))
    #expect(try await decide(ids[0], .hold(until: .at(9))))
    #expect(try await test.record(ids[0]).explanation == Array("1".utf8))
    #expect(try await test.read { try $0.queue.nextHeldDue() } == .at(9))
  }

  @Test func `a cancelled job has the reason`() async throws {
    let ids = try await append([Self.held(), job(), job()])
    for id in ids.prefix(2) { #expect(try await decide(id, .cancel(.blocked), explanation: "{}")) }
    for id in ids.prefix(2) {
      let record = try await test.record(id)
      #expect(record.state == .cancelled)
      #expect(record.note == "blocked")
      #expect(record.finishedAt == .at(0))
      #expect(record.explanation == Array("{}".utf8))
    }
    #expect(try await test.claim().map(\.id) == [ids[2]])
  }

  @Test(arguments: [JobDecision.Action.push(.active), .hold(until: .at(9)), .cancel(.expired), .merge(into: "")])
  func `a job that is being sent or has ended gets no decision`(action: JobDecision.Action) async throws {
    let ids = try await append([job(), job()])
    _ = try await test.claim()
    try await test.write { try $0.queue.finish(ids[1], state: .expired, now: .at(0)) }
    for id in ids {
      let before = try await test.record(id)
      #expect(try await decide(id, action, explanation: "1") == false)
      #expect(try await test.record(id) == before)
    }
    #expect(try await decide("none", action) == false)
  }
}

/// The ends of holds.
extension HeldJobTests {
  @Test func `a read mark ends the holds of the messages up to it`() async throws {
    let ids = try await append([Self.held(), Self.held(), job(), Self.held()])
    #expect(try await test.write { try $0.queue.cancel(room, bob.id, upTo: 3, reason: "read") } == 3)
    for id in ids.prefix(3) { #expect(try await test.record(id).note == "read") }
    #expect(try await test.record(ids[3]).state == .held)
  }

  @Test func `a leave, a deleted device and a moved token end holds`() async throws {
    let other = RoomID(unchecked: "other")
    let devices = ["kept", "forgotten", "taken"].map { phone($0, token: $0) }
    try await test.write { transaction in
      try transaction.prepareRoom(other)
      for device in devices { try transaction.devices.register(device, of: bob.id, now: .at(0)) }
      for room in [room, other] {
        _ = try transaction.messages.append(draft(in: room, jobs: devices.map { Self.held($0) }))
      }
      try transaction.rooms.leave(bob.id, room: other)
      try transaction.devices.forget(devices[1].id, of: bob.id)
      try transaction.devices.register(phone("next", token: "taken"), of: bob.id, now: .at(0))
    }
    let jobs = try await test.read { try $0.queue.jobs(of: bob.id, limit: 9) }
    let held = jobs.filter { $0.state == .held }
    #expect(held.map(\.device) == [devices[0].id])
    #expect(held.map(\.room) == [room])
    #expect(
      jobs.filter { $0.state == .cancelled }.map(\.note).sorted { $0 ?? "" < $1 ?? "" } == [
        "no device", "no device", "not a member", "not a member", "not a member",
      ])
  }

  @Test func `a held push keeps its message when the history is trimmed`() async throws {
    let ids = try await append([Self.held(), job()])
    _ = try await test.write { transaction in
      try transaction.rooms.advanceCursor(room, to: 2)
      return try transaction.messages.trim(room, to: Retention(count: 0), maxDeleted: 9)
    }
    #expect(try await test.read { try $0.queue.openJobs(of: bob.id).jobs.map(\.message.seq) } == [2, 1])
    #expect(try await decide(ids[0], .push(.active)))
    #expect(try await test.claim().map(\.shown?.message.seq) == [1])
  }
}

extension HeldJobTests {
  private static func held(_ device: Device) -> PlannedPush { held(to: bob, device) }

  private static let openStates: Set<JobState> = [.waiting, .held, .merged, .ready, .sending, .retrying]

  /// The condition of a job, and whether facts about its user may still decide it.
  @Test(
    arguments: JobState.allCases.map { ("state = '\($0)'", openStates.contains($0)) } + [
      ("state = 'merged', finished_at = 1", false),
      ("kind = 'change', state = 'ready', is_late = 1", true),
      ("kind = 'change', state = 'ready', is_late = 0", false),
    ])
  func `a change is noted if it may decide a job`(job: String, isNoted: Bool) async throws {
    func note() async throws -> (isNoted: Bool, hasTime: Bool) {
      try await test.write { transaction in
        try transaction.db.execute(sql: "UPDATE users SET changed = -1")
        let isNoted = try transaction.people.noteChange(of: bob.id)
        return (isNoted, try transaction.db.has("SELECT 1 FROM users WHERE name = 'bob' AND changed >= 0"))
      }
    }
    #expect(try await note() == (false, false))
    _ = try await append([Self.held()])
    try await test.write { try $0.db.execute(sql: "UPDATE jobs SET merged_into = 'head', \(job)") }
    #expect(try await note() == (isNoted, isNoted))
  }

  @Test func `users with a changed fact and an older job are found`() async throws {
    func changed(after user: UserID? = nil, limit: Int = 9) async throws -> [String] {
      try await test.read { try $0.queue.changedUsers(after: user, limit: limit).map(\.rawValue) }
    }
    _ = try await append([job()])
    #expect(try await changed() == [])
    try await test.write { try $0.people.noteChange(of: bob.id) }
    #expect(try await changed() == ["bob"])
    // No job is older than the change.
    try await test.write { try $0.db.execute(sql: "UPDATE users SET changed = changed - 1") }
    #expect(try await changed() == [])
    let carol = User(id: UserID(unchecked: "carol"))
    try await test.write { transaction in
      _ = try transaction.rooms.join(carol, room: room, epoch: "epoch", now: .at(0))
      try transaction.devices.register(phone("tablet", token: "other"), of: carol.id, now: .at(0))
      _ = try transaction.messages.append(draft(jobs: [job(to: carol, phone("tablet", token: "other"))]))
      for user in [bob, carol] { try transaction.people.noteChange(of: user.id) }
      // She has no job.
      try transaction.db.execute(sql: "UPDATE users SET changed = 1 WHERE name = 'alice'")
    }
    #expect(try await changed() == ["bob", "carol"])
    #expect(try await changed(limit: 1) == ["bob"])
    #expect(try await changed(after: bob.id) == ["carol"])
    #expect(try await changed(after: carol.id) == [])
    // Users with finished or held jobs only are left out.
    let claims = try await test.claim()
    try await test.write { transaction in
      for claim in claims { _ = try transaction.queue.finish(claim.id, state: .sent, now: .at(0)) }
      _ = try transaction.messages.append(draft(jobs: [Self.held()]))
    }
    #expect(try await changed() == [])
  }

  @Test(arguments: [-3_600, 40 * 86_400] as [Int64])
  func `a change is compared with jobs before and after it, also if the clock was set`(step: Int64) async throws {
    func send() async throws -> String {
      let time = test.clocks.now
      let stored = try await test.write { try $0.messages.append(RelayStoreTests.draft(at: time, jobs: [job()])) }
      return try #require(stored.jobs.first)
    }
    func isOutdated(_ id: String) async throws -> Bool { try await test.read { try $0.queue.isOutdated(id) } }
    func changed() async throws -> [UserID] { try await test.read { try $0.queue.changedUsers(after: nil, limit: 9) } }
    let earlier = try await send()
    test.clocks.pass(.seconds(1))
    test.clocks.set(by: .seconds(step))
    try await test.write { try $0.people.noteChange(of: bob.id) }
    #expect(try await isOutdated(earlier))
    #expect(try await changed() == [bob.id])
    try await test.write { _ = try $0.queue.finish(earlier, state: .dead, now: .at(0)) }
    test.clocks.pass(.seconds(1))
    test.clocks.set(by: .seconds(-step))
    let later = try await send()
    #expect(try await isOutdated(later) == false)
    #expect(try await changed() == [])
  }

  @Test func `a push that may be on the phone, or a Notify Anyway, is not held`() async throws {
    var anyway = job(to: bob, phone())
    anyway.explanation.facts.message.isNotifyAnyway = true
    let ids = try await append([job(), anyway])
    let claimed = try await test.claim()
    #expect(claimed.map(\.id) == [ids[0]])
    try await test.write { try $0.queue.retry(ids[0], due: .at(9), isUnknown: true) }
    for id in ids { #expect(try await decide(id, .hold(until: .at(99))) == false) }
    #expect(try await test.record(ids[0]).state == .retrying)
    #expect(try await test.record(ids[1]).state == .ready)
  }

  @Test func `a job is outdated after a fact has changed`() async throws {
    func isOutdated(_ id: String) async throws -> Bool { try await test.read { try $0.queue.isOutdated(id) } }
    let ids = try await append([job(), job()])
    #expect(try await isOutdated(ids[0]) == false)
    try await test.write { try $0.rooms.mark(room, bob.id, received: 1) }
    #expect(try await isOutdated(ids[0]))
    #expect(try await isOutdated(ids[1]) == false)
    try await test.write { try $0.people.noteChange(of: bob.id) }
    #expect(try await isOutdated(ids[1]))
    #expect(try await isOutdated("none") == false)
  }
}
