// SPDX-License-Identifier: Apache-2.0
import RelayProtocol

/// One row of the table. `Answer` is optional where a rule may have nothing to say.
struct Rule<Answer>: Sendable {
  let number: Int
  let name: String
  let ruling: @Sendable (Question) -> Answer

  init(_ number: Int, _ name: String, _ ruling: @escaping @Sendable (Question) -> Answer) {
    self.number = number
    self.name = name
    self.ruling = ruling
  }
}

/// What a rule says when it matches.
struct Ruling {
  let outcome: Decision.Outcome
  let code: Reason.Code

  static func end(_ code: Reason.Code) -> Ruling { Ruling(outcome: .none(code), code: code) }
  static func push(_ level: Level, _ code: Reason.Code) -> Ruling { Ruling(outcome: .push(level), code: code) }
}

/// A case in the words that the rules use.
struct Question {
  let message: MessageFacts
  let recipient: RecipientFacts
  let device: DeviceFacts?
  let now: Timestamp
  let policy: DeliveryPolicy

  init(facts: DeliveryCase, policy: DeliveryPolicy) {
    message = facts.message
    recipient = facts.recipient
    device = facts.device
    now = facts.now
    self.policy = policy
  }

  var isOwn: Bool { recipient.user == message.sender }
  var isCall: Bool { message.kind == .call }

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

  /// nil when there is no grace: a user with a session is not away, or put the app away on purpose.
  var endOfGrace: Timestamp? {
    guard recipient.sessions.isEmpty, let away = recipient.away, !away.isClean else { return nil }
    return away.since + policy.grace
  }

  /// A wait that ends at `time`, at the bound of all waits, or at the expiry; nil when that is over, and for a call.
  func wait(until time: Timestamp?, _ code: Reason.Code) -> Ruling? {
    guard let time, !isCall else { return nil }
    let end = min(time, message.time + policy.longestWait, message.expires)
    return now < end ? Ruling(outcome: .wait(until: end), code: code) : nil
  }
}
