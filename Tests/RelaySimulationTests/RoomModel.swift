// SPDX-License-Identifier: Apache-2.0
import RelayProtocol

/// The expected members, bans and calls of a room. This second implementation follows the protocol.
struct RoomModel: Hashable, Sendable {
  struct Member: Hashable, Sendable {
    var role: RoomRole
    let joined: Timestamp
  }

  struct Ban: Hashable, Sendable {
    /// Is `nil` without an end.
    let until: Timestamp?

    func isActive(at now: Timestamp) -> Bool { until.map { now < $0 } ?? true }
  }

  /// True for a group that a `create` has made.
  var isOwned = false
  /// True if the room had a message before the events. Without one it ends with its last member.
  var hasMessages = false
  var members: [UserID: Member] = [:]
  var bans: [UserID: Ban] = [:]
  /// The calls by the seq of their messages.
  var calls: [Int64: CallModel] = [:]

  /// Other calls of a user who leaves end when their time is over.
  private static let maxExclusions = 16

  var exists: Bool { hasMessages || !members.isEmpty }

  private var needsOwner: Bool { isOwned && !members.values.contains { $0.role == .owner } }

  func role(of user: UserID) -> RoomRole { members[user]?.role ?? .member }

  /// True if the members, the roles and the present bans are the same.
  func isGoverned(like other: RoomModel, at now: Timestamp) -> Bool {
    isOwned == other.isOwned && members == other.members
      && bans.filter { $1.isActive(at: now) } == other.bans.filter { $1.isActive(at: now) }
  }

  /// True if the time of a call is over.
  func isDue(at now: Timestamp) -> Bool {
    calls.values.contains { $0.due.map { $0 <= now } ?? false }
  }

  /// The call that is `back` calls before the newest one.
  func seq(back: Int) -> Int64? { calls.keys.sorted(by: >).dropFirst(back).first }

  // MARK: Events

  /// The states after an event. There is none if the reply is wrong now, and several if two members have the same right
  /// to become the owner.
  func after(_ event: RoomEvent, at now: Timestamp) -> [RoomModel] {
    var next = self
    switch event {
    case .create(let user, let reply):
      guard reply.fits(exists ? .refused("conflict") : .done) else { return [] }
      guard !exists else { return [self] }
      next.isOwned = true
      next.admit(user, at: now)
    case .join(let user, let reply):
      let isBanned = members[user] == nil && bans[user]?.isActive(at: now) == true
      guard reply.fits(isBanned ? .refused("forbidden") : .done) else { return [] }
      if !isBanned { next.admit(user, at: now) }
    case .leave(let user): return without(user, at: now)
    case .govern(let request, let user, let isBlocked, let reply):
      let code = refusal(of: request, by: user)
      guard reply.fits(code.map(RoomReply.refused) ?? .done) else { return [] }
      // The relay only invites a user who has blocked the caller, and the user sees nothing of it.
      let isHidden = if case .add(let other) = request { isBlocked && members[other] == nil } else { false }
      return code == nil && !isHidden ? after(request, at: now) : [self]
    case .begin(let seq, let call):
      // While a call rings, a message begins no other one.
      if !calls.values.contains(where: { $0.state == .ringing }) { next.calls[seq] = call }
    case .call(let action, let seq, let user, let reply):
      guard next.perform(action, seq, by: user, reply, at: now) else { return [] }
    case .delete(let seq, let user):
      if calls[seq]?.caller == user || role(of: user) >= .moderator {
        next.calls[seq]?.delete(at: now)
      }
    case .expire(let time):
      for seq in calls.keys { next.calls[seq]?.age(time) }
    }
    return [next]
  }

  // MARK: Members

  private mutating func admit(_ user: UserID, at now: Timestamp) {
    guard members[user] == nil else { return }
    members[user] = Member(role: needsOwner ? .owner : .member, joined: now)
  }

  private func without(_ user: UserID, at now: Timestamp) -> [RoomModel] {
    var next = self
    guard next.members.removeValue(forKey: user) != nil else { return [self] }
    let open = calls.filter { $0.value.concerns(user, at: now) }
      .sorted { ($1.value.ringUntil, $0.key) < ($0.value.ringUntil, $1.key) }
    for (seq, _) in open.prefix(Self.maxExclusions) {
      next.calls[seq]?.exclude(user, among: Set(next.members.keys), at: now)
    }
    guard next.exists else { return [RoomModel()] }
    guard next.needsOwner, let first = next.members.values.map(\.joined).min() else {
      return [next]
    }
    return next.members.filter { $0.value.joined == first }.keys.map { successor in
      var owned = next
      owned.members[successor]?.role = .owner
      return owned
    }
  }

  /// The code of the error. Is `nil` without one.
  private func refusal(of request: Governance, by actor: UserID) -> String? {
    switch request {
    case .add: return role(of: actor) >= .moderator ? nil : "forbidden"
    case .remove(let user), .ban(let user, _):
      guard role(of: actor) >= .moderator else { return "forbidden" }
      // An owner removes all but owners, and a moderator only members.
      return members[user] == nil || role(of: user) < role(of: actor) ? nil : "forbidden"
    case .role(let user, let role):
      guard members[actor] != nil else { return "not_joined" }
      guard self.role(of: actor) == .owner else { return "forbidden" }
      guard members[user] != nil else { return "not_found" }
      let owners = members.filter { $0.value.role == .owner }.keys
      return role != .owner && owners.elementsEqual([user]) ? "conflict" : nil
    }
  }

  /// The states after a request that is not refused.
  private func after(_ request: Governance, at now: Timestamp) -> [RoomModel] {
    var next = self
    switch request {
    case .add(let user):
      if members[user] == nil { next.bans[user] = nil }
      next.admit(user, at: now)
    case .remove(let user): return without(user, at: now)
    case .ban(let user, let duration):
      next.bans[user] = Ban(until: duration.map { now + $0 })
      return next.without(user, at: now)
    case .role(let user, let role): next.members[user]?.role = role
    }
    return [next]
  }

  // MARK: Calls

  /// Returns false if the reply is wrong now.
  private mutating func perform(
    _ action: Call.Action, _ seq: Int64, by user: UserID, _ reply: RoomReply, at now: Timestamp
  ) -> Bool {
    guard members[user] != nil else { return reply.fits(.refused("not_joined")) }
    guard var call = calls[seq] else { return reply.fits(.refused("not_found")) }
    // A call whose time is over has ended for every request, also before the relay ends it.
    call.age(now)
    let before = call
    let code = call.perform(action, by: user, among: Set(members.keys), at: now)
    guard
      reply.fits(code.map(RoomReply.refused) ?? .call(call.state, call.parts.mapValues(\.state)))
    else { return false }
    if call != before { calls[seq] = call }
    return true
  }
}
