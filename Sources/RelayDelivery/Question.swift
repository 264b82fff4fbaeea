// SPDX-License-Identifier: Apache-2.0
import RelayProtocol

/// A case in the words that the rules use.
struct Question {
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

/// Rules 4 and 7 to 9: who has received it, and who may yet.
extension Question {
  var hasActiveReceipt: Bool {
    recipient.hasReceivedActively || recipient.sessions.contains { $0.activity == .active && $0.hasReceived }
  }

  var hasOnlyIdleReceipt: Bool {
    !hasActiveReceipt && recipient.sessions.contains { $0.activity == .idle && $0.hasReceived }
  }

  /// When the last session that has not received it is given up; nil when there is none.
  var lastReceiptExpected: Timestamp? {
    recipient.sessions.lazy
      .filter { $0.activity != .background && !$0.hasReceived }
      .map { session in
        switch session.writing {
        // It cannot be given up sooner than if it were written now, so that is when to look again.
        case .pending: now + policy.receiptWait
        case .written(let time), .missed(let time): time + policy.receiptWait
        }
      }
      .max()
  }

  /// Is `nil` when there is no grace: a session that is not in the background is there, or the last one ended on purpose.
  var endOfGrace: Timestamp? {
    guard recipient.sessions.allSatisfy({ $0.activity == .background }), let away = recipient.away, !away.isClean else {
      return nil
    }
    return away.since + policy.grace
  }

  /// A wait that ends at `time`, at the bound of all waits, or at the expiry; nil when that is over, and for a call. The
  /// bound counts from the message, or from the end of its hold.
  func wait(until time: Timestamp?, _ code: Reason.Code) -> Ruling? {
    guard let time, !isCall else { return nil }
    let begin = max(message.time, released ?? message.time)
    let end = min(time, begin + policy.longestWait, message.expires)
    return now < end ? .wait(until: end, code) : nil
  }
}

/// Rules 11 to 13: what the device allows, and whether it is silenced.
extension Question {
  /// Whether the device could show nothing of a push. CallKit shows a call whatever is off.
  var isRefusedByDevice: Bool {
    guard let device, !device.allowsAlerts else { return false }
    return !(isCall && device.hasVoIPToken)
  }

  /// The level asked for, or the next lower one that the sender may ask for and the device and its app allow.
  var level: Level {
    guard let device, message.level > .active else { return message.level }
    guard message.isUrgentAllowed else { return .active }
    if message.level == .critical, device.allowsCritical { return .critical }
    return device.allowsTimeSensitive ? .timeSensitive : .active
  }

  /// Something that keeps a device from disturbing.
  private struct Cause {
    let code: Reason.Code
    let mode: SilenceMode
    /// When it ends by itself.
    let until: Timestamp
  }

  /// All that silences the device now. What is not fresh is not there.
  private var causes: [Cause] {
    guard let device else { return [] }
    let criteria = Criteria.of(room: recipient.roomCriteria, device: device.criteria, sender: message.criteria)
    let refusal = device.filter.flatMap { $0.passes(criteria) ? nil : $0 }
    let causes = [
      device.focusedUntil.map { Cause(code: .focused, mode: recipient.onFocus, until: $0) },
      refusal.map { Cause(code: .filtered, mode: recipient.onFocus, until: $0.until) },
      recipient.quiet.map { Cause(code: .quietHours, mode: $0.mode, until: $0.until) },
    ]
    return causes.compactMap { $0 }.filter { now < $0.until }
  }

  /// The causes of the silence that have the strongest preference among all, if that is `mode`, and when the last of
  /// them ends; nil where there are none, or where the message is not to be kept from disturbing.
  func silence(_ mode: SilenceMode) -> (codes: [Reason.Code], until: Timestamp)? {
    let end = message.time + policy.longestHold
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
