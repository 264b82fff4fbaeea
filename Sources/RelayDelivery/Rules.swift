// SPDX-License-Identifier: Apache-2.0
import RelayProtocol

/// The rules in their order: the first rule that matches decides. The first rule has the number 1.
let rules: [Rule<RuleResult?>] = [
  Rule("the recipient is the sender") { $0.isOwn ? .end(.ownMessage) : nil },

  Rule("the message or its room requests no push") { $0.message.isPushAsked ? nil : .end(.noPushAsked) },

  Rule("the room is too large for pushes, and the message neither names nor answers the recipient") {
    $0.isBeyondReach ? .end(.largeRoom) : nil
  },

  Rule("the recipient has blocked the sender") { $0.recipient.hasBlockedSender ? .end(.blocked) : nil },

  Rule("an invitation, and the inviter or all together have caused too many such pushes within a day") {
    $0.isInvitedTooOften ? .end(.invitedTooOften) : nil
  },

  Rule("the recipient has read it") { $0.recipient.hasRead ? .end(.read) : nil },

  Rule("received by a session that was active then or became active later") {
    $0.hasActiveReceipt && !$0.isCall && $0.unreadEnd == nil ? .end(.received) : nil
  },

  Rule("deleted, or expired, or the recipient is no longer a member or is suspended") {
    if $0.message.isDeleted { return .end(.deleted) }
    if $0.now >= $0.message.expires { return .end(.expired) }
    if !$0.recipient.isMember { return .end(.notMember) }
    return $0.recipient.isSuspended ? .end(.suspended) : nil
  },

  Rule("the recipient has muted the room, or all except mentions") { $0.recipient.isMuted ? .end(.muted) : nil },

  Rule("the sender calls the recipient more often than `pace.calls` allows") {
    $0.recipient.isOverCallPace == true ? .end(.overPace) : nil
  },

  Rule("a session that is not in the background may still receive it") {
    $0.wait(until: $0.lastReceiptExpected, .notReceivedYet)
  },

  Rule("an idle session has received it, and no active one") {
    $0.hasOnlyIdleReceipt ? $0.wait(until: $0.message.time + $0.policy.idleWait, .receivedIdle) : nil
  },

  Rule("the last session in the foreground was lost less than the grace ago") {
    $0.wait(until: $0.endOfGrace, .withinGrace)
  },

  Rule("no device is registered") { $0.device == nil ? .end(.noDevice) : nil },

  Rule("the device reports that alerts are off for the app") { $0.isRefusedByDevice ? .end(.notAllowed) : nil },

  Rule("received by an active session, and the recipient wants a push if it stays unread") { input in
    guard input.device != nil, input.hasActiveReceipt, let end = input.unreadEnd, input.now < end else { return nil }
    return .hold(until: end, [.unread])
  },

  Rule("the device is silenced, and the recipient's preference is to hold pushes") { input in
    guard let (codes, end) = input.silence(.hold), input.now < end else { return nil }
    return .hold(until: end, codes)
  },

  Rule("the device is silenced, and the recipient's preference is to make pushes passive") { input in
    input.silence(.passive).map { .push(.passive, $0.codes) }
  },
]

/// The rule that decides if no rule of ``rules`` matches.
let otherwise = Rule<RuleResult>("no earlier rule matches") { .push($0.level, [.nothingAgainst]) }

/// The number of ``otherwise``, the last one.
var lastRule: Int { rules.count + 1 }

/// Reasons that accompany the decision without changing its outcome. They always have the last number, also if another
/// rule decides.
func remarks(_ input: DecisionInput) -> [Reason] {
  var remarks: [(code: Reason.Code, words: String)] = []
  if input.isCall, input.device?.lacksVoIPEntitlement == true {
    remarks.append((.noVoIPEntitlement, "the app has no entitlement for VoIP, so the call is an alert"))
  }
  if input.level < input.message.level {
    let words =
      input.isLoweredByPace
      ? "the level is lowered, because the sender sends more critical alerts to the recipient than `pace.critical` allows"
      : "the level is lowered to the highest one that the sender, the device and its app allow"
    remarks.append((.levelLowered, words))
  }
  return remarks.map { Reason(rule: lastRule, code: $0.code, words: $0.words) }
}

/// The column of the table for later pushes, see ``LaterPush``. A hold is a matter of its rule: its text waits.
extension Reason.Code {
  var laterEffect: LaterEffect {
    switch self {
    case .blocked, .read, .notMember: .remove
    case .ownMessage, .largeRoom, .invitedTooOften, .expired, .suspended, .muted, .overPace, .noDevice, .notAllowed:
      .nothing
    case .noPushAsked, .received, .deleted, .notReceivedYet, .receivedIdle, .withinGrace, .unread, .focused, .filtered,
      .quietHours, .nothingAgainst, .levelLowered, .noVoIPEntitlement:
      .show
    }
  }
}
