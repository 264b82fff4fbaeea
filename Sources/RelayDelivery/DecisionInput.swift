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
}

/// Rules 4 and 7 to 9: the sessions that have received the message, and those that may still receive it.
extension DecisionInput {
  var hasActiveReceipt: Bool {
    recipient.hasReceivedActively || recipient.sessions.contains { $0.activity == .active && $0.hasReceived }
  }

  var hasOnlyIdleReceipt: Bool {
    !hasActiveReceipt && recipient.sessions.contains { $0.activity == .idle && $0.hasReceived }
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

/// Rules 11 to 13: the limits and silences of the device.
extension DecisionInput {
  /// True if the device would show nothing of the push. CallKit shows a call even if alerts are off.
  var isRefusedByDevice: Bool {
    guard let device, !device.allowsAlerts else { return false }
    return !(isCall && device.hasVoIPToken)
  }

  /// The requested level, or the highest lower one that the sender, the device and its app allow.
  var level: Level {
    guard let device, message.level > .active else { return message.level }
    guard message.isUrgentAllowed else { return .active }
    if message.level == .critical, device.allowsCritical { return .critical }
    return device.allowsTimeSensitive ? .timeSensitive : .active
  }

  /// A reason for which a device is silenced.
  private struct Cause {
    let code: Reason.Code
    let mode: SilenceMode
    /// The time at which the cause ends without a new report.
    let until: Timestamp
  }

  /// The causes that silence the device now. Expired causes are left out.
  private var causes: [Cause] {
    guard let device else { return [] }
    let criteria = Criteria.of(room: recipient.roomCriteria, device: device.criteria, sender: message.criteria)
    let refusal = device.filter.flatMap { $0.passes(criteria) ? nil : $0 }
    let causes = [
      device.focusedUntil.map { Cause(code: .focused, mode: recipient.onFocus, until: $0) },
      refusal.map { Cause(code: .filtered, mode: recipient.onFocus, until: $0.until) },
      device.quiet.map { Cause(code: .quietHours, mode: $0.mode, until: $0.until) },
    ]
    return causes.compactMap { $0 }.filter { now < $0.until }
  }

  /// If `mode` is the strongest mode of all causes, returns the codes of the causes with this mode and the end of the
  /// latest one (at most 12 h after the message, and not after its expiry). Otherwise `nil`, and `nil` for messages
  /// that ignore silence.
  func silence(_ mode: SilenceMode) -> (codes: [Reason.Code], until: Timestamp)? {
    let end = message.time + policy.maxHold
    guard level < .timeSensitive, !isCall, !message.isNotifyAnyway, message.isSilent != true, now < end else {
      return nil
    }
    let causes = causes
    guard causes.map(\.mode).max() == mode else { return nil }
    let strongest = causes.filter { $0.mode == mode }
    guard let last = strongest.map(\.until).max() else { return nil }
    return (strongest.map(\.code), min(last, end, message.expires))
  }
}
