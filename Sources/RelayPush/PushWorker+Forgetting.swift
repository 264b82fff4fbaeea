// SPDX-License-Identifier: Apache-2.0
// The removal of device tokens that a gateway refused for good, and the limit on such removals. The store counts them.
import Logging
package import RelayProtocol
import RelayStore
import Synchronization

/// An app whose tokens are kept for now, because too many were removed.
package struct ForgettingPause: Sendable {
  package let app: String
  /// The end of the pause by the present wall clock.
  package let until: Timestamp

  /// A label for metrics, in the style of ``GatewayReason``.
  package static let reason = "TooManyForgotten"
}

extension PushWorker {
  /// Follows the reason of a push whose token was refused but kept.
  static let keptNote = "token kept, because too many were removed"

  /// The apps whose tokens are kept for now, as observed since the relay's start. Safe to call from any thread.
  package nonisolated var pausedForgetting: [ForgettingPause] {
    let time = now()
    return remainingPauses.map { ForgettingPause(app: $0.key, until: time + $0.value) }.sorted { $0.app < $1.app }
  }

  /// The remaining time of each app's pause. Forgets the pauses that are over.
  private nonisolated var remainingPauses: [String: Duration] {
    let present = instant()
    return forgettingPauses.withLock { pauses in
      pauses = pauses.filter { $0.value > present }
      return pauses.mapValues { $0 - present }
    }
  }

  /// The group in which a device's removed tokens are counted, and the remaining time of the group's pause if this run
  /// knows one.
  struct ForgettingRule: Sendable {
    let scope: ForgettingScope
    let app: String
    let pause: Duration?
  }

  func forgettingRule(for device: Device) -> ForgettingRule {
    let scope: ForgettingScope = settings.withLock { $0.apps.isEmpty } ? .everything : .app
    let app = scope == .app ? device.app ?? Self.defaultTopic : Self.defaultTopic
    return ForgettingRule(scope: scope, app: app, pause: remainingPauses[app])
  }

  func forget(_ device: Device, registeredBefore time: Timestamp) async {
    await forget(by: forgettingRule(for: device)) { transaction, rule in
      try transaction.devices.forget(
        token: device.token, platform: device.platform, registeredBefore: time, in: rule.scope,
        pausedFor: rule.pause)
    }
  }

  func forgetVoIPToken(of device: Device, registeredBefore time: Timestamp) async {
    guard let token = device.voipToken else { return }
    await forget(by: forgettingRule(for: device)) { transaction, rule in
      try transaction.devices.forget(
        voipToken: token, platform: device.platform, registeredBefore: time, in: rule.scope, pausedFor: rule.pause)
    }
  }

  private func forget(
    by rule: ForgettingRule, _ work: @escaping @Sendable (Transaction, ForgettingRule) throws -> Forgetting
  ) async {
    await conclude(record("forgetting") { try work($0, rule) }, of: rule.app)
  }

  /// Counts the result of a removal. Notifies the listener of the removed devices, and logs the start of a pause.
  func conclude(_ forgetting: Forgetting?, of app: String) async {
    guard let forgetting else { return }
    switch forgetting {
    case .none: break
    case .forgotten(let users):
      tally.countForgotten()
      for user in users { await listener?(.deviceForgotten(of: user)) }
    case .kept(let pause):
      tally.countKept()
      let present = instant()
      let isNew = forgettingPauses.withLock { pauses in
        // A known pause keeps its end: `pause` was measured before the transaction.
        if let end = pauses[app], end > present { return false }
        pauses[app] = present + pause
        return true
      }
      guard isNew else { return }
      log.error(
        "too many of an app's tokens were refused, so that no more are removed for now",
        metadata: ["app": "\(app)", "seconds": "\(Int(pause.seconds.rounded(.up)))"])
    }
  }
}
