// SPDX-License-Identifier: Apache-2.0
import Logging
import RelayProtocol
import RelayStore
import Synchronization

/// What became of a token that a gateway refused.
struct Forgetting: Sendable {
  /// Until when none of the app's is forgotten; nil: this one went, unless it was gone.
  let pause: Timestamp?
  /// Whose it was; nil: nobody's any more, or it stays.
  let user: UserID?

  /// Behind the reason of a push whose device stays.
  static let pauseNote = "not forgotten, because too many were"

  init(pause: Timestamp?, of user: UserID?) {
    self.pause = pause
    self.user = user
  }
}

/// An app of which no more tokens are forgotten for now.
struct ForgettingPause: Sendable {
  let app: String
  let until: Timestamp

  /// Safe as a label, in the style of the gateways' reasons.
  static let reason = "TooManyForgotten"
}

extension PushWorker {
  /// Apps of which no tokens are forgotten, as far as this run has noticed. Any thread.
  nonisolated var pausedForgetting: [ForgettingPause] {
    let time = now()
    return forgettingPauses.withLock { pauses in
      pauses = pauses.filter { $0.value > time }
      return pauses.map { ForgettingPause(app: $0.key, until: $0.value) }.sorted { $0.app < $1.app }
    }
  }

  /// Until when nothing of the device's app is forgotten, as far as this run has noticed: the store has to count for it.
  func knownPause(of device: Device) -> Timestamp? {
    let time = now()
    return forgettingPauses.withLock { $0[device.app ?? Self.defaultTopic] }.flatMap { $0 > time ? $0 : nil }
  }

  func forget(_ device: Device, registeredBefore time: Timestamp) async {
    await forget(device) { try $0.forget(token: device.token, platform: device.platform, registeredBefore: time)?.user }
  }

  func forgetVoIPToken(of device: Device, registeredBefore time: Timestamp) async {
    guard let token = device.voipToken else { return }
    await forget(device) {
      try $0.forget(voipToken: token, platform: device.platform, registeredBefore: time)?.user
    }
  }

  /// - Parameter work: Returns whose token it was.
  private func forget(_ device: Device, _ work: @escaping @Sendable (Transaction) throws -> UserID?) async {
    do {
      let known = knownPause(of: device)
      let forgetting = try await store.write { transaction in
        let pause = try known ?? transaction.forgettingPause(of: device.app)
        return Forgetting(pause: pause, of: try pause == nil ? work(transaction) : nil)
      }
      await conclude(forgetting, device)
    } catch {
      if logPause.isOver() { log.error("a dead token cannot be forgotten: \(error)") }
    }
  }

  /// Tells who has lost a device, or the operator that none is lost for now.
  func conclude(_ forgetting: Forgetting, _ device: Device) async {
    if let user = forgetting.user {
      tally.countForgotten()
      await listener?(.deviceForgotten(of: user))
    }
    guard let until = forgetting.pause else { return }
    tally.countKept()
    let (app, time) = (device.app ?? Self.defaultTopic, now())
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
