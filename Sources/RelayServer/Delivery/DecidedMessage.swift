// SPDX-License-Identifier: Apache-2.0
import Foundation
import RelayDelivery
import RelayProtocol
import RelayStore

/// A push to one device that was decided, now or once its silence ends.
struct DecidedPush: Sendable {
  private let job: JobDraft
  private let explanation: Explanation

  /// - Parameter due: When it may go out at the earliest; nil: at once.
  init(_ decision: Decision, _ facts: DeliveryCase, to device: Device, due: Timestamp? = nil) {
    let level: Level
    switch decision.outcome {
    case .push(let decided): level = decided
    case .hold: level = facts.allowedLevel
    case .none, .wait: preconditionFailure("no push was decided")
    }
    job = JobDraft(
      user: facts.recipient.user, device: device.id, token: device.token, platform: device.platform,
      state: decision.holdEnd == nil ? .ready : .held, due: decision.holdEnd ?? due ?? facts.now,
      expires: facts.message.expires, level: level.rawValue, reasons: decision.reasons.map(\.code.rawValue),
      isNotifyAnyway: facts.message.isNotifyAnyway, isSilent: facts.message.isSilent == true)
    explanation = Explanation(decision: decision, facts: facts)
  }

  /// With what explains it as JSON, which takes too long for the hub's thread.
  var draft: JobDraft {
    var draft = job
    draft.explanation = explanation.json
    return draft
  }

  var holdEnd: Timestamp? { explanation.decision.holdEnd }
}

/// What is kept with a push job, to answer why it is there.
struct Explanation: Codable, Sendable {
  let decision: Decision
  /// As they were then.
  let facts: DeliveryCase

  var json: [UInt8] { Self.json(of: self) }

  static func json(of value: some Encodable) -> [UInt8] {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    guard let data = try? encoder.encode(value) else { preconditionFailure("facts are JSON") }
    return Array(data)
  }
}

extension Decision {
  /// Until when it is held; nil: it is not.
  var holdEnd: Timestamp? {
    guard case .hold(let until) = outcome else { return nil }
    return until
  }
}

/// What was decided of one message.
struct DecidedMessage: Sendable {
  var pushes: [DecidedPush] = []
  /// Of whose pushes the sender is told nothing else than that they might be on their way.
  var untold: [UserID] = []
  /// When to ask again; nil: decided.
  var wait: Timestamp?

  mutating func add(_ other: DecidedMessage) {
    pushes += other.pushes
    untold += other.untold
  }
}
