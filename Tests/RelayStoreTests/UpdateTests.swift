// SPDX-License-Identifier: Apache-2.0
import Foundation
import GRDB
import RelayProtocol
import Testing

@testable import RelayDelivery
@testable import RelayStore

/// Updates of phones: pushes that change or remove earlier ones, or show nothing.
@Suite struct UpdateTests {
  let test: TestStore
  init() throws { test = try TestStore() }

  /// Sends a message from Alice whose push Bob's phone shows. Returns the id of its job.
  @discardableResult
  private func show(_ text: String = "hi", push: String? = nil, expires: Timestamp? = nil) async throws -> String {
    try await test.write { transaction in
      try transaction.prepareRoom()
      var message = draft(text)
      message.push = push.map(PushRequest.init(_:))
      var wanted = job()
      wanted.explanation.facts.message.expires = expires ?? .never
      message.jobs = [wanted]
      _ = try transaction.messages.append(message)
    }
    let claims = try await test.claim()
    let id = try #require(claims.last?.id)
    try await test.write { try $0.queue.finish(id, state: .sent, now: .at(0)) }
    return id
  }

  private func edit(_ text: String, updatesNotifications: Bool = true) async throws {
    try await test.write {
      _ = try $0.messages.edit(room, 1, body: Array("\"\(text)\"".utf8), updatesNotifications: updatesNotifications)
    }
  }

  private func change(_ claim: Claim?) throws -> (EntryText, ShownMessages) {
    guard case .change(let text, let shown)? = claim?.content else { throw StoreError.noRoom(room) }
    return (text, shown)
  }

  /// The claims of notifications among all.
  private func changes(at time: Timestamp = .at(0)) async throws -> [(text: EntryText, shown: ShownMessages)] {
    try await test.claimUpdates(at: time).compactMap { claim in
      if case .change(let text, let shown) = claim.content { (text, shown) } else { nil }
    }
  }

  /// The removals of Bob's phone, as `read tea 7` or `removed tea 3`.
  private func removals() async throws -> [String] {
    try await test.read {
      try $0.db.all("SELECT is_read, room, seq, state FROM removals ORDER BY is_read, room, seq").map {
        "\($0[0] as Bool ? "read" : "removed") \($0[2] as Int64) \($0[3] as String)"
      }
    }
  }

  @Test func `a phone that shows a message gets its edit`() async throws {
    let job = try await show()
    try await edit("new")
    let claims = try await test.claimUpdates()
    let (kind, told) = try change(claims.first)
    #expect((claims.count, kind, told.notification) == (1, .current, job))
    #expect(told.message.body == Array("\"new\"".utf8))
    #expect(told.collapse == MessageReference(room: room, seq: 1))
    #expect(claims.first?.id != job)
    #expect(try await test.claimUpdates().isEmpty)
    let id = try #require(claims.first?.id)
    try await test.write { try $0.updates.finish(id) }
    #expect(try await test.claimUpdates(at: .at(99_999)).isEmpty)
  }

  @Test func `a phone receives no edit of a room that its user may not join`() async throws {
    try await show()
    try await edit("new")
    try await test.write { try $0.people.withdraw(from: [room], bob.id) }
    try await edit("newer")
    #expect(try await changes().isEmpty)
    // The phone removes the message, because its user may not read the room.
    #expect(try await removals() == ["removed 1 due"])
  }

  @Test func `an edit during the update of an earlier one is sent as well`() async throws {
    try await show()
    try await edit("new")
    let id = try #require(try await test.claimUpdates().first?.id)
    try await edit("newer")
    #expect(try await test.claimUpdates().isEmpty)
    try await test.write { try $0.updates.finish(id) }
    #expect(try change(try await test.claimUpdates().first).1.message.body == Array("\"newer\"".utf8))
  }

  @Test func `an edit of a message that no phone shows makes no update`() async throws {
    try await test.write { transaction in
      try transaction.prepareRoom()
      _ = try transaction.messages.append(draft(jobs: [job()]))
    }
    try await edit("new")
    #expect(try await test.claimUpdates().isEmpty)
  }

  @Test func `an edit that phones need not show makes no update`() async throws {
    try await show()
    try await edit("new", updatesNotifications: false)
    #expect(try await test.claimUpdates().isEmpty)
  }

  @Test func `a push that a newer one of its room has replaced gets no update`() async throws {
    try await show(push: #"{"collapse":"room"}"#)
    try await edit("new")
    #expect(try await changes().map(\.text) == [.current])
    try await show(push: #"{"collapse":"room"}"#)
    try await edit("newer")
    #expect(try await changes().isEmpty)
  }

  @Test func `the update follows a push that is being sent`() async throws {
    try await test.write { transaction in
      try transaction.prepareRoom()
      _ = try transaction.messages.append(draft(jobs: [job()]))
    }
    let claims = try await test.claim()
    try await edit("new")
    #expect(try await test.claimUpdates().isEmpty)
    let id = try #require(claims.first?.id)
    try await test.write { try $0.queue.finish(id, state: .sent, now: .at(0)) }
    #expect(try await test.claimUpdates().count == 1)
  }

  @Test func `a deletion replaces an edit that was not sent`() async throws {
    try await show()
    try await edit("new")
    try await test.write { _ = try $0.messages.delete(room, 1) }
    let claims = try await test.claimUpdates()
    let (kind, told) = try change(claims.first)
    #expect((claims.count, kind, told.message.isDeleted) == (1, .deleted, true))
  }

  @Test func `an edit of a read message makes no update`() async throws {
    try await show()
    try await edit("new")
    try await test.write { try $0.rooms.mark(room, bob.id, read: 1) }
    #expect(try await changes().isEmpty)
  }

  @Test func `a call without an answer becomes missed at its expiry`() async throws {
    try await show(push: #"{"kind":"call"}"#, expires: .at(45_000))
    #expect(try await test.claimUpdates(at: .at(44_999)).isEmpty)
    #expect(try await test.read { try $0.queue.nextDue() } == .at(45_000))
    #expect(try await changes(at: .at(45_000)).map(\.text) == [.missed])
  }

  @Test func `a call that was edited gets its edit once, and is missed later`() async throws {
    try await show(push: #"{"kind":"call"}"#, expires: .at(45_000))
    try await edit("new")
    let claims = try await test.claimUpdates()
    #expect(try claims.map { try change($0).0 } == [.current])
    try await test.finish(claims[0])
    #expect(try await test.claimUpdates(at: .at(44_999)).isEmpty)
    #expect(try await test.read { try $0.queue.nextDue() } == .at(45_000))
    #expect(try await changes(at: .at(45_000)).map(\.text) == [.missed])
  }

  @Test func `a call that was read is not missed`() async throws {
    try await show(push: #"{"kind":"call"}"#, expires: .at(45_000))
    try await test.write { try $0.rooms.mark(room, bob.id, read: 1) }
    #expect(try await changes(at: .at(45_000)).isEmpty)
  }

  @Test func `a deleted call is removed, and not missed`() async throws {
    try await show(push: #"{"kind":"call"}"#, expires: .at(45_000))
    try await test.write { _ = try $0.messages.delete(room, 1) }
    #expect(try await changes().map(\.text) == [.deleted])
  }

  @Test func `a message does not become missed`() async throws {
    try await show(expires: .at(45_000))
    #expect(try await test.claimUpdates(at: .at(45_000)).isEmpty)
  }

  private func read(_ seq: Int64) async throws {
    try await test.write { transaction in
      try transaction.updates.read(room, bob.id, upTo: seq)
      try transaction.rooms.mark(room, bob.id, read: seq)
    }
  }

  private func phoneUpdate(at time: Timestamp = .at(0)) async throws -> Claim? {
    try await test.claimUpdates(at: time).first { if case .phone = $0.content { true } else { false } }
  }

  @Test func `a read removes notifications and sets the badge, a further one only the badge for a while`() async throws
  {
    try await show()
    try await show()
    try await show()
    try await read(1)
    let claim = try #require(try await phoneUpdate())
    #expect(claim.content == .phone(PhoneUpdate(badge: 2, removes: true)))
    #expect(claim.removals.read == [MessageReference(room: room, seq: 1)])
    #expect(claim.keptUntil == nil)
    try await test.finish(claim)
    #expect(try await removals() == ["read 1 sent"])
    try await read(2)
    #expect(try await test.claimUpdates(at: .at(59_999)).isEmpty)
    let second = try #require(try await phoneUpdate(at: .at(60_000)))
    // A device gets one wake in 20 minutes.
    #expect(second.content == .phone(PhoneUpdate(badge: 1, removes: false)))
    try await test.finish(second)
    #expect(try await removals() == ["read 2 due"])
    #expect(try await test.claimUpdates(at: .at(20 * 60_000 - 1)).isEmpty)
    let third = try #require(try await phoneUpdate(at: .at(20 * 60_000)))
    #expect(third.content == .phone(PhoneUpdate(badge: nil, removes: true)))
  }

  @Test func `a user who sends a message has read the earlier ones`() async throws {
    try await show()
    try await show()
    try await test.write { transaction in
      var own = draft("mine", from: bob)
      own.hasPhones = true
      _ = try transaction.messages.append(own)
    }
    let claim = try #require(try await phoneUpdate())
    #expect(claim.content == .phone(PhoneUpdate(badge: 0, removes: true)))
    #expect(claim.removals.read == [MessageReference(room: room, seq: 2)])
  }

  /// Claims the push of a new message from Alice to Bob's phone. Returns its id.
  private func claimNext() async throws -> String {
    try await test.write { transaction in
      try transaction.prepareRoom()
      _ = try transaction.messages.append(draft(jobs: [job()]))
      let claims = try transaction.queue.claim(limit: 9, now: .at(0), leaseUntil: .at(60_000))
      return try #require(claims.last?.id)
    }
  }

  @Test func `a push of a message that was read meanwhile is removed`() async throws {
    let id = try await claimNext()
    try await read(1)
    try await test.write { try $0.queue.finish(id, state: .sent, now: .at(0)) }
    #expect(try await changes().isEmpty)
    #expect(try await removals() == ["removed 1 due"])
  }

  @Test func `a push of a sender who was blocked meanwhile is removed`() async throws {
    let id = try await claimNext()
    try await test.write { _ = try $0.people.block(alice.id, by: bob.id) }
    try await test.write { try $0.queue.finish(id, state: .sent, now: .at(0)) }
    #expect(try await changes().isEmpty)
    #expect(try await removals() == ["removed 1 due"])
  }

  @Test func `a message that is deleted lowers the badge of a phone that got no push of it`() async throws {
    try await test.write { transaction in
      try transaction.prepareRoom()
      _ = try transaction.messages.append(draft("without a push"))
    }
    try await show()
    try await test.write { _ = try $0.messages.delete(room, 1) }
    #expect(try await phoneUpdate()?.content == .phone(PhoneUpdate(badge: 1, removes: false)))
  }

  @Test func `a read lowers the badge of a phone that got no push of the message`() async throws {
    let other = RoomID(unchecked: "other")
    try await test.write { transaction in
      try transaction.prepareRoom(other)
      _ = try transaction.messages.append(draft("without a push", in: other))
    }
    try await show()
    try await test.write { transaction in
      try transaction.updates.read(other, bob.id, upTo: 1)
      try transaction.rooms.mark(other, bob.id, read: 1)
    }
    #expect(try await phoneUpdate()?.content == .phone(PhoneUpdate(badge: 1, removes: false)))
  }

  @Test func `a change displaces no alert that is being pushed`() async throws {
    try await show(expires: .at(500_000))
    _ = try await claimNext()
    try await edit("new")
    #expect(try await test.claimUpdates().map(\.keptUntil) == [nil])
  }

  @Test func `the newest alert is the one that was sent last`() async throws {
    let first = try await claimNext()
    try await test.write { try $0.queue.retry(first, due: .at(20_000)) }
    let second = try await test.write { transaction in
      _ = try transaction.rooms.join(bob, room: RoomID(unchecked: "other"), epoch: "epoch", now: .at(0))
      _ = try transaction.messages.append(draft(in: RoomID(unchecked: "other"), jobs: [job()]))
      return try transaction.queue.claim(limit: 9, now: .at(0), leaseUntil: .at(60_000)).map(\.id)
    }
    try await test.write { transaction in
      try transaction.db.run(
        "UPDATE jobs SET expires = CASE id WHEN ? THEN ? ELSE ? END",
        [first, Timestamp.at(500_000).rawValue, Timestamp.at(900_000).rawValue])
      for id in second { try transaction.queue.finish(id, state: .sent, now: .at(0)) }
      for claim in try transaction.queue.claim(limit: 9, now: .at(20_000), leaseUntil: .at(60_000)) {
        try transaction.queue.finish(claim.id, state: .sent, now: .at(20_000))
      }
    }
    try await edit("new")
    #expect(try await test.claimUpdates(at: .at(20_000)).map(\.keptUntil).contains(.at(500_000)))
  }

  @Test func `the service keeps no alert for a new token`() async throws {
    try await show(expires: .at(500_000))
    try await read(1)
    try await test.finish(try #require(try await phoneUpdate()))
    try await test.write { try $0.devices.register(phone(token: "new"), of: bob.id, now: .at(1)) }
    let kept = try await test.claimUpdates(at: .at(20 * 60_000)).map(\.keptUntil)
    #expect(kept == [nil])
  }

  @Test func `a removal is repeated after a sign of life, and done after the next`() async throws {
    try await show()
    try await read(1)
    try await test.finish(try #require(try await phoneUpdate()))
    try await test.write { try $0.updates.alive(phone().id, of: bob.id) }
    #expect(try await removals() == ["read 1 dueAgain"])
    try await test.finish(try #require(try await phoneUpdate(at: .at(20 * 60_000))))
    #expect(try await removals() == ["read 1 repeated"])
    try await test.write { try $0.updates.alive(phone().id, of: bob.id) }
    #expect(try await removals() == [])
    #expect(try await test.claimUpdates(at: .at(99 * 60_000)).isEmpty)
  }

  @Test func `the next alert carries open removals`() async throws {
    try await show()
    try await read(1)
    try await test.finish(try #require(try await phoneUpdate()))
    try await test.write { _ = try $0.messages.append(draft("next", jobs: [job()])) }
    let claim = try await test.write { try $0.queue.claim(limit: 1, now: .at(0), leaseUntil: .at(60_000)).first }
    #expect(claim?.removals.read == [MessageReference(room: room, seq: 1)])
  }

  @Test func `a removal of the newest alert stays at the service as long as that alert`() async throws {
    try await show(expires: .at(500_000))
    try await show(expires: .at(900_000))
    try await read(1)
    #expect(try await phoneUpdate()?.keptUntil == nil)
    try await test.write { try $0.queue.releaseLeases() }
    try await read(2)
    #expect(try await phoneUpdate(at: .at(20 * 60_000))?.keptUntil == .at(900_000))
  }

  @Test func `an edit of the newest alert stays at the service as long as that alert, and another does not`()
    async throws
  {
    try await show(expires: .at(500_000))
    try await edit("newest")
    #expect(try await test.claimUpdates().first?.keptUntil == .at(500_000))
    try await test.write { try $0.queue.releaseLeases() }
    try await show(expires: .at(900_000))
    try await edit("older")
    #expect(try await test.claimUpdates().first?.keptUntil == nil)
  }

  @Test func `a blocked sender changes no text, and their notifications go`() async throws {
    try await show()
    try await test.write { _ = try $0.people.block(alice.id, by: bob.id) }
    #expect(try await removals() == ["removed 1 due"])
    try await edit("You cannot block me")
    #expect(try await changes().isEmpty)
    // The badge does not count them.
    #expect(try await test.read { try $0.messages.unread(of: bob.id, now: .at(0)).total } == Unread())
  }

  @Test func `an edit does not bring back a dismissed notification, and a deletion only removes it`() async throws {
    let job = try await show()
    try await test.write { try $0.updates.finished(job) }
    try await edit("new")
    #expect(try await changes().isEmpty)
    try await test.write { _ = try $0.messages.delete(room, 1) }
    #expect(try await changes().isEmpty)
    #expect(try await removals() == ["removed 1 due"])
  }

  @Test func `a user who leaves the room keeps no notification of it`() async throws {
    try await show()
    try await test.write { _ = try $0.rooms.end(bob.id, room) }
    #expect(try await removals() == ["removed 1 due"])
    let claim = try #require(try await phoneUpdate())
    #expect(claim.content == .phone(PhoneUpdate(badge: 0, removes: true)))
  }

  @Test func `a deleted room leaves no notification and no badge`() async throws {
    try await show()
    try await test.write { transaction in
      _ = try transaction.rooms.delete(room, by: .backend)
      while try transaction.rooms.sweepDeleted() {}
    }
    let claim = try #require(try await phoneUpdate())
    #expect(claim.content == .phone(PhoneUpdate(badge: 0, removes: true)))
    #expect(claim.removals.removed == [MessageReference(room: room, seq: 1)])
  }

  @Test func `a device has a maximum of open removals, and old ones end`() async throws {
    try await show()
    try await test.write { transaction in
      let user = try transaction.needRow(of: bob.id)
      for seq in 1...Int64(UpdateQueue.maxRemovals + 9) {
        try transaction.updates.putRemoval(
          phone().id.rawValue, ofRow: user, MessageReference(room: room, seq: seq))
      }
      try transaction.updates.boundRemovals(of: phone().id.rawValue, ofRow: user)
    }
    #expect(try await removals().count == UpdateQueue.maxRemovals)
    try await read(1)
    #expect(try await phoneUpdate()?.removals.count == Removals.maxCount)
    try await test.write { transaction in
      try transaction.db.run(
        "UPDATE removals SET created = ?", [(transaction.now - UpdateQueue.removalAge).rawValue - 1])
      #expect(try transaction.updates.purgeRemovals() == false)
    }
    #expect(try await removals() == [])
  }

  @Test func `the newest removals stay, also if the clock was set back`() async throws {
    try await show()
    func remove(_ seqs: ClosedRange<Int64>) async throws {
      try await test.write { transaction in
        let user = try transaction.needRow(of: bob.id)
        for seq in seqs {
          try transaction.updates.putRemoval(phone().id.rawValue, ofRow: user, MessageReference(room: room, seq: seq))
        }
        try transaction.updates.boundRemovals(of: phone().id.rawValue, ofRow: user)
      }
    }
    try await remove(1_001...1_000 + Int64(UpdateQueue.maxRemovals))
    test.clocks.set(by: .seconds(-3_600))
    try await remove(1...3)
    let kept = try await removals()
    #expect(kept.count == UpdateQueue.maxRemovals)
    #expect(Array(kept.prefix(4)) == ["removed 1 due", "removed 2 due", "removed 3 due", "removed 1004 due"])
    let open = try await test.write { transaction in
      try transaction.updates.openRemovals(of: phone().id.rawValue, ofRow: transaction.needRow(of: bob.id))
    }
    #expect(open.removed.prefix(3).map(\.seq) == [3, 2, 1])
  }

  @Test func `a message that no phone shows needs no badge update`() async throws {
    try await test.write { transaction in
      try transaction.prepareRoom()
      _ = try transaction.messages.append(draft())
    }
    try await read(1)
    #expect(try await test.claimUpdates().isEmpty)
  }

  private func wake(at time: Timestamp = .at(0)) async throws {
    try await test.write { transaction in
      try transaction.prepareRoom()
      var push = job()
      push.explanation.facts.message.isSilent = true
      _ = try transaction.messages.append(draft(at: time, jobs: [push]))
    }
  }

  @Test func `the newest silent push is sent, at most once in 20 minutes`() async throws {
    try await wake()
    try await wake()
    let claims = try await test.claimUpdates()
    guard case .silent(let place, let epoch, let message, _)? = claims.first?.content else {
      Issue.record("no silent push")
      return
    }
    #expect((claims.count, place, epoch, message.seq) == (1, room, "epoch", 2))
    #expect(try await test.read { try $0.queue.jobs(limit: 9) }.isEmpty)
    try await test.finish(claims[0])
    try await wake()
    #expect(try await test.read { try $0.queue.nextDue() } == .at(20 * 60_000))
    #expect(try await test.claimUpdates(at: .at(20 * 60_000 - 1)).isEmpty)
    #expect(try await test.claimUpdates(at: .at(20 * 60_000)).count == 1)
  }

  @Test func `a silent push that is stored while another is on its way waits for the pause`() async throws {
    try await wake()
    let first = try #require(try await test.claimUpdates().first)
    try await wake()
    #expect(try await test.claimUpdates().isEmpty)
    try await test.finish(first)
    #expect(try await test.claimUpdates().isEmpty)
    #expect(try await test.read { try $0.queue.nextDue() } == .at(20 * 60_000))
    #expect(try await test.claimUpdates(at: .at(20 * 60_000)).count == 1)
  }

  @Test func `a silent push follows a push that failed`() async throws {
    try await wake()
    let first = try #require(try await test.claimUpdates().first)
    try await wake()
    #expect(try await test.claimUpdates().isEmpty)
    try await test.write { try $0.updates.finish(first.id) }
    #expect(try await test.claimUpdates().count == 1)
  }

  @Test func `silent pushes continue after the wall clock was set back while the relay was stopped`() async throws {
    try await wake()
    try await test.finish(try #require(try await test.claimUpdates().first))
    try await test.write { try $0.db.run("UPDATE devices SET woken = ?", [Timestamp.at(3_600_000).rawValue]) }
    try await wake()
    #expect(try await test.claimUpdates().count == 1)
  }

  @Test(arguments: [-40 * 86_400, -3600, 600, 40 * 86_400])
  func `the pauses between updates keep their length when the wall clock is set`(step: Int) async throws {
    for end in [PhonePlanner.wakePause, PhonePlanner.badgePause] {
      let isSilent = end == PhonePlanner.wakePause
      if !isSilent {
        try await show()
        try await test.write { try $0.db.run("UPDATE devices SET badge = 9") }
      }
      func ask() async throws {
        try await isSilent
          ? wake(at: test.clocks.now)
          : test.write { transaction in
            try transaction.db.run("UPDATE devices SET badge = 9")
            try transaction.updates.touch("phone", ofRow: transaction.row(of: bob.id) ?? 0)
          }
      }
      try await ask()
      let now = test.clocks.now
      try await test.finish(try #require(try await test.claimUpdates(at: now).first))
      test.clocks.set(by: .seconds(step))
      try await ask()
      let set = test.clocks.now
      #expect(try await test.claimUpdates(at: set).isEmpty)
      #expect(try await test.read { try $0.queue.nextDue() } == set + end)
      test.clocks.pass(end)
      #expect(try await test.claimUpdates(at: test.clocks.now).count == 1)
      try await test.write { try $0.db.run("DELETE FROM jobs") }
    }
  }

  // MARK: Steps of the wall clock

  /// Steps in seconds.
  static let steps = [-40 * 86_400, -3_600, 600, 40 * 86_400]

  /// Sets the wall clock, and moves the due times as the relay does.
  private func set(by step: Int) async throws {
    test.clocks.set(by: .seconds(step))
    let now = test.clocks.now
    try await test.write { try $0.queue.moveDue(by: .seconds(step), setTo: now) }
  }

  /// Claims the push of a call that rings until ``ringEnd``. Returns its id.
  private func claimCall() async throws -> String {
    test.clocks.rewind(by: .seconds(500))
    return try await test.write { transaction in
      try transaction.prepareRoom()
      var message = draft()
      message.push = PushRequest(#"{"kind":"call"}"#)
      var wanted = job()
      wanted.explanation.facts.message.expires = Self.ringEnd
      message.jobs = [wanted]
      _ = try transaction.messages.append(message)
      return try #require(try transaction.queue.claim(limit: 9, now: .at(0), leaseUntil: .at(60_000)).last?.id)
    }
  }

  private static let ringEnd = Timestamp.at(45_000)

  /// Expects that the phone shows a missed call at the end of the ringing, and that nothing is due before.
  private func expectMissed(after step: Int) async throws {
    let end = Self.ringEnd + .seconds(step)
    #expect(try await test.read { try $0.queue.nextDue() } == end)
    #expect(try await changes(at: end - .milliseconds(1)).isEmpty)
    #expect(try await changes(at: end).map(\.text) == [.missed])
  }

  /// The times until which the service keeps the changes that are due.
  private func kept() async throws -> [Timestamp?] {
    try await test.claimUpdates(at: test.clocks.now).filter { if case .change = $0.content { true } else { false } }
      .map(\.keptUntil)
  }

  @Test(arguments: steps)
  func `an edit stays at the service as long as its alert when the wall clock is set`(step: Int) async throws {
    test.clocks.rewind(by: .seconds(500))
    try await show(expires: .at(500_000))
    try await set(by: step)
    try await edit("newest")
    #expect(try await kept() == [Timestamp.at(500_000) + .seconds(step)])
  }

  @Test(arguments: steps)
  func `a deletion stays at the service as long as its missed call when the wall clock is set`(step: Int) async throws {
    test.clocks.rewind(by: .seconds(500))
    try await show(push: #"{"kind":"call"}"#, expires: Self.ringEnd)
    test.clocks.pass(.seconds(45))
    let missed = try #require(try await test.claimUpdates(at: test.clocks.now).first)
    let end = try #require(missed.keptUntil)
    try await test.finish(missed)
    try await set(by: step)
    try await test.write { _ = try $0.messages.delete(room, 1) }
    #expect(try await kept() == [end + .seconds(step)])
  }

  @Test(arguments: steps, [FinishedState.sent, .expired])
  func `a call rings as long as before when the wall clock is set while its push is being sent`(
    step: Int, state: FinishedState
  ) async throws {
    let id = try await claimCall()
    try await set(by: step)
    let now = test.clocks.now
    try await test.write { try $0.queue.finish(id, state: state, now: now) }
    try await expectMissed(after: step)
  }

  @Test(arguments: steps)
  func `a call rings as long as before when the wall clock is set while its edit is being sent`(
    step: Int
  ) async throws {
    test.clocks.rewind(by: .seconds(500))
    try await show(push: #"{"kind":"call"}"#, expires: Self.ringEnd)
    try await edit("new")
    let claim = try #require(try await test.claimUpdates().first)
    try await set(by: step)
    try await test.finish(claim)
    try await expectMissed(after: step)
  }

  /// The edit makes the update due early, and the phone has no alert to change.
  @Test(arguments: steps)
  func `a call that no phone shows is missed at the end of its ringing when the wall clock is set`(
    step: Int
  ) async throws {
    let id = try await claimCall()
    try await test.write { try $0.queue.finish(id, state: .expired, now: .at(0)) }
    try await set(by: step)
    try await edit("new")
    #expect(try await changes(at: test.clocks.now).isEmpty)
    try await expectMissed(after: step)
  }

  @Test func `a silent push that replaces another keeps its due time`() async throws {
    try await wake()
    let id = try #require(try await test.claimUpdates().first?.id)
    try await test.write { transaction in
      try transaction.updates.finish(id)
      try transaction.db.run("UPDATE devices SET woken = ?", [Timestamp.at(-60_000).rawValue])
    }
    try await wake()
    try await test.write { try $0.db.run("UPDATE devices SET woken = ?", [Timestamp.at(-30_000).rawValue]) }
    try await wake()
    #expect(try await test.read { try $0.queue.nextDue() } == .at(19 * 60_000))
  }

  @Test func `a silent push of a read or deleted message is not sent`() async throws {
    try await wake()
    try await read(1)
    #expect(try await test.claimUpdates().isEmpty)
    try await wake()
    try await test.write { _ = try $0.messages.delete(room, 2) }
    #expect(try await test.claimUpdates().isEmpty)
  }

  @Test func `a deleted device gets no updates`() async throws {
    try await show()
    try await edit("new")
    try await test.write { _ = try $0.devices.forget(phone().id, of: bob.id) }
    #expect(try await test.claimUpdates().isEmpty)
  }

  @Test func `an update that is being sent when the relay ends is sent by the next run`() async throws {
    try await show()
    try await edit("new")
    let first = try await test.claimUpdates()
    try await test.write { try $0.queue.releaseLeases() }
    let second = try await test.claimUpdates()
    #expect(first.map(\.id) == second.map(\.id))
    #expect(second.map(\.attempts) == [2])
    let id = try #require(second.first?.id)
    try await test.write { try $0.updates.retry(id, due: .at(500)) }
    #expect(try await test.claimUpdates(at: .at(499)).isEmpty)
    #expect(try await test.claimUpdates(at: .at(500)).map(\.attempts) == [3])
  }

  @Test func `an attempt that the gateway did not make does not count`() async throws {
    try await show()
    try await edit("new")
    for number in 0..<30 as Range<Int64> {
      let claims = try await test.claimUpdates(at: .at(number))
      #expect(claims.map(\.attempts) == [1])
      #expect(claims.map(\.created) == [.at(0)])
      try await test.write { try $0.updates.retry(claims[0].id, due: .at(number + 1), wasTried: false) }
    }
  }

  @Test func `a newer update counts its attempts from zero`() async throws {
    try await show()
    try await edit("new")
    let id = try #require(try await test.claimUpdates().first?.id)
    try await test.write { try $0.updates.retry(id, due: .at(0)) }
    try await edit("newer")
    #expect(try await test.claimUpdates().map(\.attempts) == [1])
  }

  @Test func `updates of a full lane do not delay those of another`() async throws {
    try await show()
    let other = Device(id: DeviceID(unchecked: "other"), app: "x", platform: .apns, token: "apple")
    try await test.write { transaction in
      try transaction.devices.register(other, of: bob.id, now: .at(0))
      _ = try transaction.messages.append(draft("two", jobs: [job(to: bob, other)]))
      let claims = try transaction.queue.claim(limit: 9, now: .at(0), leaseUntil: .at(60_000))
      try transaction.queue.finish(claims[0].id, state: .sent, now: .at(0))
      _ = try transaction.messages.edit(room, 1, body: Array("1".utf8))
      _ = try transaction.messages.edit(room, 2, body: Array("2".utf8))
    }
    let full = [Lane(of: phone()).forUpdates: 0]
    #expect(try await test.read { try $0.queue.nextDue(capacity: full) } == .at(0))
    let claimed = try await test.write {
      try $0.updates.claim(limit: 9, now: .at(0), leaseUntil: .at(60_000), capacity: full).map(\.device.id)
    }
    #expect(claimed == [other.id])
    #expect(try await test.read { try $0.queue.nextDue(capacity: full) } == .at(60_000))
    #expect(try await test.claimUpdates().map(\.device.id) == [phone().id])
  }

  /// Sends messages that Bob's phone shows. The first ones are deleted, and the others are edited.
  private func change(deleting deletions: Int, editing edits: Int) async throws {
    try await test.write { transaction in
      try transaction.prepareRoom()
      for number in 1...deletions + edits {
        let seq = try transaction.messages.append(draft("\(number)", jobs: [job()])).seq
        let claim = try #require(try transaction.queue.claim(limit: 1, now: .at(0), leaseUntil: .at(60_000)).first)
        try transaction.queue.finish(claim.id, state: .sent, now: .at(0))
        if number <= deletions {
          _ = try transaction.messages.delete(room, seq)
        } else {
          _ = try transaction.messages.edit(room, seq, body: Array("\"new\"".utf8))
        }
      }
    }
  }

  @Test func `a device has a maximum of updates, and a dropped deletion becomes a removal`() async throws {
    let count = UpdateQueue.maxUpdates + 5
    try await change(deleting: count, editing: count)
    let claims = try await test.write { try $0.updates.claim(limit: 999, now: .at(0), leaseUntil: .at(60_000)) }
    let texts = claims.compactMap {
      if case .change(let text, let shown) = $0.content { (text, shown.message.seq) } else { nil }
    }
    // The oldest were dropped.
    #expect(texts.allSatisfy { $0.0 == .current })
    #expect(texts.map(\.1).sorted() == Array(Int64(count + 6)...Int64(2 * count)))
    #expect(try await removals().count == count)
  }

  @Test func `the oldest updates are dropped, also if the clock was set back`() async throws {
    try await change(deleting: 0, editing: UpdateQueue.maxUpdates)
    test.clocks.pass(.seconds(1))
    test.clocks.set(by: .seconds(-3_600))
    // A new edit renews an update.
    try await edit("newer")
    try await change(deleting: 0, editing: 2)
    let kept = try await test.read {
      try $0.db.all("SELECT seq FROM jobs WHERE kind = 'entry' ORDER BY seq") { $0["seq"] as Int64 }
    }
    #expect(kept.count == UpdateQueue.maxUpdates)
    #expect(Array(kept.prefix(2)) == [1, 4])
  }

  // MARK: Many phones

  private static let phones = (0..<UpdateQueue.maxUpdatesWithChange + UpdateQueue.maxUpdateSlice + 9).map {
    phone("phone\($0)", token: "token\($0)")
  }

  /// Sends a message that many phones of Bob show.
  private func showOnMany() async throws {
    try await test.write { transaction in
      try transaction.prepareRoom()
      for device in Self.phones { try transaction.devices.register(device, of: bob.id, now: .at(0)) }
      _ = try transaction.messages.append(draft(jobs: Self.phones.map { job(to: bob, $0) }))
      for claim in try transaction.queue.claim(limit: 9_999, now: .at(0), leaseUntil: .at(60_000)) {
        try transaction.queue.finish(claim.id, state: .sent, now: .at(0))
      }
    }
  }

  private func stored(_ kind: UpdateKind) async throws -> Int {
    try await test.read { try $0.db.first("SELECT count(*) FROM jobs WHERE kind = ?", [kind.rawValue])?[0] ?? 0 }
  }

  private func storePending() async throws { try await test.write { try $0.updates.storePending() } }

  private func hasPending() async throws -> Bool { try await test.read { try $0.queue.hasPendingUpdates() } }

  @Test func `an edit that many phones show is stored in slices`() async throws {
    try await showOnMany()
    try await edit("new")
    #expect(try await stored(.entry) == UpdateQueue.maxUpdatesWithChange)
    #expect(try await hasPending())
    try await storePending()
    #expect(try await stored(.entry) == UpdateQueue.maxUpdatesWithChange + UpdateQueue.maxUpdateSlice)
    #expect(try await hasPending())
    try await storePending()
    #expect(try await stored(.entry) == Self.phones.count)
    #expect(try await !hasPending())
    try await storePending()
    #expect(try await stored(.entry) == Self.phones.count)
  }

  @Test func `a message that few phones show leaves nothing pending`() async throws {
    try await show()
    try await edit("new")
    #expect(try await !hasPending())
  }

  @Test func `a deletion between two slices of an edit reaches all phones`() async throws {
    try await showOnMany()
    try await edit("new")
    try await storePending()
    try await test.write { _ = try $0.messages.delete(room, 1) }
    while try await hasPending() { try await storePending() }
    #expect(try await stored(.entry) == Self.phones.count)
  }

  @Test func `repeated changes of one message do not delay those of others`() async throws {
    try await showOnMany()
    try await test.write { transaction in
      _ = try transaction.messages.append(draft(jobs: Self.phones.map { job(to: bob, $0) }))
      for claim in try transaction.queue.claim(limit: 9_999, now: .at(0), leaseUntil: .at(60_000)) {
        try transaction.queue.finish(claim.id, state: .sent, now: .at(0))
      }
    }
    try await edit("new")
    try await test.write { _ = try $0.messages.delete(room, 2) }
    try await edit("newer")
    try await storePending()
    #expect(try await stored(.entry) == 2 * UpdateQueue.maxUpdatesWithChange + UpdateQueue.maxUpdateSlice)
    while try await hasPending() { try await storePending() }
    #expect(try await stored(.entry) == 2 * Self.phones.count)
  }

  @Test func `a pending change of a deleted message ends`() async throws {
    try await showOnMany()
    try await edit("new")
    try await test.write { transaction in
      try transaction.db.run("DELETE FROM messages")
      try transaction.updates.storePending()
    }
    #expect(try await !hasPending())
  }

  @Test func `a token for calls is deleted alone, and only if it is old enough`() async throws {
    var device = phone()
    device.voipToken = "calls"
    try await test.write { [device] in try $0.devices.register(device, of: bob.id, now: .at(5)) }
    let early = try await test.write {
      try $0.devices.forget(voipToken: "calls", platform: .simulator, registeredBefore: .at(5))
    }
    #expect(early == .none)
    let forgotten = try await test.write {
      try $0.devices.forget(voipToken: "calls", platform: .simulator, registeredBefore: .at(6))
    }
    #expect(forgotten == .forgotten(of: [bob.id]))
    #expect(try await test.read { try $0.people.user(bob.id)?.devices } == [phone().registered(at: .at(5))])
  }
}
