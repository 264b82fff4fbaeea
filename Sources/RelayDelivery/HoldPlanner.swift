// SPDX-License-Identifier: Apache-2.0
public import RelayProtocol

/// Decides the open pushes of one user again, because a fact has changed or a hold is over.
///
/// The caller passes the pushes in pages, the newest page first. All pushes whose hold is over become one digest for
/// each device: the newest push becomes the digest head, and the others are merged into it. The digest heads are
/// decided with the last page, when all of their messages are known.
public struct HoldPlanner: Sendable {
  private let policy: DeliveryPolicy
  private let apps: AppEntitlements
  private let released: Timestamp
  private let merges: Bool
  private var releases = ReleasedDigests()
  private var heads = DigestHeads()
  /// The latest end of the waits of pushes whose hold is over. Is `nil` when no push waits.
  public private(set) var waitsEnd: Timestamp?

  /// - Parameters:
  ///   - released: The time at which the hold of the first waiting push ended. The maximum wait counts from it.
  ///   - merges: False if each push whose hold is over is sent alone.
  public init(
    policy: DeliveryPolicy = DeliveryPolicy(), apps: AppEntitlements = AppEntitlements(), released: Timestamp,
    merges: Bool = true
  ) {
    self.policy = policy
    self.apps = apps
    self.released = released
    self.merges = merges
  }

  /// Decides a page of pushes.
  /// - Parameters:
  ///   - pushes: The newest push first.
  ///   - isLast: True if no page follows.
  public mutating func release(
    _ pushes: [OpenPush], of recipient: HoldRecipient, isLast: Bool, now: Timestamp
  ) -> HoldPlan {
    var plan = HoldPlan()
    var released: [ReleasedPush] = []
    // The oldest push first: a push that leaves its digest head is then not merged into a head that leaves next.
    for push in pushes.reversed() {
      let explanation = explanation(of: push, recipient, now: now)
      switch explanation.decision.outcome {
      case .wait(let end): wait(push, until: end, explanation, &plan)
      case .none(.expired): plan.decisions.append(JobDecision(push.id, .expire, explanation))
      case .none(let reason): plan.decisions.append(JobDecision(push.id, .cancel(reason), explanation))
      case .hold(let end): hold(push, until: end, explanation, &plan)
      case .push where push.isHeldCall:
        plan.decisions.append(JobDecision(push.id, .miss, explanation))
        plan.hasReleases = true
      case .push(let level):
        if let head = push.mergedInto { heads.report(level, to: head) }
        if push.isHeld {
          // A digest that is held again keeps its level, or gets a higher one.
          let level = push.isDigest ? max(level, push.level ?? level) : level
          released.append(ReleasedPush(push: push, level: level, explanation: explanation))
        } else if push.isDigest {
          heads.append(push, level, explanation)
        } else if push.level != level {
          plan.decisions.append(JobDecision(push.id, .push(level), explanation))
        }
      }
    }
    if merges { released = releases.merge(released, &plan) }
    // Digest heads are the last decisions, so that none is sent before the other pushes are merged into it.
    if isLast {
      released += releases.heads
      plan.decisions += heads.decisions
    }
    plan.decisions += released.map { JobDecision($0.push.id, .push($0.level), $0.explanation) }
    if !released.isEmpty { plan.hasReleases = true }
    return plan
  }

  private mutating func wait(
    _ push: OpenPush, until end: Timestamp, _ explanation: Explanation, _ plan: inout HoldPlan
  ) {
    waitsEnd = max(waitsEnd ?? end, end)
    plan.end(at: end)
    if !plan.pings.contains(push.room) { plan.pings.append(push.room) }
    if push.due != end { plan.decisions.append(JobDecision(push.id, .wait(until: end), explanation)) }
  }

  private func hold(_ push: OpenPush, until end: Timestamp, _ explanation: Explanation, _ plan: inout HoldPlan) {
    guard !push.isUnknown else {
      // A push that may already be on the phone is not held again. Its next attempt makes no sound, unless it is a
      // digest, because the messages in it were decided at their own levels.
      if push.level != .passive, !push.isDigest {
        plan.decisions.append(JobDecision(push.id, .push(.passive), explanation))
      }
      return
    }
    plan.end(at: end)
    if !push.isHeld || push.due != end { plan.decisions.append(JobDecision(push.id, .hold(until: end), explanation)) }
  }

  private func explanation(of push: OpenPush, _ recipient: HoldRecipient, now: Timestamp) -> Explanation {
    var facts = facts(of: push, recipient, now: now)
    var decision = decide(facts, policy: policy)
    if push.isHeld, case .push = decision.outcome {
      // The device is not silenced any more, but the recipient may have returned and may still receive the message.
      facts.released = released
      decision = decide(facts, policy: policy)
    }
    return Explanation(decision: decision, facts: facts)
  }

  private func facts(of push: OpenPush, _ hold: HoldRecipient, now: Timestamp) -> DeliveryCase {
    let time = policy.time(ofStored: push.message.time, now: now)
    var message = push.message.traits.facts(at: time, isNotifyAnyway: push.isNotifyAnyway)
    let begin = min(push.message.time, now)
    // The report of a missed call does not expire with the ringing.
    message.expires = push.isHeldCall ? begin + PushRequest.maxLifetime : push.message.traits.push.expires(from: begin)
    var recipient = hold.recipient.facts(
      hold.user, of: push.message.traits, in: push.room, as: hold.membership(for: push, shown: time), now: now)
    // A push whose level the pace has lowered stays below `critical`.
    if message.kind == .message, message.level == .critical, message.isUrgentAllowed,
      let level = push.level, level < .critical
    {
      recipient.isOverCriticalPace = true
    }
    let device = hold.recipient.facts(of: push.device, in: apps, quietHours: hold.quietHours)
    return DeliveryCase(message: message, recipient: recipient, device: device, now: now)
  }
}

/// The user whose pushes are decided again.
public struct HoldRecipient: Sendable {
  public var user: UserID
  public var recipient: Recipient
  /// The quiet hours that are on now.
  public var quietHours: CurrentQuietHours
  /// The rooms of the pushes in which the hub knows the user as a member.
  public var rooms: [RoomID: RoomMember]
  /// The sessions that use `inbox` and show the room of a held push.
  public var inbox: [MessageReference: [SessionFacts]]

  public init(
    _ user: UserID, _ recipient: Recipient, quietHours: CurrentQuietHours = .none, rooms: [RoomID: RoomMember] = [:],
    inbox: [MessageReference: [SessionFacts]] = [:]
  ) {
    self.user = user
    self.recipient = recipient
    self.quietHours = quietHours
    self.rooms = rooms
    self.inbox = inbox
  }

  fileprivate func membership(for push: OpenPush, shown: Timestamp) -> Membership {
    guard !push.room.isNotifications else { return .absent }
    let member = rooms[push.room]
    // The store may not have the newest marks yet.
    let marks = push.marks.map { stored in
      Marks(
        read: max(stored.read, member?.marks.read ?? 0), received: max(stored.received, member?.marks.received ?? 0))
    }
    // Only a held push waits for sessions: the waits of other pushes ended before they were stored.
    var membership = Membership(marks, push.isHeld ? member?.presence : nil, at: push.message.seq, shown: shown)
    if push.isHeld { membership.sessions += inbox[MessageReference(room: push.room, seq: push.message.seq)] ?? [] }
    return membership
  }
}

/// A stored push that is neither finished nor being sent.
public struct OpenPush: Equatable, Sendable {
  public var id: String
  public var room: RoomID
  public var message: MessageHead
  /// The sum of the steps of the wall clock when the push was stored. A caller that moves the time of ``message`` by
  /// later steps uses it.
  public var steps: Duration
  /// The device as it is registered now.
  public var device: Device
  public var isHeld: Bool
  public var due: Timestamp
  public var level: Level?
  /// True if the push may be on the phone already.
  public var isUnknown: Bool
  public var isNotifyAnyway: Bool
  /// True if other pushes are merged into this one, or were. Its level is then that of its most urgent message.
  public var isDigest: Bool
  /// The digest head that reports this push.
  public var mergedInto: String?
  /// Pushes to a device with the same value replace each other on the device. Is `nil` when the push replaces no other
  /// one.
  public var collapse: String?
  /// The recipient's stored marks in the room. Is `nil` when the recipient is no member.
  public var marks: Marks?

  public init(
    id: String, room: RoomID, message: MessageHead, steps: Duration = .zero, device: Device, isHeld: Bool,
    due: Timestamp, level: Level? = nil, isUnknown: Bool = false, isNotifyAnyway: Bool = false, isDigest: Bool = false,
    mergedInto: String? = nil, collapse: String? = nil, marks: Marks? = nil
  ) {
    self.id = id
    self.room = room
    self.message = message
    self.steps = steps
    self.device = device
    self.isHeld = isHeld
    self.due = due
    self.level = level
    self.isUnknown = isUnknown
    self.isNotifyAnyway = isNotifyAnyway
    self.isDigest = isDigest
    self.mergedInto = mergedInto
    self.collapse = collapse
    self.marks = marks
  }
}

extension OpenPush {
  /// True if quiet hours have held the push of a call. It does not ring later: the phone gets a missed call.
  fileprivate var isHeldCall: Bool { isHeld && message.traits.push.kind == .call }
}

/// The decisions about a page of pushes.
public struct HoldPlan: Equatable, Sendable {
  /// The decisions in the order in which they are stored. A push without a decision stays as it is.
  public internal(set) var decisions: [JobDecision] = []
  /// True if a push is sent whose hold is over.
  public internal(set) var hasReleases = false
  /// The earliest time at which a push is decided again. Is `nil` when none is held.
  public internal(set) var nextEnd: Timestamp?
  /// The rooms in which pushes wait for sessions. The relay pings these sessions: a pong shows that a session has
  /// received the message.
  public internal(set) var pings: [RoomID] = []

  fileprivate mutating func end(at time: Timestamp) { nextEnd = min(nextEnd ?? time, time) }
}

/// The decision about a stored push.
public struct JobDecision: Equatable, Sendable {
  public enum Action: Equatable, Sendable {
    /// The push is sent at this level: at once if it was held.
    case push(Level)
    /// A silence holds the push until this time at the latest, and at most ``PlannedPush/maxHold`` after its creation.
    /// Not possible if the push may have reached the phone, or if it notifies anyway.
    case hold(until: Timestamp)
    /// The push stays held, although no silence holds it: the recipient may still receive the message until
    /// this time.
    case wait(until: Timestamp)
    case cancel(Reason.Code)
    /// The push has expired.
    case expire
    /// The call does not ring later. The push ends, and one that reports a missed call follows the end of the ringing.
    case miss
    /// The digest head with this job id reports the message. It should be the push of the newest message. `level` is
    /// the level that this push would have alone. With `nil`, the push keeps its level.
    case merge(into: String, level: Level? = nil)
  }

  /// The id of the push job.
  public let id: String
  public let action: Action
  public let explanation: Explanation

  init(_ id: String, _ action: Action, _ explanation: Explanation) {
    self.id = id
    self.action = action
    self.explanation = explanation
  }
}

/// A push whose hold is over.
private struct ReleasedPush {
  let push: OpenPush
  var level: Level
  let explanation: Explanation

  var target: Target { Target(device: push.device.id, collapse: push.collapse) }
  var order: (Timestamp, RoomID, Int64) { (push.message.time, push.room, push.message.seq) }
}

/// The destination of a digest. Pushes with the same collapse id have a digest of their own. Otherwise one of them
/// would replace the messages of the others on the phone.
private struct Target: Hashable {
  let device: DeviceID
  let collapse: String?
}

/// The digests of all pages.
private struct ReleasedDigests: Sendable {
  /// The digest heads, in the order in which they were found.
  private(set) var heads: [ReleasedPush] = []
  private var indices: [Target: Int] = [:]

  /// Merges pushes into the digest of their device.
  /// - Returns: The pushes that belong to no digest.
  mutating func merge(_ released: [ReleasedPush], _ plan: inout HoldPlan) -> [ReleasedPush] {
    // A digest names rooms, and notifications belong to no room.
    for release in released.sorted(by: { $0.order > $1.order }) where !release.push.room.isNotifications {
      guard let index = indices[release.target] else {
        indices[release.target] = heads.count
        heads.append(release)
        continue
      }
      heads[index].level = max(heads[index].level, release.level)
      plan.decisions.append(
        JobDecision(
          release.push.id, .merge(into: heads[index].push.id, level: release.level), release.explanation))
    }
    return released.filter(\.push.room.isNotifications)
  }
}

/// The digest heads to send. Each has the highest level of the messages in it.
private struct DigestHeads: Sendable {
  private var heads: [(push: OpenPush, level: Level, explanation: Explanation)] = []
  private var maxLevels: [String: Level] = [:]

  mutating func append(_ push: OpenPush, _ level: Level, _ explanation: Explanation) {
    heads.append((push, level, explanation))
  }

  /// Records the level of a push that is merged into a head.
  mutating func report(_ level: Level, to head: String) { maxLevels[head] = max(level, maxLevels[head] ?? level) }

  /// The decisions about the heads whose level has changed.
  var decisions: [JobDecision] {
    heads.compactMap { push, level, explanation in
      let level = max(level, maxLevels[push.id] ?? level)
      return push.level == level ? nil : JobDecision(push.id, .push(level), explanation)
    }
  }
}
