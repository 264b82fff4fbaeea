// SPDX-License-Identifier: Apache-2.0
import RelayDelivery
import RelayProtocol

extension DeliveryCase {
  /// Any case, with times that meet at the bounds of the rules, and no fact so frequent that it hides the others.
  static func random(using dice: inout Dice) -> DeliveryCase {
    let now = dice.pick([
      -1_000, 0, 1, 4_999, 5_000, 29_999, 30_000, 44_999, 45_000, hour, 12 * hour - 1, 12 * hour, 13 * hour,
    ])
    return DeliveryCase(
      message: .random(using: &dice, now), recipient: .random(using: &dice, now),
      device: dice.isOne(in: 10) ? nil : .random(using: &dice, now), now: .at(now),
      released: dice.isOne(in: 4) ? min(dice.time(now), .at(now)) : nil)
  }
}

extension Dice {
  /// Around a time.
  mutating func time(_ now: Int64) -> Timestamp {
    .at(now + pick([-hour, -30_000, -5_000, -1, 0, 1, 1_000, 5_000, hour, 20 * hour]))
  }

  fileprivate mutating func label() -> String? { pick([nil, nil, "home", "work"]) }
}

extension MessageFacts {
  fileprivate static func random(using dice: inout Dice, _ now: Int64) -> MessageFacts {
    MessageFacts(
      sender: dice.isOne(in: 12) ? bob : ann, time: .at(0),
      expires: dice.isOne(in: 8) ? dice.time(now) : .at(28 * day), kind: dice.isOne(in: 8) ? .call : .message,
      level: dice.pick([.passive, .active, .active, .active, .timeSensitive, .critical]),
      isUrgentAllowed: !dice.isOne(in: 4), criteria: dice.label(), isPushAsked: !dice.isOne(in: 12),
      isDeleted: dice.isOne(in: 12), isNotifyAnyway: dice.isOne(in: 8))
  }
}

extension RecipientFacts {
  fileprivate static func random(using dice: inout Dice, _ now: Int64) -> RecipientFacts {
    RecipientFacts(
      user: bob, isMember: !dice.isOne(in: 12), hasBlockedSender: dice.isOne(in: 12), hasRead: dice.isOne(in: 12),
      hasReceivedActively: dice.isOne(in: 12), roomLevel: dice.pick([.all, .all, .all, .all, .mentions, .none]),
      isMentioned: dice.isOne(in: 2), roomCriteria: dice.label(), onFocus: dice.pick(SilenceMode.allCases),
      quiet: dice.isOne(in: 2)
        ? nil : QuietFacts(mode: dice.pick(SilenceMode.allCases), until: dice.time(now)),
      sessions: (0..<dice.pick([0, 0, 0, 0, 1, 2])).map { _ in .random(using: &dice, now) },
      away: dice.isOne(in: 4) ? nil : AwayFacts(since: dice.time(now), isClean: dice.isOne(in: 2)))
  }
}

extension SessionFacts {
  fileprivate static func random(using dice: inout Dice, _ now: Int64) -> SessionFacts {
    SessionFacts(
      activity: dice.pick(Activity.allCases),
      writing: dice.pick([.pending, .written(at: dice.time(now)), .missed(joined: dice.time(now))]),
      hasReceived: dice.isOne(in: 2))
  }
}

extension DeviceFacts {
  fileprivate static func random(using dice: inout Dice, _ now: Int64) -> DeviceFacts {
    DeviceFacts(
      allowsAlerts: !dice.isOne(in: 8), hasVoIPToken: dice.isOne(in: 2), allowsTimeSensitive: !dice.isOne(in: 3),
      allowsCritical: !dice.isOne(in: 3), focusedUntil: dice.isOne(in: 2) ? nil : dice.time(now),
      filter: dice.isOne(in: 2) ? nil : FilterFacts(allow: dice.pick([[], ["home"]]), until: dice.time(now)),
      criteria: dice.label(), lacksVoIPEntitlement: dice.isOne(in: 4))
  }
}
