// SPDX-License-Identifier: Apache-2.0
import RelayDelivery
package import RelayHub
package import RelayJSON
package import RelayProtocol
package import RelayRequests
package import RelayStore

/// Decides which users a request invites instead of adding them, limits the new people of a user, and sends the events
/// and pushes of invitations. The store keeps the invitations.
///
/// The state is private. The relay creates one object, and the methods run on the hub's thread.
package final class Invitations: Follower {
  /// The people whom each user has invited within a day.
  private var newPeople = DailyCounts<UserID>()
  private var pace = InvitationPace()
  /// The sessions that have got the event of an invitation whose push is not decided yet, each with the number of its
  /// confirmation. By the id of the invitation.
  private var shown: [Int64: [SessionHandle: Int64]] = [:]
  /// The newest confirmations of these sessions.
  private var confirmed: [SessionHandle: Int64] = [:]
  private let uninvited: Uninvited
  private let memory: RoomMemory
  private let recipients: Recipients
  private let people: People
  private let zones: Zones

  package init(_ memory: RoomMemory, _ people: People) {
    (self.memory, self.people) = (memory, people)
    (recipients, zones, uninvited) = (people.recipients, people.zones, people.uninvited)
  }

  /// The number of undecided invitations that one read returns at the start.
  private static let page = 100

  /// Decides the pushes that an earlier run has left undecided.
  package func load(on core: isolated Core) async throws {
    var last: Int64 = 0
    while true {
      let open = try await core.store.read { [last] in try $0.invitations.undecided(after: last, limit: Self.page) }
      for undecided in open { push(undecided, on: core) }
      guard open.count == Self.page, let next = open.last?.invitation.id else { return }
      last = next
    }
  }

  // MARK: People to invite

  /// Calls `body` with the people whom the caller invites and does not add. Counts the new invitations as new people of
  /// the caller.
  ///
  /// Throws `rate_limited` above `newPeoplePerDay`, and `too_large` if the request alone exceeds this limit.
  /// - Parameters:
  ///   - user: The caller. Is `nil` for a backend, which invites nobody.
  ///   - count: The number of new invitations in a result.
  ///   - repeated: Returns the result of an earlier request that this one repeats. If the limit is exceeded, the
  ///     request returns this result instead of an error.
  package func inviting<T>(
    _ others: [UserID], to room: RoomID, by user: UserID?, on core: isolated Core,
    count: (T) -> Int, repeated: nonisolated(nonsending) () async throws -> T? = { nil },
    _ body: nonisolated(nonsending) (Set<UserID>) async throws -> T
  ) async throws -> T {
    let policy = core.settings.invitations
    guard let user, !others.isEmpty, policy != .none else { return try await body([]) }
    let strangers = try await core.store.read {
      try $0.invitations.strangers(to: user, among: others, policy, in: room)
    }
    let taken = strangers.new.count
    do {
      try take(taken, of: user, on: core)
    } catch {
      guard let result = try await repeated() else { throw error }
      return result
    }
    do {
      let result = try await body(strangers.all)
      newPeople.giveBack(max(0, taken - count(result)), of: user)
      return result
    } catch {
      newPeople.giveBack(taken, of: user)
      throw error
    }
  }

  private func take(_ count: Int, of user: UserID, on core: isolated Core) throws(RequestError) {
    let limit = core.limits.newPeoplePerDay
    guard limit > 0, count > 0 else { return }
    guard count <= limit else { throw RequestError(.tooLarge, Self.exceeded) }
    if let delay = newPeople.take(count, of: user, limit: limit, at: .now) {
      throw RequestError(.rateLimited, Self.exceeded, retryAfter: delay)
    }
  }

  private static let exceeded = "the limit `newPeoplePerDay` is exceeded"

  // MARK: Number

  /// The number of open invitations of a user in memory.
  package func count(of user: UserHandle, named name: UserID, on core: isolated Core) async throws -> Int {
    guard !uninvited.contains(user) else { return 0 }
    let madeCount = uninvited.madeCount
    let count = try await core.store.read { try $0.invitations.count(of: name) }
    if count == 0 { uninvited.insert(user, readAt: madeCount) }
    return count
  }

  /// Forgets a user that the hub has removed from memory.
  package func forget(_ user: UserHandle) { uninvited.forget(user) }

  // MARK: Changes

  /// Ends an invitation because its user refuses it.
  package func decline(_ room: RoomID, by user: UserID, on core: isolated Core) async throws {
    // Without an invitation nothing is written, and no load of a room begins again.
    guard try await core.store.read({ try $0.invitations.isInvited(user, to: room) }) else { return }
    _ = try await end(in: room, on: core) { try $0.invitations.decline(room, by: user) }
  }

  /// Ends an invitation that `inviter` has made. Returns false if there is none.
  package func withdraw(_ user: UserID, from room: RoomID, by inviter: UserID, on core: isolated Core) async throws
    -> Bool
  {
    let isOwn = try await core.store.read { try $0.invitations.hasInvited(user, to: room, inviter) }
    guard isOwn else { return false }
    let changes = try await end(in: room, on: core) { try $0.invitations.withdraw(user, from: room, by: inviter) }
    return !changes.ended.isEmpty
  }

  /// Ends the invitation of a user to a room. The room may be deleted with it.
  private func end(
    in room: RoomID, on core: isolated Core, _ work: @escaping @Sendable (Transaction) throws -> InvitationChanges
  ) async throws -> InvitationChanges {
    memory.beginDeletion(of: room)
    return try await core.commit(rows: 8, work) { [self] result in
      memory.endDeletion(of: room)
      return (try? result.get()).map { .effects(of: $0) } ?? []
    }
  }

  /// Ends the invitations of users whose names nobody has used in time.
  package func expire(on core: isolated Core) async throws {
    while core.stage != .stopping {
      let expired = try await core.commit(rows: 4 * InvitationWriter.maxSlice) {
        try $0.invitations.expire()
      } then: { result in
        (try? result.get()).map { .effects(of: $0.changes) } ?? []
      }
      guard expired.more else { return }
    }
  }

  package func follow(_ change: Change, on core: isolated Core) {
    guard case .invitations(let changes) = change else { return }
    for made in changes.made {
      guard let invitation = made.invitation else { continue }
      core.diagnostics.tally.countInvitation()
      uninvited.invited(core.hub.user(made.user))
      show(invitation, to: made.user, on: core)
      push(UndecidedInvitation(user: made.user, invitation: invitation), on: core)
    }
    for ended in changes.ended {
      guard !ended.isHidden else { continue }
      core.diagnostics.tally.count(ended.cause)
      if let user = core.hub.user(ended.user) { core.hub.push(Replies.invitation(ended), to: user) }
    }
  }

  // MARK: Sessions

  private func show(_ invitation: Invitation, to user: UserID, on core: isolated Core) {
    guard let handle = core.hub.user(user) else { return }
    let event = Replies.invitation(invitation)
    for session in core.hub.sessions(of: handle) {
      core.hub.push(event, to: session)
      guard core.hub.notifyEnd(of: session), let number = core.hub.confirm(session) else { continue }
      shown[invitation.id, default: [:]][session] = number
      if confirmed[session] == nil { confirmed[session] = 0 }
    }
  }

  /// Records that a session has received all frames before the ping with this number.
  package func confirm(_ session: SessionHandle, upTo number: Int64) {
    if confirmed[session] != nil { confirmed[session] = number }
  }

  package func forget(_ session: SessionHandle) { confirmed[session] = nil }

  /// The sessions of the user. Those that have connected after the invitation know it from `welcome`.
  private func sessions(
    of user: UserHandle, knowing invitation: Invitation, on core: isolated Core
  ) -> [SessionFacts] {
    core.hub.sessions(of: user).compactMap { session in
      guard let activity = core.hub.facts(of: session)?.activity else { return nil }
      let number = shown[invitation.id]?[session] ?? 0
      return SessionFacts(
        activity: activity, writing: .written(at: invitation.time),
        hasReceived: number <= (confirmed[session] ?? 0))
    }
  }

  // MARK: Pushes

  /// Decides the push of an invitation. While a session may still receive the invitation, the decision waits.
  private func push(_ undecided: UndecidedInvitation, on core: isolated Core) {
    Task {
      defer { shown[undecided.invitation.id] = nil }
      await core.retrySlices {
        guard let pause = try await decide(undecided, on: core) else { return false }
        try? await Task.sleep(for: pause)
        return true
      }
    }
  }

  /// - Returns: The time after which the push is decided again. Is `nil` if it is decided.
  private func decide(_ undecided: UndecidedInvitation, on core: isolated Core) async throws -> Duration? {
    let (user, invitation) = (undecided.user, undecided.invitation)
    return try await people.withUser(user, on: core) { handle in
      let now = core.hub.now
      let request = PushRequest.invitation
      let recipient = recipients[handle]
      var membership = Membership.absent
      membership.sessions = sessions(of: handle, knowing: invitation, on: core)
      if membership.sessions.isEmpty, core.hub.isOnline(handle) {
        // The user has just lost the connection, or is expected back after a start of the relay.
        membership.away = AwayFacts(since: now, isClean: false)
      }
      membership.isInvitedTooOften = pace.isExceeded(by: invitation.inviter.id, to: user, at: .now)
      let room = RoomID.notifications(of: user)
      let message = PlanMessage(
        MessageTraits(from: invitation.inviter.id, push: request), in: room,
        at: core.settings.policy.time(ofStored: invitation.time, now: now))
      let member = PlanMember(
        user, recipient, as: membership, quietHours: zones.quietHours(of: recipient, at: now))
      let decisions = core.settings.planner.decisions(about: message, for: member, now: now)
      for decision in decisions { core.diagnostics.tally.count(decision.outcome) }
      for case .wait(let end) in decisions.map(\.outcome) { return max(end - now, .milliseconds(10)) }
      let pushes = decisions.compactMap(\.push)
      let draft = MessageDraft(
        room: room, from: User(id: invitation.inviter.id), time: message.facts.time,
        body: invitation.pushBody, push: request, isCounted: false, jobs: pushes, cursorFollows: true,
        retention: RoomPolicy.notifications.history)
      let epoch = RoomMemory.newEpoch()
      // Before the write, so that the decisions of other invitations count the push.
      if !pushes.isEmpty { pace.pushed(by: invitation.inviter.id, to: user, at: .now) }
      var isStored = false
      defer { if !isStored, !pushes.isEmpty { pace.failed(by: invitation.inviter.id, to: user) } }
      isStored = try await core.store.write(rows: 2 + pushes.count) { transaction in
        try transaction.invitations.decide(
          invitation.id, posting: pushes.isEmpty ? nil : draft, epoch: epoch)
      }
      guard isStored, !pushes.isEmpty else { return nil }
      core.publish(.pushed(heldUntil: decisions.compactMap(\.explanation.decision.holdEnd).min()))
      return nil
    }
  }
}

extension PushRequest {
  /// The push of an invitation: it does not name its inviter as the sender of a message, and leaves the badge.
  package static let invitation = {
    var request = PushRequest(kind: .invitation, isUrgentAllowed: false)
    request.style.badge = .unchanged
    request.style.isCommunication = false
    return request
  }()
}

extension Invitation {
  /// The body of the notification, from which the payload has its text. It has nothing that the inviter has written in
  /// the room.
  var pushBody: [UInt8] {
    JSONWriter.object {
      $0["room"] = room.rawValue
      $0["kind"] = details.kind.rawValue
      $0["title"] = details.title
    }
  }

  /// Writes the invitation as an entry of a list.
  package func write(to object: inout JSONWriter.Object) {
    object["room"] = room.rawValue
    object["kind"] = details.kind.rawValue
    object["title"] = details.title
    object["avatar"] = details.avatar
    object.integer("members", memberCount)
    object.object("by") {
      $0["user"] = inviter.id.rawValue
      $0["name"] = inviter.name
      $0["avatar"] = inviter.avatar
    }
    object.integer("time", time.rawValue)
  }
}

extension Replies {
  /// The event `invitation` about a new invitation.
  package static func invitation(_ invitation: Invitation) -> [UInt8] {
    JSONWriter.object {
      $0["type"] = "invitation"
      $0["event"] = "added"
      invitation.write(to: &$0)
    }
  }

  /// The event `invitation` about the end of an invitation.
  package static func invitation(_ ended: EndedInvitation) -> [UInt8] {
    JSONWriter.object {
      $0["type"] = "invitation"
      $0["event"] = "ended"
      $0["room"] = ended.room.rawValue
      $0["cause"] = ended.cause.rawValue
    }
  }
}
