// SPDX-License-Identifier: Apache-2.0
public import RelayProtocol

/// What becomes of a message for one device, and why.
public struct Decision: Equatable, Sendable, Codable {
  public var outcome: Outcome
  /// Every rule that spoke, the one that decided first. Never empty.
  public var reasons: [Reason]

  public enum Outcome: Equatable, Sendable {
    /// No push, and none to come.
    case none(Reason.Code)
    /// To be decided again at this time, or as soon as a fact changes.
    case wait(until: Timestamp)
    /// The same, of a push that only the recipient's silence keeps back.
    case hold(until: Timestamp)
    case push(Level)
  }
}

/// Why a rule spoke.
public struct Reason: Equatable, Sendable, Codable {
  /// Its place in the order of the rules.
  public var rule: Int
  public var code: Code
  /// What the rule asks, in words for a person.
  public var words: String

  /// Safe as a metric label.
  public enum Code: String, Sendable, CaseIterable, Codable {
    case ownMessage = "own_message"
    case noPushAsked = "no_push_asked"
    case blocked
    case read
    case received
    case deleted
    case expired
    case notMember = "not_a_member"
    case muted
    case notReceivedYet = "not_received_yet"
    case receivedIdle = "received_idle"
    case withinGrace = "within_grace"
    case noDevice = "no_device"
    case notAllowed = "not_allowed"
    case focused
    case filtered
    case quietHours = "quiet_hours"
    case nothingAgainst = "nothing_against"
    /// Said beside what decides: the push is not to have the level that was asked for.
    case levelLowered = "level_lowered"
    /// Stands beside the code that decides: a call becomes an alert, because the app has no entitlement for VoIP.
    case noVoIPEntitlement = "no_voip_entitlement"
  }
}

/// Decides whether a message becomes a push to a device: the first rule that matches does.
///
/// The same case and policy give the same decision, and every case gives one. Times are at most 2^53 from 1970.
public func decide(_ facts: DeliveryCase, policy: DeliveryPolicy = DeliveryPolicy()) -> Decision {
  let question = Question(facts: facts, policy: policy)
  var spoken: [(number: Int, name: String, ruling: Ruling)] = rules.compactMap { rule in
    rule.ruling(question).map { (rule.number, rule.name, $0) }
  }
  if spoken.isEmpty { spoken = [(otherwise.number, otherwise.name, otherwise.ruling(question))] }
  let reasons = spoken.flatMap { rule in
    rule.ruling.codes.map { Reason(rule: rule.number, code: $0, words: rule.name) }
  }
  return Decision(outcome: spoken[0].ruling.outcome, reasons: reasons + remarks(question))
}
