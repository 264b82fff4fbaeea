// SPDX-License-Identifier: Apache-2.0
import Foundation
import RelayDelivery
import RelayProtocol
package import RelayStore

/// The state of a push in one or two sentences, for operators who answer users' questions.
package struct PushSummary {
  package let text: String

  package init(_ job: JobRecord) {
    let decision = job.explanation.flatMap { try? JSONDecoder().decode(Explanation.self, from: Data($0)) }?.decision
    let parts = [Self.result(of: job, decision), decision.map(Self.grounds)].compactMap { $0 }
    text = parts.joined(separator: " ")
  }

  private static func result(of job: JobRecord, _ decision: Decision?) -> String {
    let note = job.note.map { " (\($0))" } ?? ""
    if job.state == .held, case .wait? = decision?.outcome {
      return "The device is no longer silenced, but the recipient may still receive the message in a session."
    }
    return switch job.state {
    case .waiting:
      "The sender exceeds the limit `pace.messages`; the waiting pushes are sent at \(date(job.due))."
    case .ready: "It is ready to be sent to the gateway."
    case .held: "It is held until \(date(job.due)), or until the device is no longer silenced."
    case .merged: "It is part of the push \(job.mergedInto ?? "of another message")."
    case .sending: "It is being sent to the gateway."
    case .retrying: "The gateway could not accept it\(note); the next attempt is at \(date(job.due))."
    case .sent: "The gateway has accepted it\(note)."
    case .cancelled: "It was no longer needed\(note)."
    case .expired: "It expired before it could be sent\(note)."
    case .dead: "The gateway has rejected it permanently\(note)."
    }
  }

  private static func grounds(of decision: Decision) -> String {
    let outcome =
      switch decision.outcome {
      case .push(let level): "The decision was to push it at the level \(level.rawValue)"
      case .hold(let end): "The decision was to hold it until \(date(end)) at the latest"
      case .wait(let end): "The decision was to wait until \(date(end)) at the latest"
      case .none: "The decision was not to push it"
      }
    let words = decision.reasons.map { "\($0.code.rawValue), \($0.words)" }
    return "\(outcome): \(words.joined(separator: "; "))."
  }

  private static func date(_ time: Timestamp) -> String {
    Date(timeIntervalSince1970: Double(time.rawValue) / 1000).formatted(.iso8601)
  }
}
