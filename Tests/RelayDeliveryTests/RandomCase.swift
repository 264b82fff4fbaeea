// SPDX-License-Identifier: Apache-2.0
import RelayProtocol
import SeededRandom

@testable import RelayDelivery

extension DeliveryCase {
  /// A random case. Its times often meet the limits of the rules, and no fact is so frequent that it hides the others.
  static func random(using dice: inout SeededGenerator) -> DeliveryCase {
    let now = dice.one(of: [
      -1_000, 0, 1, 4_999, 5_000, 29_999, 30_000, 44_999, 45_000, hour, 12 * hour - 1, 12 * hour, 13 * hour,
    ])
    return DeliveryCase(
      message: .random(using: &dice, now), recipient: .random(using: &dice, now),
      device: dice.hits(oneIn: 10) ? nil : .random(using: &dice, now), now: .at(now),
      released: dice.hits(oneIn: 4) ? min(dice.time(now), .at(now)) : nil)
  }
}

extension SeededGenerator {
  /// A time near `now`.
  mutating func time(_ now: Int64) -> Timestamp {
    .at(now + one(of: [-hour, -30_000, -5_000, -1, 0, 1, 1_000, 5_000, hour, 20 * hour]))
  }

  fileprivate mutating func label() -> String? { one(of: [nil, nil, "home", "work"]) }
}

extension MessageFacts {
  fileprivate static func random(using dice: inout SeededGenerator, _ now: Int64) -> MessageFacts {
    MessageFacts(
      sender: dice.hits(oneIn: 12) ? bob : ann, time: .at(0),
      expires: dice.hits(oneIn: 8) ? dice.time(now) : .at(28 * day),
      kind: dice.one(of: [.message, .message, .message, .message, .message, .message, .call, .invitation]),
      level: dice.one(of: [.passive, .active, .active, .active, .timeSensitive, .critical]),
      isUrgentAllowed: !dice.hits(oneIn: 4), criteria: dice.label(), isPushAsked: !dice.hits(oneIn: 12),
      isDeleted: dice.hits(oneIn: 12), isNotifyAnyway: dice.hits(oneIn: 8))
  }
}

extension RecipientFacts {
  fileprivate static func random(using dice: inout SeededGenerator, _ now: Int64) -> RecipientFacts {
    RecipientFacts(
      user: bob, isMember: !dice.hits(oneIn: 12), isSuspended: dice.hits(oneIn: 12),
      hasBlockedSender: dice.hits(oneIn: 12), hasRead: dice.hits(oneIn: 12),
      hasReceivedActively: dice.hits(oneIn: 12), roomLevel: dice.one(of: [.all, .all, .all, .all, .mentions, .none]),
      isMentioned: dice.hits(oneIn: 2), isNamed: dice.hits(oneIn: 2), isRoomTooLarge: dice.hits(oneIn: 8),
      isOverCallPace: dice.hits(oneIn: 12), isOverCriticalPace: dice.hits(oneIn: 4),
      isInvitedTooOften: dice.hits(oneIn: 8), roomCriteria: dice.label(), onFocus: dice.one(of: SilenceMode.allCases),
      breaksQuietHours: dice.hits(oneIn: 4), quietCalls: dice.hits(oneIn: 4), quietTimeSensitive: dice.hits(oneIn: 4),
      pushUnreadAfter: dice.one(of: [nil, nil, 10, 60, 7_200]),
      sessions: (0..<dice.one(of: [0, 0, 0, 0, 1, 2])).map { _ in .random(using: &dice, now) },
      away: dice.hits(oneIn: 4) ? nil : AwayFacts(since: dice.time(now), isClean: dice.hits(oneIn: 2)))
  }
}

extension SessionFacts {
  fileprivate static func random(using dice: inout SeededGenerator, _ now: Int64) -> SessionFacts {
    SessionFacts(
      activity: dice.one(of: Activity.allCases),
      writing: dice.one(of: [.pending, .written(at: dice.time(now)), .missed(joined: dice.time(now))]),
      hasReceived: dice.hits(oneIn: 2))
  }
}

extension DeviceFacts {
  fileprivate static func random(using dice: inout SeededGenerator, _ now: Int64) -> DeviceFacts {
    var facts = DeviceFacts(
      allowsAlerts: !dice.hits(oneIn: 8), hasVoIPToken: dice.hits(oneIn: 2), allowsTimeSensitive: !dice.hits(oneIn: 3),
      allowsCritical: !dice.hits(oneIn: 3), focusedUntil: dice.hits(oneIn: 2) ? nil : dice.time(now),
      filter: dice.hits(oneIn: 2) ? nil : FilterFacts(allow: dice.one(of: [[], ["home"]]), until: dice.time(now)),
      quiet: dice.hits(oneIn: 2)
        ? nil : ActiveQuietHours(mode: dice.one(of: SilenceMode.allCases), until: dice.time(now)),
      criteria: dice.label())
    facts.lacksVoIPEntitlement = dice.hits(oneIn: 4) ? true : nil
    return facts
  }
}
