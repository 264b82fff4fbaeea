// SPDX-License-Identifier: Apache-2.0
public import RelayProtocol

/// Plans a message for members of its room: the pushes, the waits, and the reports to the sender.
public struct Planner: Sendable {
  private let policy: DeliveryPolicy
  private let apps: AppEntitlements

  public init(policy: DeliveryPolicy = DeliveryPolicy(), apps: AppEntitlements = AppEntitlements()) {
    self.policy = policy
    self.apps = apps
  }

  /// - Parameter pace: The pace of the sender's notifications to each member. A message that is pushed counts once, and
  ///   so does a call, unless it was counted before: see ``MessageTraits/unrung``.
  public func plan(
    _ message: PlanMessage, for members: some Sequence<PlanMember>, now: Timestamp, pace: inout PushPace
  ) -> Plan {
    var plan = Plan()
    for member in members { add(member, of: message, now: now, pace: &pace, to: &plan) }
    return plan
  }

  /// The decisions about a message for one member: one for each device, and one for a member without a device.
  public func decisions(about message: PlanMessage, for member: PlanMember, now: Timestamp) -> [DeviceDecision] {
    decisions(about: message.facts, for: member, facts(of: member, message, now: now), now: now)
  }

  /// True if the sender of a message receives a report when the result of its push is known. If not, the sender
  /// receives the planned report, or the report that was made with the decision.
  public func reportsResult(of message: PlanMessage, about member: PlanMember, now: Timestamp) -> Bool {
    isReported(member, of: message.facts) && !member.recipient.hidesResult(facts(of: member, message, now: now))
  }

  /// True if the sender of a message receives reports about a member, and not only the planned one.
  private func isReported(_ member: PlanMember, of message: MessageFacts) -> Bool {
    let isPlanned: Bool
    switch member.events {
    case .none: return false
    case .planned(let planned): isPlanned = planned
    case .unplanned: isPlanned = member.recipient.hidesPresence(from: message.sender)
    }
    return !isPlanned || message.hiddenReportDelay(policy) == nil
  }

  private func add(
    _ member: PlanMember, of message: PlanMessage, now: Timestamp, pace: inout PushPace, to plan: inout Plan
  ) {
    var facts = facts(of: member, message, now: now)
    let sender = message.facts.sender
    if message.facts.kind == .call, message.traits.unrung == nil, !pace.admits(.call, from: sender, to: member.user) {
      facts.isOverCallPace = true
    }
    var decisions = decisions(about: message.facts, for: member, facts, now: now)
    if message.facts.kind == .message, decisions.contains(where: { $0.outcome == .push(.critical) }),
      !pace.admits(.critical, from: sender, to: member.user)
    {
      facts.isOverCriticalPace = true
      decisions = self.decisions(about: message.facts, for: member, facts, now: now)
    }
    var pushes: [PlannedPush] = []
    var wait: Timestamp?
    var paced: Timestamp?
    for decision in decisions {
      plan.outcomes.append(decision.outcome)
      switch decision.outcome {
      case .wait(let until): wait = until
      case .push(.critical), .hold: pushes.append(decision.push(due: nil))
      case .push:
        let due = paced ?? pace.due(of: message.facts, to: member.user, now: now)
        paced = due
        pushes.append(decision.push(due: due))
      // The device shows no alert, but the message counts in its badge.
      case .none(.notAllowed) where message.facts.isSilent != true: pushes.append(decision.push(due: nil))
      case .none: break
      }
    }
    if wait == nil {
      switch reportedOutcome(of: message.facts, member, facts, now: now) {
      case .push: plan.reports.append(member.user)
      case .wait(let until): wait = until
      case .hold, .some(.none), nil: break
      }
    }
    plan.pushes += pushes
    if let wait { plan.waits[member.user] = wait }
  }

  private func facts(of member: PlanMember, _ message: PlanMessage, now: Timestamp) -> RecipientFacts {
    member.recipient.facts(
      member.user, of: message.traits, in: message.room, as: member.membership, now: now)
  }

  private func decisions(
    about message: MessageFacts, for member: PlanMember, _ facts: RecipientFacts, now: Timestamp
  ) -> [DeviceDecision] {
    let cases = member.recipient.cases(of: message, for: facts, in: apps, quietHours: member.quietHours, now: now)
    return cases.map { device, facts in
      DeviceDecision(device: device, explanation: Explanation(decision: decide(facts, policy: policy), facts: facts))
    }
  }

  /// The outcome that the sender may learn about a member who hides the result: the outcome of a push to a member with
  /// one device and nothing to hide. Is `nil` when the sender receives no report now, and when the member hides
  /// nothing.
  private func reportedOutcome(
    of message: MessageFacts, _ member: PlanMember, _ facts: RecipientFacts, now: Timestamp
  ) -> Decision.Outcome? {
    guard isReported(member, of: message), member.recipient.hidesResult(facts) else { return nil }
    var shown = facts
    if shown.hasBlockedSender {
      // A blocked sender does not see whether the member is online.
      shown.hasBlockedSender = false
      shown.sessions = []
      shown.away = nil
      shown.hasRead = false
      shown.hasReceivedActively = false
    }
    shown.roomLevel = .all
    let facts = DeliveryCase(message: message, recipient: shown, device: DeviceFacts(), now: now)
    return decide(facts, policy: policy).outcome
  }
}

/// A message that is planned.
public struct PlanMessage: Sendable {
  public let room: RoomID
  public let traits: MessageTraits
  public let facts: MessageFacts

  /// - Parameters:
  ///   - time: The time at which the relay accepted the message.
  ///   - isNotifyAnyway: The sender requests a notification in spite of the recipients' Focus.
  public init(_ traits: MessageTraits, in room: RoomID, at time: Timestamp, isNotifyAnyway: Bool = false) {
    self.room = room
    self.traits = traits
    facts = traits.facts(at: time, isNotifyAnyway: isNotifyAnyway)
  }
}

/// A member of a planned message.
public struct PlanMember: Sendable {
  public var user: UserID
  public var recipient: Recipient
  public var membership: Membership
  /// The quiet hours that are on now.
  public var quietHours: CurrentQuietHours
  public var events: EventPlan

  public init(
    _ user: UserID, _ recipient: Recipient, as membership: Membership, quietHours: CurrentQuietHours = .none,
    events: EventPlan = .none
  ) {
    self.user = user
    self.recipient = recipient
    self.membership = membership
    self.quietHours = quietHours
    self.events = events
  }
}

/// The `delivery` events about one member that the sender of a message receives.
public enum EventPlan: Equatable, Sendable {
  /// The sender receives no events.
  case none
  /// The message has a plan of the events about members who hide their presence. The value is true if the plan
  /// contains this member.
  case planned(Bool)
  /// The message has no such plan. The member's present preferences count.
  case unplanned
}

/// The result of a message for some of the members of its room.
public struct Plan: Equatable, Sendable {
  /// The pushes to store, in the order of the members and of their devices.
  public internal(set) var pushes: [PlannedPush] = []
  /// The members about whom the sender receives the report `pushed` now, because they hide the result.
  public internal(set) var reports: [UserID] = []
  /// The members that have to wait, and the time at which the message is decided for them again.
  public internal(set) var waits: [UserID: Timestamp] = [:]
  /// The outcome of every decision.
  public internal(set) var outcomes: [Decision.Outcome] = []

  public init() {}

  /// The earliest end of a hold. Is `nil` when no push is held.
  public var holdEnd: Timestamp? { pushes.compactMap(\.explanation.decision.holdEnd).min() }
}

/// The decision about a message for one device of a recipient.
public struct DeviceDecision: Equatable, Sendable {
  /// Is `nil` for a recipient without a device.
  public let device: Device?
  public let explanation: Explanation

  public var outcome: Decision.Outcome { explanation.decision.outcome }

  /// The push that follows from the decision. Is `nil` when none follows.
  public var push: PlannedPush? {
    switch outcome {
    case .push, .hold: push(due: nil)
    case .none, .wait: nil
    }
  }

  /// - Parameter due: The earliest time of a push that is not held. Is `nil` when it is sent at once.
  fileprivate func push(due: Timestamp?) -> PlannedPush {
    guard let device else { preconditionFailure("a push was decided for no device") }
    let facts = explanation.facts
    let level: Level
    switch outcome {
    case .push(let decided): level = decided
    case .hold, .none(.notAllowed): level = facts.allowedLevel
    case .none, .wait: preconditionFailure("no push was decided")
    }
    let holdEnd = explanation.decision.holdEnd
    return PlannedPush(
      device: device, level: level, isHeld: holdEnd != nil, due: holdEnd ?? due ?? facts.now, explanation: explanation)
  }
}

/// A push to one device that the relay stores.
public struct PlannedPush: Equatable, Sendable {
  public var device: Device
  /// Is `nil` for the level that the message requests.
  public var level: Level?
  /// True if the relay decides the push again when it is due, or when nothing silences the device any more.
  public var isHeld: Bool
  /// The time at which a hold ends, at most ``maxHold`` from now, or the earliest time of a push that is not held.
  public var due: Timestamp
  public var explanation: Explanation

  public var user: UserID { explanation.facts.recipient.user }
  public var message: MessageFacts { explanation.facts.message }

  /// True if the push shows no alert, and only counts the message in the badge: alerts are off for the app.
  public var isBadgeOnly: Bool { explanation.decision.outcome == .none(.notAllowed) }

  /// The maximum duration of a hold. After it, the relay decides the push again.
  public static let maxHold = Duration.seconds(12 * 3600)
}
