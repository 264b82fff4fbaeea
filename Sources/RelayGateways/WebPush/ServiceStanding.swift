// SPDX-License-Identifier: Apache-2.0

/// Decides whether the relay sends pushes to one push service of browsers, from its earlier answers to the relay's key.
///
/// A client registers a subscription, and may have made it with another key. One refusal therefore stops the pushes of
/// that device alone. The pushes of all devices pause when the service refused ``minDevices`` distinct devices and
/// accepted none in between.
struct ServiceStanding {
  /// The hash of a subscription's endpoint, because endpoints are long. A client can invent any keys for an endpoint,
  /// so devices with the same endpoint count once.
  typealias Subscription = Int

  private var pause = CredentialPause()
  private var accepted: ContinuousClock.Instant?
  /// The subscriptions refused since the last acceptance, the newest last; at most ``maxRefused``.
  private var refused: [Subscription] = []
  /// The time of the newest probe of this pause.
  private var probed: ContinuousClock.Instant?

  /// The number of distinct subscriptions that a service must refuse before it is paused.
  static let minDevices = 3
  /// The capacity of the list of refused subscriptions.
  static let maxRefused = 16
  /// For this time after an acceptance, a refusal concerns one subscription only.
  static let trust = Duration.seconds(60)
  /// The interval of probes: during a pause, one push to a subscription that was not refused yet is sent in this time.
  static let probeInterval = CredentialPause.minLength

  /// The result of a refusal.
  enum Refusal: Equatable {
    /// The subscription was made with another key: the push never succeeds.
    case subscription
    /// The cause is not known yet. Send this push again after the wait.
    case uncertain(Duration)
    /// The service refuses the key. `isNew`: the pause has just begun, or its reason changed.
    case service(wait: Duration, isNew: Bool)
  }

  /// The reason of the pause; `nil` when there is none.
  var reason: GatewayReason? { pause.reason }

  /// The answer to a push that is about to be sent.
  enum Entry: Equatable {
    case send
    /// Send it: it ends the pause if the service accepts it, and lengthens the pause if the service refuses it.
    case trial
    case wait(Duration)
  }

  /// Decides about a push to `subscription`. During a pause, subscriptions that were not refused are probed, so that
  /// the refused ones cannot prolong a pause for all others.
  mutating func entry(of subscription: Subscription, at now: ContinuousClock.Instant) -> Entry {
    guard pause.reason != nil else { return .send }
    if !refused.contains(subscription), probed.map({ now - $0 >= Self.probeInterval }) ?? true {
      probed = now
      return .send
    }
    return pause.wait(at: now).map(Entry.wait) ?? .trial
  }

  /// Records that the service accepted a push.
  /// - Returns: True if this ends a pause.
  mutating func accepted(at now: ContinuousClock.Instant) -> Bool {
    let ended = pause.accepted()
    self = ServiceStanding()
    accepted = now
    return ended
  }

  /// Records that the service refused the key for `subscription`.
  /// - Parameter isTrial: The push was sent as ``Entry/trial``.
  mutating func refused(
    _ reason: GatewayReason, for subscription: Subscription, at now: ContinuousClock.Instant, isTrial: Bool
  ) -> Refusal {
    if let accepted, now - accepted < Self.trust { return .subscription }
    if !refused.contains(subscription) {
      if refused.count == Self.maxRefused { refused.removeFirst() }
      refused.append(subscription)
    }
    guard pause.reason != nil || refused.count >= Self.minDevices else { return .uncertain(CredentialPause.minLength) }
    let refusal = pause.refused(reason, at: now, isTrial: isTrial)
    return .service(wait: refusal.wait, isNew: refusal.isNew)
  }
}
