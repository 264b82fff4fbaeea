// SPDX-License-Identifier: Apache-2.0
import Foundation
package import RelayDelivery
import RelayHub
import RelayProtocol
package import RelayStore

/// Conversions of planned pushes and decisions into the values that the store takes.
///
/// They write JSON, which takes too long for the hub's thread. Call them on a thread of the store.
extension JobDraft {
  package init(_ push: PlannedPush) {
    let (decision, facts) = (push.explanation.decision, push.explanation.facts)
    self.init(
      user: push.user, device: push.device.id, token: push.device.token, platform: push.device.platform,
      state: push.isHeld ? .held : .ready, due: push.due, expires: facts.message.expires, level: push.level,
      reasons: decision.reasons.map(\.code.rawValue), explanation: push.explanation.json,
      isNotifyAnyway: facts.message.isNotifyAnyway,
      kind: push.isBadgeOnly ? .badge : facts.message.isSilent == true ? .silent : .alert)
  }
}

extension JobOutcome {
  package init(_ action: JobDecision.Action) {
    self =
      switch action {
      case .push(let level): .push(level: level)
      case .hold(let end): .hold(until: end)
      case .wait(let end): .wait(until: end)
      case .cancel(let reason): .cancel(reason.rawValue)
      case .expire: .expire
      case .miss: .miss
      case .merge(let head, let level): .merge(into: head, level: level)
      }
  }
}

extension OpenPush {
  /// Returns `nil` if the device of the job is no longer registered. The store has ended such a job.
  package init?(_ job: OpenJob) {
    guard let device = job.device else { return nil }
    self.init(
      id: job.id, room: job.room, seq: job.message.seq, time: job.message.time,
      traits: job.message.traits, device: device, isHeld: job.state == .held, due: job.due,
      level: job.level, isUnknown: job.isUnknown, isNotifyAnyway: job.isNotifyAnyway,
      isDigest: job.isDigest, mergedInto: job.mergedInto, collapse: job.collapse, marks: job.marks)
  }
}

extension Explanation {
  package var json: [UInt8] { Self.json(of: self) }

  package static func json(of value: some Encodable) -> [UInt8] {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    guard let data = try? encoder.encode(value) else { preconditionFailure("facts are JSON") }
    return Array(data)
  }
}
