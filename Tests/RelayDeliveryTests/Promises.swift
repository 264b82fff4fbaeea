// SPDX-License-Identifier: Apache-2.0
import RelayDelivery
import RelayProtocol

/// Returns the promise that a decision breaks, or `nil` if it keeps all of them. The promises hold for every case.
func brokenPromise(_ decision: Decision, of facts: DeliveryCase) -> String? {
  if decide(facts) != decision { return "the same facts gave another decision" }
  guard let first = decision.reasons.first else { return "no reason" }
  let rules = decision.reasons.map(\.rule)
  if rules != rules.sorted() { return "the reasons are not in order" }
  if Set(decision.reasons.map(\.code)).count != rules.count { return "a reason is given twice" }
  let (message, recipient) = (facts.message, facts.recipient)
  let isUndisturbing = message.kind == .call || message.isNotifyAnyway
  switch decision.outcome {
  case .none(let code):
    return code == first.code ? nil : "another reason than the outcome's"
  case .push(let level):
    let isFit =
      recipient.user != message.sender && message.isPushAsked && !recipient.hasBlockedSender && !recipient.hasRead
      && !message.isDeleted && recipient.isMember && !recipient.isSuspended && recipient.roomLevel != .none
      && facts.now < message.expires
      && facts.device != nil
      && (message.kind == .call || !recipient.hasReceivedActively || recipient.pushUnreadAfter != nil)
      && (recipient.isRoomTooLarge != true || recipient.isNamed == true) && recipient.isOverCallPace != true
      && (recipient.isInvitedTooOften != true || message.kind != .invitation)
    if !isFit { return "pushed although a fact forbids it" }
    if level > message.level { return "the level was raised" }
    if level == .critical, recipient.isOverCriticalPace == true { return "a critical alert beyond the pace" }
    let isUrgent =
      message.level >= .timeSensitive && decision.reasons.last?.code != .levelLowered
      && recipient.quietTimeSensitive != true
    if level == .passive, message.level > .passive, isUndisturbing || isUrgent {
      return "made a call or an urgent push passive"
    }
    return nil
  case .wait(let end):
    if message.kind == .call { return "a call waits" }
    if end <= facts.now { return "waits until a time in the past" }
    if end > max(message.time, facts.released ?? message.time) + .seconds(45) { return "waits for longer than 45 s" }
    if end > message.expires { return "waits beyond the expiry" }
    if first.code != .withinGrace, recipient.sessions.allSatisfy({ $0.activity == .background }) {
      return "waits for a session in the background"
    }
    return endsBySilence(facts, end) ? nil : "waits for ever"
  case .hold(let end):
    if message.isNotifyAnyway, first.code != .unread { return "a silence held a Notify Anyway" }
    if message.kind == .call {
      if recipient.quietCalls != true || first.code != .quietHours { return "held a call" }
    } else if end > message.expires {
      return "held beyond the expiry"
    }
    if end <= facts.now { return "held until a time in the past" }
    if end > message.time + .seconds(12 * 3600) { return "held for longer than 12 h" }
    return endsBySilence(facts, end) ? nil : "held for ever"
  }
}

/// True if waits and holds end when no fact changes.
private func endsBySilence(_ facts: DeliveryCase, _ end: Timestamp) -> Bool {
  var facts = facts.with { $0.now = end }
  for _ in 0..<20 {
    switch decide(facts).outcome {
    case .wait(let later), .hold(let later): facts.now = later
    case .none, .push: return true
    }
  }
  return false
}
