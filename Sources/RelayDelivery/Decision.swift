// SPDX-License-Identifier: Apache-2.0
public import RelayProtocol

/// The decision about a message for one device, with its reasons.
public struct Decision: Equatable, Sendable, Codable {
  public var outcome: Outcome
  /// The reasons of all rules that matched. The rule that decided is the first. Never empty. `level_lowered` and
  /// `no_voip_entitlement` always have the last number, also if another rule decides.
  public var reasons: [Reason]

  public enum Outcome: Equatable, Sendable {
    /// No push, now or later.
    case none(Reason.Code)
    /// The relay decides again at this time, or as soon as a fact changes.
    case wait(until: Timestamp)
    /// The relay decides again as with `wait`. Only the recipient's silence holds the push, or the recipient's time for
    /// messages that stay unread.
    case hold(until: Timestamp)
    case push(Level)
  }
}

/// A rule that matched, and its reason.
public struct Reason: Equatable, Sendable, Codable {
  /// The position of the rule in the table `rules`, from 1. It may differ in the next version of the relay; the code
  /// does not.
  public var rule: Int
  public var code: Code
  /// The condition of the rule, in words for a person.
  public var words: String

  /// Safe as a metric label.
  public enum Code: String, Sendable, CaseIterable, Codable {
    case ownMessage = "own_message"
    case noPushAsked = "no_push_asked"
    case largeRoom = "large_room"
    case blocked
    case invitedTooOften = "invited_too_often"
    case read
    case received
    case deleted
    case expired
    case notMember = "not_a_member"
    case suspended
    case muted
    case overPace = "over_pace"
    case notReceivedYet = "not_received_yet"
    case receivedIdle = "received_idle"
    case withinGrace = "within_grace"
    case noDevice = "no_device"
    case notAllowed = "not_allowed"
    case unread
    case focused
    case filtered
    case quietHours = "quiet_hours"
    case nothingAgainst = "nothing_against"
    /// Accompanies the code that decides: the push has a lower level than its sender requested.
    case levelLowered = "level_lowered"
    /// Accompanies the code that decides: a call becomes an alert, because the app has no entitlement for VoIP.
    case noVoIPEntitlement = "no_voip_entitlement"
  }
}

/// Decides whether a message becomes a push to a device. The first rule that matches decides.
///
/// The function is pure and total: the same case and policy always give the same decision. Times are at most 2^53
/// milliseconds from 1970.
public func decide(_ facts: DeliveryCase, policy: DeliveryPolicy = DeliveryPolicy()) -> Decision {
  let input = DecisionInput(facts: facts, policy: policy)
  var matching = matchingRules(input)
  if matching.isEmpty { matching = [(lastRule, otherwise.name, otherwise.evaluate(input))] }
  let reasons = matching.flatMap { rule in
    rule.result.codes.map { Reason(rule: rule.number, code: $0, words: rule.name) }
  }
  return Decision(outcome: matching[0].result.outcome, reasons: reasons + remarks(input))
}

/// The rules that match, in the order of the table.
func matchingRules(_ input: DecisionInput) -> [(number: Int, name: String, result: RuleResult)] {
  rules.enumerated().compactMap { index, rule in rule.evaluate(input).map { (index + 1, rule.name, $0) } }
}
