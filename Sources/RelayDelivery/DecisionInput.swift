// SPDX-License-Identifier: Apache-2.0
import RelayProtocol

/// A case with the derived facts that the rules use.
struct DecisionInput {
  let message: MessageFacts
  let recipient: RecipientFacts
  let device: DeviceFacts?
  let now: Timestamp
  let released: Timestamp?
  let policy: DeliveryPolicy

  init(facts: DeliveryCase, policy: DeliveryPolicy) {
    message = facts.message
    recipient = facts.recipient
    device = facts.device
    now = facts.now
    released = facts.released
    self.policy = policy
  }

  var isOwn: Bool { recipient.user == message.sender }
  var isCall: Bool { message.kind == .call }

  /// True if the room has too many members for pushes to all of them, and this one is not mentioned by name.
  var isBeyondReach: Bool { recipient.isRoomTooLarge == true && recipient.isNamed != true }

  var isInvitedTooOften: Bool { message.kind == .invitation && recipient.isInvitedTooOften == true }
}

/// The codes `received`, `not_received_yet`, `received_idle` and `within_grace`: the sessions that have received the message, and those that may still receive it.
extension DecisionInput {
  var hasActiveReceipt: Bool {
    recipient.hasReceivedActively || recipient.sessions.contains { $0.activity == .active && $0.hasReceived }
  }

  var hasOnlyIdleReceipt: Bool {
    !hasActiveReceipt && recipient.sessions.contains { $0.activity == .idle && $0.hasReceived }
  }

  /// The time at which a message is pushed that an active session has received, if the recipient has not read it by
  /// then. Is `nil` for a recipient without this preference, for a call and for an invitation.
  var unreadEnd: Timestamp? {
    guard let pause = recipient.pushUnreadAfter, message.kind == .message else { return nil }
    return min(message.time + .seconds(pause), message.expires)
  }

  /// The time at which the relay gives up the last session that has not received the message. Is `nil` when there is no
  /// such session.
  var lastReceiptExpected: Timestamp? {
    recipient.sessions.lazy
      .filter { $0.activity != .background && !$0.hasReceived }
      .map { session in
        switch session.writing {
        // The relay has not written the message yet, so the session has at least the whole timeout from now.
        case .pending: now + policy.receiptWait
        case .written(let time), .missed(let time): time + policy.receiptWait
        }
      }
      .max()
  }

  /// Is `nil` when there is no grace: a session is open that is not in the background, or the last one ended cleanly.
  var endOfGrace: Timestamp? {
    guard recipient.sessions.allSatisfy({ $0.activity == .background }), let away = recipient.away, !away.isClean else {
      return nil
    }
    return away.since + policy.grace
  }

  /// A wait until the earliest of `time`, the maximum wait and the expiry. Is `nil` when that time is over, and for a
  /// call. The maximum counts from the message, or from the end of its hold.
  func wait(until time: Timestamp?, _ code: Reason.Code) -> RuleResult? {
    guard let time, !isCall else { return nil }
    let begin = max(message.time, released ?? message.time)
    let end = min(time, begin + policy.maxWait, message.expires)
    return now < end ? .wait(until: end, code) : nil
  }
}

/// The codes `not_allowed`, `focused`, `filtered` and `quiet_hours`: the limits and silences of the device.
extension DecisionInput {
  /// True if the device would show nothing of the push. CallKit shows a call even if alerts are off.
  var isRefusedByDevice: Bool {
    guard let device, !device.allowsAlerts else { return false }
    return !(isCall && device.hasVoIPToken)
  }

  /// The requested level, or the highest lower one that the sender, the pace of critical alerts, the device and its app
  /// allow.
  var level: Level {
    guard let device, message.level > .active else { return message.level }
    guard message.isUrgentAllowed else { return .active }
    if mayBeCritical, recipient.isOverCriticalPace != true { return .critical }
    return device.allowsTimeSensitive ? .timeSensitive : .active
  }

  /// True if the pace of critical alerts, and nothing else, lowers the level.
  var isLoweredByPace: Bool { mayBeCritical && recipient.isOverCriticalPace == true }

  /// True if the message requests the level `critical`, and the sender, the device and its app allow it.
  private var mayBeCritical: Bool {
    message.level == .critical && message.isUrgentAllowed && device?.allowsCritical == true
  }

  /// A reason for which a device is silenced.
  private struct Cause {
    let code: Reason.Code
    let mode: SilenceMode
    /// The time at which the cause ends without a new report.
    let until: Timestamp
  }

  /// True if a Focus or a filter may silence the message: it is no call and not urgent.
  private var obeysFocus: Bool { level < .timeSensitive && !isCall }

  /// True if quiet hours may silence the message. The recipient's preferences add calls and time-sensitive messages, and
  /// let the messages of some users, and mentions, break through.
  private var obeysQuietHours: Bool {
    if recipient.breaksQuietHours == true || level == .critical { return false }
    if isCall { return recipient.quietCalls == true }
    return level < .timeSensitive || recipient.quietTimeSensitive == true
  }

  /// The causes that silence the device now. Expired causes are left out.
  private var causes: [Cause] {
    guard let device else { return [] }
    var causes: [Cause] = []
    if obeysFocus {
      let criteria = Criteria.of(room: recipient.roomCriteria, device: device.criteria, sender: message.criteria)
      if let end = device.focusedUntil { causes.append(Cause(code: .focused, mode: recipient.onFocus, until: end)) }
      if let filter = device.filter, !filter.passes(criteria) {
        causes.append(Cause(code: .filtered, mode: recipient.onFocus, until: filter.until))
      }
    }
    if let quiet = device.quiet, obeysQuietHours {
      // No call is passive: a phone has to ring for it.
      let mode = isCall && quiet.mode == .passive ? .hold : quiet.mode
      causes.append(Cause(code: .quietHours, mode: mode, until: quiet.until))
    }
    return causes.filter { now < $0.until }
  }

  /// If `mode` is the strongest mode of all causes, returns the codes of the causes with this mode and the end of the
  /// latest one: at most 12 h after the message, and not after its expiry, unless it is a call, which is then missed.
  /// Otherwise `nil`, and `nil` for messages that ignore silence.
  func silence(_ mode: SilenceMode) -> (codes: [Reason.Code], until: Timestamp)? {
    let end = message.time + policy.maxHold
    guard !message.isNotifyAnyway, message.isSilent != true, now < end else { return nil }
    let causes = causes
    guard causes.map(\.mode).max() == mode else { return nil }
    let strongest = causes.filter { $0.mode == mode }
    guard let last = strongest.map(\.until).max() else { return nil }
    return (strongest.map(\.code), isCall ? min(last, end) : min(last, end, message.expires))
  }
}
