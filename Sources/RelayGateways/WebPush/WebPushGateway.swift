// SPDX-License-Identifier: Apache-2.0
public import Logging
import NIOSSL
public import RelayDelivery
public import RelayProtocol
import Synchronization

/// Sends pushes to the push services of browsers: RFC 8030, with encryption (RFC 8291) and VAPID (RFC 8292).
///
/// A client chooses the endpoint of a subscription. The relay therefore validates it three times: when the device
/// registers, here before each push, and by IP address when a connection opens. Endpoints and keys are not logged.
/// Safe to use from any thread.
public final class WebPushGateway: Gateway {
  private let pool: HTTPPool
  private let clock: GatewayClock
  private let log: Logger
  private let state = Mutex(State())

  private struct State {
    var key: VAPIDKey?
    var tokens: VAPIDTokens?
    var services = PushServices()
    /// The state of each push service, by origin.
    var standings = RecentlyUsed<String, ServiceStanding>(capacity: WebPushGateway.maxOrigins)
    var statistics = GatewayStatistics()
  }

  /// The largest payload in bytes, before the tag and the encryption.
  public static let maxPayload = SubscriptionKeys.maxTextLength - Push.maxTagLength

  static let maxOrigins = 256
  /// - Throws: An error of TLS if the certificates cannot be used.
  public init(_ service: WebPushService, clock: GatewayClock, log: Logger) throws {
    var settings = PoolSettings(
      tls: try .client(trusting: service.caFile), clock: clock,
      policy: AddressPolicy(allowed: service.allowedAddresses))
    settings.timeout = service.timeout
    pool = HTTPPool(settings: settings)
    self.clock = clock
    self.log = log
  }

  /// Sets the key and the allowed services. A changed key ends all pauses.
  /// - Parameter key: Is `nil` when the relay sends no pushes to browsers.
  public func serve(_ key: VAPIDKey?, to services: PushServices) {
    state.withLock { state in
      state.services = services
      guard state.key != key else { return }
      state.key = key
      state.tokens = key.map(VAPIDTokens.init)
      state.standings = RecentlyUsed(capacity: Self.maxOrigins)
    }
  }

  /// Closes the connections. Requests that were sent may still be answered.
  public func close() { pool.close() }

  public var statistics: WebPushStatistics {
    state.withLock { state in
      WebPushStatistics(
        pushes: state.statistics,
        paused: state.standings.all.compactMap { origin, standing in
          standing.reason.map { PausedService(origin: origin, reason: $0) }
        }.sorted { $0.origin < $1.origin })
    }
  }

  public func send(_ push: PhonePush, to device: Device, noting log: AttemptLog) async -> PushOutcome {
    guard let rendered = push.rendered else { return .dead(.payloadTooLarge) }
    return await send(rendered, push.urgency, to: device, noting: log)
  }

  /// - Parameter urgency: Is `nil` for a push that shows nothing: browsers do not allow such pushes.
  func send(
    _ push: Push, _ urgency: Urgency?, to device: Device, noting log: AttemptLog = AttemptLog()
  ) async -> PushOutcome {
    let outcome = await outcome(of: push, urgency, to: device, noting: log)
    state.withLock { $0.statistics.count(outcome) }
    return outcome
  }

  private func outcome(
    of push: Push, _ urgency: Urgency?, to device: Device, noting attempts: AttemptLog
  ) async -> PushOutcome {
    let (services, key) = state.withLock { ($0.services, $0.key) }
    guard let key else { return .dead(.noCredential) }
    guard let subscription = WebPushSubscription(token: device.token, services: services) else {
      return .dead(.badSubscription)
    }
    guard let urgency else { return .dead(.invalidPushType) }
    guard push.payload.count <= Self.maxPayload else {
      return .tooLarge(.payloadTooLarge, maxSize: Self.maxPayload)
    }
    let origin = subscription.destination.origin
    let endpoint = subscription.endpointHash
    let (entry, reason) = enter(origin, endpoint)
    if case .wait(let time) = entry { return .paused(time, reason ?? .forbidden) }
    guard let body = try? subscription.keys.seal(push.taggedPayload), let authorization = authorization(for: origin)
    else {
      return .dead(.other)
    }
    let start = clock.monotonic()
    let result = await pool.send(
      OutboundRequest(
        destination: subscription.destination, path: subscription.path,
        fields: push.webPushFields(urgency, topic: key.topic(of: push), now: clock.wall())
          + [("Authorization", authorization)],
        body: body, expires: push.expires))
    return result.outcome(noting: attempts, at: clock.wall()) { answer in
      let took = clock.monotonic() - start
      state.withLock { $0.statistics.answers.observe(took.seconds) }
      let outcome = self.outcome(
        of: WebPushDecision(answer), of: endpoint, at: origin, isTrial: entry == .trial)
      attempts.note(answer, outcome, at: clock.wall(), hiding: subscription.path)
      return outcome
    }
  }

  private func outcome(
    of decision: WebPushDecision, of subscription: ServiceStanding.Subscription, at origin: String, isTrial: Bool
  ) -> PushOutcome {
    switch decision {
    case .sent:
      accepted(at: origin)
      return .sent(.accepted)
    case .retry(let after, let reason, let isUnknown): return .retry(after: after, reason, isUnknown: isUnknown)
    case .forget: return .forgetDevice(.unregistered)
    case .refused(let reason): return refused(reason, subscription, at: origin, isTrial: isTrial)
    case .shorten: return .tooLarge(.payloadTooLarge)
    case .dead(let reason): return .dead(reason)
    }
  }

  private func authorization(for origin: String) -> String? {
    let (now, wall) = (clock.monotonic(), clock.wall())
    return state.withLock { try? $0.tokens?.authorization(for: origin, at: now, wall: wall) }
  }

  // MARK: Standing

  private func enter(
    _ origin: String, _ subscription: ServiceStanding.Subscription
  ) -> (entry: ServiceStanding.Entry, reason: GatewayReason?) {
    let now = clock.monotonic()
    return state.withLock { state in
      state.standings.use(origin) { ($0.entry(of: subscription, at: now), $0.reason) } ?? (.send, nil)
    }
  }

  private func accepted(at origin: String) {
    let now = clock.monotonic()
    let hasEnded = change(origin) { $0.accepted(at: now) }
    if hasEnded { log.notice("a push service accepts pushes again", metadata: ["origin": "\(origin)"]) }
  }

  private func refused(
    _ reason: GatewayReason, _ subscription: ServiceStanding.Subscription, at origin: String, isTrial: Bool
  ) -> PushOutcome {
    let now = clock.monotonic()
    let refusal = change(origin) { $0.refused(reason, for: subscription, at: now, isTrial: isTrial) }
    switch refusal {
    case .subscription: return .dead(reason)
    case .uncertain(let wait): return .retry(after: wait, reason)
    case .service(let wait, let isNew):
      if isNew {
        log.error(
          "a push service refuses the relay's key for several devices; its pushes wait",
          metadata: ["origin": "\(origin)", "reason": "\(reason.rawValue)"])
      }
      return .paused(wait + CredentialPause.stepBack, reason)
    }
  }

  private func change<T: Sendable>(
    _ origin: String, _ body: @Sendable (inout ServiceStanding) -> T
  ) -> T {
    state.withLock { state in
      if let result = state.standings.use(origin, body) { return result }
      var standing = ServiceStanding()
      let result = body(&standing)
      _ = state.standings.insert(standing, for: origin)
      return result
    }
  }
}
