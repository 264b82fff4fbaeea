// SPDX-License-Identifier: Apache-2.0
import Foundation
import RelayDelivery
import RelayProtocol
import RelayStore

/// The result of a push in one sentence, for operators who answer users' questions.
struct PushSummary {
  package let text: String

  init(_ job: JobRecord) {
    let decision = job.explanation.flatMap { try? JSONDecoder().decode(Explanation.self, from: Data($0)) }?.decision
    let parts = [Self.fate(of: job, decision), decision.map(Self.grounds)].compactMap { $0 }
    text = parts.joined(separator: " ")
  }

  private static func fate(of job: JobRecord, _ decision: Decision?) -> String {
    let note = job.note.map { " (\($0))" } ?? ""
    if job.state == .held, case .wait? = decision?.outcome {
      return "Nothing silences the device any more, but the recipient may yet receive the message."
    }
    return switch job.state {
    case .waiting:
      "Its sender pushes more than \(PushPace.most) messages a minute; what has gathered is pushed at \(date(job.due))."
    case .ready: "It is about to be handed to the gateway."
    case .held: "It is held back until \(date(job.due)), or until the silence on the device ends."
    case .merged: "It is told by the push \(job.mergedInto ?? "of another message")."
    case .sending: "It is being handed to the gateway."
    case .retrying: "The gateway could not take it\(note); it is tried again at \(date(job.due))."
    case .sent: "The gateway has taken it\(note)."
    case .cancelled: "It was not needed any more\(note)."
    case .expired: "Its time was over before it could be sent\(note)."
    case .dead: "The gateway refused it for good\(note)."
    }
  }

  private static func grounds(of decision: Decision) -> String {
    let outcome =
      switch decision.outcome {
      case .push(let level): "It was to be pushed at the level \(level.rawValue)"
      case .hold(let end): "It was to be held until \(date(end)) at the latest"
      case .wait(let end): "It was to wait until \(date(end)) at the latest"
      case .none: "It was not to be pushed"
      }
    let words = decision.reasons.map { "rule \($0.rule), \($0.words)" }
    return "\(outcome): \(words.joined(separator: "; "))."
  }

  private static func date(_ time: Timestamp) -> String {
    Date(timeIntervalSince1970: Double(time.rawValue) / 1000).formatted(.iso8601)
  }
}
