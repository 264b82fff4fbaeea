// SPDX-License-Identifier: Apache-2.0
public import RelayProtocol

/// What becomes of a message for one device, and why.
public struct Decision: Equatable, Sendable {
  public var outcome: Outcome
  /// Every rule that spoke, the one that decided first. Never empty.
  public var reasons: [Reason]

  public enum Outcome: Equatable, Sendable {
    /// No push, and none to come.
    case none(Reason.Code)
    /// To be decided again at this time, or as soon as a fact changes.
    case wait(until: Timestamp)
    case push(Level)
  }
}

/// Why a rule spoke.
public struct Reason: Equatable, Sendable {
  /// Its place in the order of the rules.
  public var rule: Int
  public var code: Code
  /// What the rule asks, in words for a person.
  public var words: String

  /// Safe as a metric label.
  public enum Code: String, Sendable, CaseIterable {
    case ownMessage = "own_message"
    case noPushAsked = "no_push_asked"
    case read
    case received
    case deleted
    case expired
    case notMember = "not_a_member"
    case notReceivedYet = "not_received_yet"
    case receivedIdle = "received_idle"
    case withinGrace = "within_grace"
    case noDevice = "no_device"
    case nothingAgainst = "nothing_against"
  }
}

/// Decides whether a message becomes a push to a device: the first rule that matches does.
///
/// The same case and policy give the same decision, and every case gives one. Times are at most 2^53 from 1970.
public func decide(_ facts: DeliveryCase, policy: DeliveryPolicy = DeliveryPolicy()) -> Decision {
  let question = Question(facts: facts, policy: policy)
  var decision: Decision?
  for rule in rules {
    guard let ruling = rule.ruling(question) else { continue }
    let reason = Reason(rule: rule.number, code: ruling.code, words: rule.name)
    if decision == nil { decision = Decision(outcome: ruling.outcome, reasons: []) }
    decision?.reasons.append(reason)
  }
  if let decision { return decision }
  let ruling = otherwise.ruling(question)
  return Decision(
    outcome: ruling.outcome,
    reasons: [Reason(rule: otherwise.number, code: ruling.code, words: otherwise.name)])
}
