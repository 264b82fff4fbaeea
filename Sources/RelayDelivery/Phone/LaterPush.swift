// SPDX-License-Identifier: Apache-2.0
public import RelayProtocol

/// The effect that a later push of a message may have on a phone: an edit, a deletion, or the end of a call.
///
/// The table of rules decides it, as it decides the first push. Each reason has one effect, see
/// ``Reason/Code/laterEffect``. The strongest effect of all rules that match applies.
public enum LaterPush: Equatable, Sendable {
  /// The push may show text. It has the level `passive`.
  case show
  /// A silence holds the text until this time. A deleted text is still removed.
  case wait(until: Timestamp)
  /// The push shows no text. A deleted text is still removed.
  case nothing
  /// The phone must not show the message any longer.
  case remove
}

/// The column of the table of rules for later pushes, weakest effect first.
enum LaterEffect: Int, Comparable {
  case show, nothing, remove

  static func < (left: LaterEffect, right: LaterEffect) -> Bool { left.rawValue < right.rawValue }
}

/// Decides what a later push of a message may do on one device. The function is pure and total, as
/// ``decide(_:policy:)``.
public func laterPush(_ facts: DeliveryCase, policy: DeliveryPolicy = DeliveryPolicy()) -> LaterPush {
  var facts = facts
  // A later push is as new as its cause. A silence holds the edit of an old message, too.
  facts.message.time = facts.now
  var effect = LaterEffect.show
  var holdEnd: Timestamp?
  for rule in matchingRules(DecisionInput(facts: facts, policy: policy)) {
    // The time for messages that stay unread is no silence: the phone shows the notification already.
    if case .hold(let end) = rule.result.outcome, !rule.result.codes.contains(.unread) {
      holdEnd = max(end, holdEnd ?? end)
    }
    effect = max(effect, rule.result.codes.map(\.laterEffect).max() ?? .show)
  }
  switch effect {
  case .remove: return .remove
  case .nothing: return .nothing
  case .show: return holdEnd.map(LaterPush.wait) ?? .show
  }
}
