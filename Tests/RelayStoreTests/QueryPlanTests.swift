// SPDX-License-Identifier: Apache-2.0
import GRDB
import RelayDelivery
import RelayProtocol
import Synchronization
import Testing

@testable import RelayStore

/// The query plans of all statements. No statement may scan a table that grows.
@Suite struct QueryPlanTests {
  let test: TestStore
  init() throws { test = try TestStore() }

  /// Runs `work` on the writer. Returns the plan of each statement that it ran, line by line.
  private func plans(_ work: @escaping @Sendable (Transaction) throws -> Void) async throws -> [String: [String]] {
    try await test.write { transaction in
      let seen = Mutex<Set<String>>([])
      transaction.db.trace { event in
        guard case .statement(let statement) = event else { return }
        _ = seen.withLock { $0.insert(statement.sql) }
      }
      try work(transaction)
      transaction.db.trace(nil)
      var plans: [String: [String]] = [:]
      // The other statements are comments of triggers, and savepoints.
      for sql in seen.withLock({ $0 }) where sql.wholeMatch(of: /(?s)(SELECT|WITH|INSERT|UPDATE|DELETE).*/) != nil {
        plans[sql] = try Row.fetchAll(transaction.db, sql: "EXPLAIN QUERY PLAN \(sql)", arguments: nothing(for: sql))
          .map { $0["detail"] }
      }
      return plans
    }
  }

  /// Scans that are intended: partial indexes of unfinished jobs, and the newest rows up to a limit.
  private static let walks: Set<String> = [
    "SCAN jobs USING INDEX jobs_aside", "SCAN jobs USING INDEX jobs_member",
    "SCAN jobs USING INDEX jobs_sending", "SCAN jobs", "SCAN keys USING COVERING INDEX keys_expires",
    // The query of the lanes.
    "SCAN found",
    // The newest reports of a user, up to a limit.
    "SCAN recent",
    // Queries at the start.
    "SCAN rooms", "SCAN responses USING INDEX responses_untold", "SCAN users USING COVERING INDEX users_online",
    "SCAN time_zones",
    // Queries of the first row.
    "SCAN pending_changes", "SCAN pending_changes USING COVERING INDEX sqlite_autoindex_pending_changes_1",
    // The newest pushes of a user, up to a limit.
    "SCAN job",
    // The rows of a page.
    "SCAN page",
    // A parameter with a list.
    "SCAN json_each VIRTUAL TABLE INDEX 1:",
  ]

  @Test func `no statement scans a table`() async throws {
    let plans = try await plans { try $0.tour() }
    #expect(plans.count > 80)
    #expect(Set(plans.values.joined().filter { $0.hasPrefix("SCAN") }) == Self.walks)
    let walksAllJobs = plans.filter { $0.value.contains("SCAN jobs") }.keys
    #expect(walksAllJobs.allSatisfy { $0.hasSuffix("ORDER BY jobs.number DESC LIMIT ?") })
    // SQLite reads a page from its first row to its last.
    let lists = plans.filter { $0.key.hasSuffix("ORDER BY jobs.number DESC LIMIT ?") }
    #expect(lists.count >= 6 && !lists.values.joined().contains { $0.contains("TEMP B-TREE") })
    // Most jobs of a user are finished.
    let walksJobsOfUser = plans.filter { $0.value.contains("SEARCH jobs USING INDEX jobs_user (user=?)") }.keys
    #expect(
      walksJobsOfUser.allSatisfy {
        $0.hasSuffix("ORDER BY jobs.number DESC LIMIT ?")
          || $0.contains("ORDER BY number DESC LIMIT \(4 * UpdateQueue.maxRemoved)")
      })
  }

  @Test func `a message with only a body needs five short statements`() async throws {
    try await test.write { try $0.prepareRoom() }
    let plans = try await plans { _ = try $0.messages.append(draft()) }
    let verbs = plans.keys.map { $0.split(separator: " ").prefix(3).joined(separator: " ") }
    #expect(
      Set(verbs) == [
        "INSERT INTO messages", "UPDATE rooms SET", "UPDATE members SET", "UPDATE inbox SET", "UPDATE activity SET",
      ])
    #expect(verbs.count == 5)
  }
}

/// Returns NULL for every parameter.
private func nothing(for sql: String) -> StatementArguments {
  let numbered = sql.matches(of: /\?(\d+)/).compactMap { Int($0.1) }.max()
  return StatementArguments([DatabaseValue](repeating: .null, count: numbered ?? sql.count { $0 == "?" }))
}

extension Transaction {
  /// Calls every method that reads or writes, with all of its options.
  fileprivate func tour() throws {
    try prepareRoom()
    let tablet = phone("tablet", token: "other")
    try devices.register(tablet, of: bob.id, now: .at(0))
    try devices.register(phone("carols"), of: UserID(unchecked: "carol"), now: .at(0))
    _ = try reader.people.accounts(beside: phone().id, of: bob.id)
    try devices.addReportKey(hash: [1], for: tablet.id, of: bob.id)
    _ = try reader.people.ownerOfReportKey(hash: [1])
    _ = try reader.queue.isPush("none", to: tablet.id, of: bob.id)
    _ = try devices.revokeReportKeys(of: tablet.id, of: bob.id)
    try devices.revokeReportKeys(of: bob.id)
    try writePeople()
    try writeMessages(tablet)
    try writeRooms()
    try writeJobs(tablet)
    try writeUpdates()
    try writeResponses()
    try writeAudit()
    try read()
    try end()
  }

  private func writePeople() throws {
    var preferences = Preferences()
    preferences.onFocus = .hold
    try people.save(preferences, of: bob.id)
    try people.block(alice.id, by: bob.id)
    try people.unblock(alice.id, by: bob.id)
    try people.save(
      FocusRecord(
        device: .default, isFocused: true, authorization: .authorized, at: .at(0), number: 1, source: nil,
        received: .at(0)), of: bob.id)
    try people.save(
      FilterRecord(device: .default, isActive: true, allow: ["a"], at: .at(0), number: nil, received: .at(0)),
      of: bob.id)
    try timeZones.save([1], of: "Europe/Berlin")
    _ = try reader.timeZones.files()
    try people.touch(bob.id, lastSeen: .at(1))
    try people.savePresence(of: bob.id, lastSeen: .at(1), activity: .active)
    _ = try reader.people.onlineCount()
    _ = try reader.people.online(after: 0, limit: 1)
    try people.saveOffline([bob.id])
    try people.rename(User(id: bob.id, name: "Bobby"))
    _ = try rooms.join(
      bob, room: room, epoch: "e", now: .at(0), within: MembershipBounds(membersPerRoom: 9, roomsPerUser: 9))
    _ = try rooms.join(
      User(id: UserID(unchecked: "carol")), room: room, epoch: "e", now: .at(0),
      within: MembershipBounds(membersPerRoom: 9, roomsPerUser: 9))
    try rooms.mark(room, bob.id, read: 0, received: 0)
    try people.withdraw(from: [room], bob.id)
    try people.withdraw(from: [], bob.id)
    try people.save(grants: [1], of: bob.id)
  }

  private func writeRooms() throws {
    let made = RoomID(unchecked: "made")
    let group = RoomDraft(
      room: made, epoch: "e", details: RoomDetails(), creator: alice, members: [bob.id], key: "key")
    for _ in 1...2 { _ = try rooms.make(group) }
    let direct = RoomDraft(
      room: RoomID(unchecked: "direct"), epoch: "e", details: RoomDetails(kind: .direct), creator: alice,
      members: [bob.id])
    for _ in 1...2 { _ = try rooms.makeDirect(direct) }
    _ = try reader.rooms.direct(of: alice.id, bob.id)
    _ = try rooms.update(made, RoomChange(title: "Tea"), by: .user(alice.id, moderates: false), version: 1)
    _ = try rooms.remove(bob.id, from: made, by: .user(alice.id, moderates: false), ban: RoomBan())
    _ = try rooms.add(bob, to: made, by: .backend, now: .at(0), within: MembershipBounds())
    try rooms.setRole(.moderator, of: bob.id, in: made, by: .backend)
    for until in [.at(9), nil] as [Timestamp?] {
      try rooms.restrict(bob.id, in: made, by: .user(alice.id, moderates: false), until: until)
    }
    _ = try rooms.end(alice.id, made)
    _ = try messages.append(draft(in: made, key: "key", jobs: [job()]))
    try writeReports(MessageReference(room: made, seq: 1))
    try writeInvitations(to: made)
    try rooms.delete(made, by: .backend)
    while try rooms.sweepDeleted() {}
  }

  private func writeInvitations(to room: RoomID) throws {
    let carol = User(id: UserID(unchecked: "carol"))
    let inviter = RoomActor.user(bob.id, moderates: true)
    for policy in InvitationPolicy.allCases {
      _ = try reader.invitations.strangers(to: bob.id, among: [carol.id], policy, in: room)
    }
    func invite() throws {
      _ = try rooms.add(carol, to: room, by: inviter, now: .at(0), within: .init(invitations: 9), invites: true)
    }
    try invite()
    let open = try reader.invitations.undecided(after: 0, limit: 9)
    let push = draft(in: .notifications(of: carol.id), jobs: [job(to: carol, phone("carols"))])
    _ = try invitations.decide(open[0].invitation.id, posting: push, epoch: "e")
    _ = try reader.invitations.page(of: carol.id, limit: 9)
    _ = try reader.invitations.count(of: carol.id)
    _ = try reader.invitations.hasInvited(carol.id, to: room, bob.id)
    _ = try reader.invitations.invited(to: room, limit: 9)
    _ = try reader.invitations.users(invitedTo: room)
    _ = try invitations.hide(from: carol.id, by: bob.id, limit: 9)
    _ = try invitations.expire()
    _ = try rooms.remove(carol.id, from: room, by: inviter)
    try invite()
    _ = try invitations.withdraw(carol.id, from: room, by: bob.id)
    try invite()
    _ = try invitations.decline(room, by: carol.id)
    try invite()
  }

  private func writeReports(_ message: MessageReference) throws {
    for _ in 1...2 { _ = try reports.add("spam", about: message, by: bob.id) }
    for state in [.resolved, .open] as [MessageReport.State] {
      _ = try reports.end(1, in: message.room, as: state, by: alice.id)
    }
    for room in [message.room, nil] {
      for state in [.open, nil] as [MessageReport.State?] { _ = try reader.reports.page(of: room, state, limit: 9) }
    }
  }

  private func writeMessages(_ tablet: Device) throws {
    for number in 1...70 {
      _ = try messages.append(
        MessageDraft(
          room: room, from: alice, time: .at(0), body: Array("1".utf8), mentions: [bob.id], replyTo: 1,
          push: PushRequest("{}"), reports: true, silenced: [bob.id], key: "key\(number)",
          jobs: number > 60 ? [job(), job(tablet)] : [], cursorFollows: true, retention: Retention(count: 5)))
    }
    _ = try messages.append(draft())
    var reply = draft()
    (reply.replyTo, reply.quoting) = (71, .preview)
    _ = try messages.append(reply)
    _ = try messages.post(draft(in: .notifications(of: bob.id), jobs: [job()], cursorFollows: true), epoch: "e")
    _ = try messages.edit(room, 69, by: alice.id, body: [])
    _ = try messages.react(room, 69, "x", by: alice.id)
    _ = try messages.react(room, 69, "x", by: alice.id)
    _ = try messages.unreact(room, 69, "x", by: alice.id)
    for _ in 1...2 { _ = try messages.pin(room, 69, by: .backend) }
    _ = try reader.messages.pins(of: room)
    _ = try messages.unpin(room, 69, by: .backend)
    _ = try messages.delete(room, 70, moderator: bob.id)
    try db.run("INSERT INTO pending_changes (room, seq, user, device) VALUES (1, 69, 0, '')")
    try updates.storePending()
    _ = try reader.queue.hasPendingUpdates()
    _ = try reader.messages.changes(room, upTo: 70, limit: 9, maxBytes: 99)
    _ = try reader.messages.changes(room, upTo: 70, after: 0, limit: 9, maxBytes: 99)
    try rooms.advanceCursor(room, to: 71)
    _ = try messages.trim(room, to: Retention(count: 4, age: .seconds(1)), maxDeleted: 2)
  }

  private func writeJobs(_ tablet: Device) throws {
    let claims = try queue.claim(limit: 9, now: .at(1), leaseUntil: .at(2))
    try queue.note([PushAttempt(time: .at(1), status: 500)], of: claims[0].id)
    try queue.retry(claims[0].id, due: .at(1))
    try queue.releaseLeases()
    try people.noteChange(of: bob.id)
    _ = try reader.queue.changedUsers(after: nil, limit: 9)
    let open = try reader.queue.openJobs(of: bob.id).jobs.filter { $0.device.id == tablet.id && !$0.isUnknown }.map(
      \.id)
    try queue.decide(open[0], .hold(until: .at(9)))
    try queue.decide(open[1], .merge(into: open[0]))
    try queue.decide(open[2], .merge(into: open[0]))
    try queue.decide(open[0], .push(.active), explanation: "{}")
    _ = try queue.cancel(room, bob.id, upTo: 62, reason: "read")
    let other = try queue.claim(limit: 9, now: .at(3), leaseUntil: .at(4))
    for claim in other { try queue.finish(claim.id, state: .sent, now: .at(3)) }
    try queue.decide(open[0], .cancel(.read))
    try queue.decide(open[1], .hold(until: .at(9)))
    _ = try silenced.notify(room, 69, by: alice.id, users: [bob.id])
    var anyway = job()
    anyway.explanation.facts.message.isNotifyAnyway = true
    try queue.insert([anyway], room: room, seq: 69)
    for claim in try queue.claim(limit: 9, now: .at(3), leaseUntil: .at(4)) {
      try queue.finish(claim.id, state: .expired, now: .at(3))
    }
  }

  /// A phone shows two messages. One is edited, and then the sender is blocked, or both are read.
  private func writeUpdates() throws {
    func update() throws -> [Claim] { try updates.claim(limit: 9, now: .at(3), leaseUntil: .at(4)) }
    for _ in 1...2 {
      let seq = try messages.append(draft(jobs: [job()])).seq
      for claim in try queue.claim(limit: 9, now: .at(3), leaseUntil: .at(4)) {
        try queue.finish(claim.id, state: .sent, now: .at(3))
      }
      _ = try messages.edit(room, seq, body: Array("2".utf8))
      try updates.endSilence(of: bob.id)
      for claim in try update() { try updates.finish(claim) }
      try updates.read(room, bob.id, upTo: seq)
      try rooms.mark(room, bob.id, read: seq)
      try updates.alive(phone().id, of: bob.id)
      for claim in try update() { try updates.retry(claim.id, due: .at(3)) }
      for claim in try update() { try updates.finish(claim) }
      try updates.alive(phone().id, of: bob.id)
    }
    try people.block(alice.id, by: bob.id)
    try people.unblock(alice.id, by: bob.id)
    _ = try reader.queue.hasSilencedUpdates(of: bob.id)
    _ = try updates.purgeRemovals()
  }

  private func writeResponses() throws {
    _ = try responses.setCategories(Array("[]".utf8), replacing: nil)
    let id = try messages.append(
      MessageDraft(
        room: room, from: alice, time: .at(0), body: Array("1".utf8),
        push: PushRequest(#"{"kind":"call","category":"call"}"#), jobs: [job()])
    ).jobs[0]
    _ = try reader.responses.notification(id, of: bob.id)
    let responded = try responses.respond(ResponseDraft(notification: id, user: bob.id, action: .open))
    var reply = draft(from: bob)
    reply.response = ResponseDraft(notification: id, user: bob.id, action: ActionID(unchecked: "reply"), text: "hi")
    _ = try messages.append(reply)
    _ = try reader.responses.responses(to: alice.id, after: 0, limit: 9)
    _ = try reader.responses.sendersWithResponses()
    _ = try responses.markSent([responded.response.id], to: alice.id)
    try responses.purge()
  }

  private func writeAudit() throws {
    for _ in 1...3 { try addAudit("setRole", [alice.id, bob.id], max: 2) }
    for filter in [
      AuditFilter(), AuditFilter(key: "k"), AuditFilter(operation: "setRole"), AuditFilter(room: room),
      AuditFilter(user: bob.id), AuditFilter(key: "billing", operation: "setRole", room: room, user: bob.id),
    ] {
      for position in [.before(9), .after(0)] as [AuditPosition] {
        _ = try reader.audit.page(filter, position, limit: 9)
      }
    }
    _ = try audit.replace(bob.id, by: UserID(unchecked: "erased-1"), rows: 27)
    _ = try audit.purge(olderThan: .seconds(1), max: 1)
    try addAudit("setRole", [alice.id], time: .at(-9_000))
    _ = try audit.purge(olderThan: .seconds(1), max: 1)
  }

  private func read() throws {
    _ = try reader.rooms.snapshot(room)
    _ = try reader.rooms.isMember(bob.id, of: room)
    _ = try reader.rooms.names(of: bob.id)
    _ = try reader.rooms.members(of: [room], among: [bob.id])
    _ = try reader.rooms.relatedUsers(of: bob.id, among: [alice.id])
    _ = try reader.rooms.undecided()
    _ = try reader.rooms.recentRooms(limit: 9)
    for range in [NameRange(), NameRange(prefix: "t", after: "tea")] {
      _ = try reader.rooms.rooms(in: range, limit: 9)
      _ = try reader.people.users(in: range, limit: 9)
      _ = try reader.people.onlineUsers(after: bob.id, in: range, limit: 9)
    }
    _ = try reader.messages.undecided(in: room)
    _ = try reader.messages.page(room, after: 0, limit: 9)
    _ = try reader.messages.page(room, before: nil, limit: 9)
    _ = try reader.messages.message(room, 69)
    _ = try reader.queue.silenced(room, 69)
    _ = try reader.messages.unread(of: bob.id, now: .at(0))
    _ = try reader.inbox.rooms(of: bob.id, .before(.max), limit: 9, now: .at(0))
    _ = try reader.inbox.rooms(of: bob.id, .after(0), limit: 9, now: .at(0))
    _ = try reader.inbox.isComplete(of: bob.id, since: reader.inbox.position())
    _ = try reader.rooms.aging(after: 0, limit: 9)
    _ = try reader.queue.jobs(of: bob.id, limit: 9)
    _ = try reader.queue.jobs(limit: 9)
    for state in JobState.allCases {
      _ = try reader.queue.jobs(in: state, limit: 9)
      _ = try reader.queue.jobs(in: state, note: "n", limit: 9)
      _ = try reader.queue.jobs(of: bob.id, in: state, after: reader.queue.position(of: ""), limit: 9)
    }
    _ = try reader.queue.jobs(in: .sent, after: JobPosition(number: 9), limit: 9)
    _ = try reader.queue.job("")
    _ = try reader.queue.reported(by: "", limit: 9)
    _ = try reader.queue.nextDue()
    _ = try reader.queue.nextHeldDue()
    _ = try reader.queue.heldUsers(dueBy: .at(99), limit: 9)
    _ = try reader.queue.unfinishedJobs(at: clock.moment)
  }

  private func end() throws {
    let dead = try reader.queue.jobs(limit: 99).first { $0.state == .ready }
    try queue.finish(dead?.id ?? "", state: .dead, now: .at(5))
    _ = try queue.revive(dead?.id ?? "")
    try queue.purge(finishedBefore: .at(99))
    try silenced.purge()
    try reports.purge()
    _ = try devices.forgettingPause(of: "app")
    _ = try devices.forgettingPause(of: nil)
    try devices.forget(token: "other", platform: .simulator, registeredBefore: .at(9))
    try devices.purgeForgotten()
    try devices.forget(phone().id, of: bob.id)
    try rooms.leave(bob.id, room: room)
    try rooms.create(RoomID(unchecked: "empty"), epoch: "e")
    try rooms.forgetIfUnused(RoomID(unchecked: "empty"))
  }
}
