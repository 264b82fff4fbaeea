// SPDX-License-Identifier: Apache-2.0
import Logging
package import RelayProtocol
import RelayStore
import Synchronization

/// An app of which no more tokens are forgotten for now.
package struct ForgettingPause: Sendable {
  package let app: String
  package let until: Timestamp

  /// Safe as a label, in the style of the gateways' reasons.
  package static let reason = "TooManyForgotten"
}

extension PushWorker {
  /// Behind the reason of a push whose device stays.
  static let keptNote = "not forgotten, because too many were"

  /// Apps of which no tokens are forgotten, as far as this run has noticed. Any thread.
  package nonisolated var pausedForgetting: [ForgettingPause] {
    let time = now()
    return forgettingPauses.withLock { pauses in
      pauses = pauses.filter { $0.value > time }
      return pauses.map { ForgettingPause(app: $0.key, until: $0.value) }.sorted { $0.app < $1.app }
    }
  }

  /// What tokens are counted with, and until when none of these is forgotten, as far as this run has noticed.
  struct ForgettingRule: Sendable {
    let scope: ForgettingScope
    let app: String
    let pause: Timestamp?
  }

  func forgettingRule(for device: Device) -> ForgettingRule {
    let scope: ForgettingScope = settings.withLock { $0.apps.isEmpty } ? .everything : .app
    let app = scope == .app ? device.app ?? Self.defaultTopic : Self.defaultTopic
    return ForgettingRule(scope: scope, app: app, pause: pausedForgetting.first { $0.app == app }?.until)
  }

  func forget(_ device: Device, registeredBefore time: Timestamp) async {
    await forget(by: forgettingRule(for: device)) { transaction, rule in
      try transaction.devices.forget(
        token: device.token, platform: device.platform, registeredBefore: time, in: rule.scope,
        pausedUntil: rule.pause)
    }
  }

  func forgetVoIPToken(of device: Device, registeredBefore time: Timestamp) async {
    guard let token = device.voipToken else { return }
    await forget(by: forgettingRule(for: device)) { transaction, rule in
      try transaction.devices.forget(
        voipToken: token, platform: device.platform, registeredBefore: time, in: rule.scope, pausedUntil: rule.pause)
    }
  }

  private func forget(
    by rule: ForgettingRule, _ work: @escaping @Sendable (Transaction, ForgettingRule) throws -> Forgetting
  ) async {
    await conclude(record("forgetting") { try work($0, rule) }, of: rule.app)
  }

  /// Tells who has lost a device, or the operator that none is lost for now.
  func conclude(_ forgetting: Forgetting?, of app: String) async {
    guard let forgetting else { return }
    switch forgetting {
    case .none: break
    case .forgotten(let user):
      tally.countForgotten()
      await listener?(.deviceForgotten(of: user))
    case .kept(let until):
      tally.countKept()
      let time = now()
      let isNews = forgettingPauses.withLock { pauses in
        let known = pauses.updateValue(until, forKey: app)
        return known.map { $0 <= time } ?? true
      }
      guard isNews else { return }
      log.error(
        "so many of an app's tokens were refused that no more are forgotten for now",
        metadata: ["app": "\(app)", "seconds": "\(Int((until - time).seconds.rounded(.up)))"])
    }
  }
}
