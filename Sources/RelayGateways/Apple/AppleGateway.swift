// SPDX-License-Identifier: Apache-2.0
public import Logging
import NIOSSL
public import RelayDelivery
public import RelayProtocol
import Synchronization

/// Sends pushes to Apple's service (APNs): HTTP/2, authenticated with a token for each key.
///
/// Source: Apple's "Sending notification requests to APNs". Each attempt at a push has the same `apns-id`. Device
/// tokens and provider tokens are not logged. Safe to use from any thread.
public final class AppleGateway: Gateway {
  let service: AppleService
  let clock: GatewayClock
  private let tls: NIOSSLContext
  private let log: Logger
  private let state = Mutex(State())

  private struct State {
    var apps: [String: AppleApp] = [:]
    /// The provider tokens by key id.
    var tokens: [String: ProviderTokens] = [:]
    var pools: [PoolName: AppleConnectionPool] = [:]
    var pauses: [Lane: CredentialPause] = [:]
    /// The environments of device tokens that the service rejected in the other environment.
    var environments = RecentlyUsed<String, PushEnvironment>(capacity: AppleGateway.maxRemembered)
    /// The end of the rest of devices that received too many pushes (429), by device token.
    var resting = RecentlyUsed<String, ContinuousClock.Instant>(capacity: AppleGateway.maxRemembered)
    var statistics = AppleStatistics()
    var isClockChecked = false
  }

  private struct PoolName: Hashable {
    let key: String
    let environment: PushEnvironment
  }

  /// The pushes that are paused together.
  struct Lane: Hashable {
    let app: String
    let environment: PushEnvironment
  }

  static let maxRemembered = 10_000
  /// The time in one call after which no new attempt begins, because the caller's claim of the push expires.
  static let patience = Duration.seconds(20)
  /// The permitted difference between the service's clock and this machine's. At an hour, the service refuses tokens.
  static let clockTolerance = Duration.seconds(10 * 60)

  /// - Throws: An error of TLS if the certificates cannot be used.
  public init(_ service: AppleService, clock: GatewayClock, log: Logger) throws {
    self.service = service
    self.clock = clock
    self.log = log
    tls = try .client(trusting: service.caFile, protocols: ["h2"])
  }

  /// Replaces the list of apps. Ends the pauses of each app that has changed, and closes connections of changed keys.
  public func serve(_ apps: [AppleApp]) {
    let replaced = state.withLock { state in
      let former = state.apps
      state.apps = Dictionary(apps.map { ($0.name, $0) }) { first, _ in first }
      let keys = Dictionary(apps.map { ($0.key.id, $0.key) }) { first, _ in first }
      let changed = Set(former.values.map(\.key).filter { keys[$0.id] != $0 }.map(\.id))
      for key in changed { state.tokens[key] = nil }
      for app in former.values where state.apps[app.name] != app {
        for environment in PushEnvironment.allCases {
          state.pauses[Lane(app: app.name, environment: environment)] = nil
        }
      }
      let replaced = state.pools.filter { changed.contains($0.key.key) }
      for name in replaced.keys { state.pools[name] = nil }
      return replaced.values
    }
    for pool in replaced { pool.close() }
  }

  /// Closes the connections. Requests that were sent may still be answered.
  public func close() {
    for pool in state.withLock({ $0.pools.values }) { pool.close() }
  }

  public var statistics: AppleStatistics {
    let now = clock.monotonic()
    return state.withLock { state in
      var statistics = state.statistics
      for load in state.pools.values.map(\.currentLoad) {
        statistics.connections += load.connections
        statistics.streams += load.requests
      }
      statistics.tokenAge = state.tokens.values.compactMap { $0.token.map { now - $0.made } }.max()
      statistics.paused = state.pauses.compactMap { lane, pause in
        pause.reason.map { PausedApp(app: lane.app, environment: lane.environment, reason: $0) }
      }.sorted { ($0.app, $0.environment.rawValue) < ($1.app, $1.environment.rawValue) }
      return statistics
    }
  }

  public func send(_ push: PhonePush, to device: Device, noting log: AttemptLog) async -> PushOutcome {
    guard let rendered = push.rendered else { return .dead(.payloadTooLarge) }
    return await send(rendered, to: device, noting: log)
  }

  /// Sends a rendered push. The load generator calls it, because it chooses payloads itself.
  package func send(_ push: Push, to device: Device, noting log: AttemptLog = AttemptLog()) async -> PushOutcome {
    guard let app = app(of: device) else { return count(.dead(.noCredential)) }
    return count(await attempt(of: push, to: device, app, noting: log))
  }

  private func app(of device: Device) -> AppleApp? {
    device.app.flatMap { name in state.withLock { $0.apps[name] } }
  }

  private func attempt(
    of push: Push, to device: Device, _ first: AppleApp, noting attempts: AttemptLog
  ) async -> PushOutcome {
    var (push, app) = (push, first)
    push.headers.topic =
      (device.topic ?? app.topics[0]) + (push.headers.type == .voip ? PushHeaders.voipSuffix : "")
    let token = push.token(of: device)
    let request = AppleRequest(deviceToken: token, fields: push.fields, payload: push.payload, expires: push.expires)
    let end = clock.monotonic() + Self.patience
    var lane = Lane(app: app.name, environment: environment(of: device, token, app))
    var steps: Set<AppleStep> = []
    var isUnknown = false

    while true {
      // Use the app's current key. A reload ends requests that wait for a connection with the former key.
      app = self.app(of: device) ?? app
      let (wait, isTrial) = enter(lane, token)
      if let wait {
        return isUnknown ? .retry(after: wait.time, wait.reason, isUnknown: true) : .paused(wait.time, wait.reason)
      }
      let pool = pool(of: app.key, lane.environment)
      let destination = service.destination(of: lane.environment)
      switch await pool.send(request, to: destination) {
      case .unprocessed(let reason, let cause):
        attempts.note(PushAttempt(time: clock.wall(), reason: reason.rawValue, words: cause))
        guard reason == .connectionLost, steps.insert(.reconnected).inserted, clock.monotonic() < end else {
          return .retry(after: nil, reason, isUnknown: isUnknown)
        }
      case .unknown(let reason):
        isUnknown = true
        attempts.note(PushAttempt(time: clock.wall(), reason: reason.rawValue))
        guard reason != .cancelled, steps.insert(.reconnected).inserted, clock.monotonic() < end else {
          return .retry(after: nil, reason, isUnknown: true)
        }
      case .answered(let reply):
        let answer = reply.answer
        note(answer, reply.took)
        attempts.note(PushAttempt(time: clock.wall(), status: answer.status, reason: answer.reason))
        let decision = AppleDecision(
          answer, after: steps, isEnvironmentKnown: device.environment != nil,
          canRenewToken: answer.reason == GatewayReason.expiredProviderToken.rawValue
            && expired(reply.token, of: app.key))
        let reason = GatewayReason(words: answer.reason)
        if decision != .pause, answer.status != 403, answer.status < 500 { accepted(lane) }
        switch decision {
        case .sent:
          if steps.contains(.switchedEnvironment) { remember(lane.environment, of: token) }
          return .sent(.accepted)
        case .retry(let after):
          // After an internal error of the service, the push may have been delivered.
          return .retry(after: after, reason, isUnknown: isUnknown || answer.status >= 500 && answer.status != 503)
        case .reconnect:
          pool.retire(reply.connection, to: destination)
          steps.insert(.reconnected)
        case .renewToken: steps.insert(.renewedToken)
        case .switchEnvironment:
          steps.insert(.switchedEnvironment)
          lane = Lane(app: lane.app, environment: lane.environment.other)
        case .forget(let time): return .forgetDevice(reason, registeredBefore: time)
        case .dead: return .dead(reason)
        case .pause:
          let wait = refused(lane, reason, isTrial: isTrial)
          return isUnknown ? .retry(after: wait, reason, isUnknown: true) : .paused(wait, reason)
        case .spareDevice(let rest):
          spare(token, for: rest)
          return .retry(after: rest, reason, isUnknown: isUnknown)
        case .keepToken(let after):
          keepToken(of: app.key)
          return .retry(after: after, reason, isUnknown: isUnknown)
        case .shorten: return .tooLarge(reason)
        }
        guard clock.monotonic() < end else { return .retry(after: nil, reason, isUnknown: isUnknown) }
      }
    }
  }

  // MARK: Devices

  private func environment(of device: Device, _ token: String, _ app: AppleApp) -> PushEnvironment {
    if let environment = device.environment { return environment }
    return state.withLock { $0.environments.use(token) { $0 } } ?? app.environment
  }

  private func remember(_ environment: PushEnvironment, of token: String) {
    state.withLock { state in
      if state.environments.use(token, { $0 = environment }) == nil {
        _ = state.environments.insert(environment, for: token)
      }
    }
  }

  private func spare(_ token: String, for rest: Duration) {
    let end = clock.monotonic() + rest
    state.withLock { state in
      if state.resting.use(token, { $0 = end }) == nil { _ = state.resting.insert(end, for: token) }
    }
  }

  // MARK: Credentials

  /// Returns the wait of a push during a pause or a device's rest. `isTrial` is true if the push is the trial after a
  /// pause.
  private func enter(_ lane: Lane, _ token: String) -> (wait: (time: Duration, reason: GatewayReason)?, isTrial: Bool) {
    let now = clock.monotonic()
    return state.withLock { state in
      if let end = state.resting.use(token, { $0 }), now < end { return ((end - now, .tooManyRequests), false) }
      guard let reason = state.pauses[lane]?.reason else { return (nil, false) }
      return (state.pauses[lane]?.wait(at: now).map { ($0, reason) }, true)
    }
  }

  private func refused(_ lane: Lane, _ reason: GatewayReason, isTrial: Bool) -> Duration {
    let now = clock.monotonic()
    let (wait, isNew) = state.withLock {
      $0.pauses[lane, default: CredentialPause()].refused(reason, at: now, isTrial: isTrial)
    }
    if isNew {
      log.error(
        "Apple's service refuses an app's pushes; they wait",
        metadata: ["app": "\(lane.app)", "environment": "\(lane.environment)", "reason": "\(reason.rawValue)"])
    }
    return wait
  }

  private func accepted(_ lane: Lane) {
    guard state.withLock({ $0.pauses[lane]?.accepted() ?? false }) else { return }
    log.notice(
      "Apple's service accepts an app's pushes again",
      metadata: ["app": "\(lane.app)", "environment": "\(lane.environment)"])
  }

  private func pool(of key: ProviderKey, _ environment: PushEnvironment) -> AppleConnectionPool {
    let name = PoolName(key: key.id, environment: environment)
    return state.withLock { state in
      if let pool = state.pools[name] { return pool }
      var settings = PoolSettings.apple(tls: tls, clock: clock)
      settings.connections = service.connections
      settings.streams = service.streams
      settings.timeout = service.timeout
      // Weak, because the gateway holds its pools.
      let pool = AppleConnectionPool(
        settings: settings,
        authorize: { [weak self] in
          guard let self else { throw CancellationError() }
          return try self.token(of: key)
        }, log: log)
      state.pools[name] = pool
      return pool
    }
  }

  private func token(of key: ProviderKey) throws -> ProviderTokens.Token {
    let (now, wall) = (clock.monotonic(), clock.wall())
    return try state.withLock { try $0.tokens[key.id, default: ProviderTokens(key: key)].current(at: now, wall: wall) }
  }

  private func expired(_ token: ProviderTokens.Token, of key: ProviderKey) -> Bool {
    let now = clock.monotonic()
    return state.withLock { $0.tokens[key.id, default: ProviderTokens(key: key)].expired(token, at: now) }
  }

  private func keepToken(of key: ProviderKey) {
    let now = clock.monotonic()
    state.withLock { $0.tokens[key.id]?.changedTooOften(at: now) }
  }

  // MARK: Counting

  private func note(_ answer: AppleAnswer, _ took: Duration) {
    let wall = clock.wall()
    let skew: Duration? = state.withLock { state in
      state.statistics.answers.observe(took.seconds)
      guard !state.isClockChecked, let date = answer.date else { return nil }
      state.isClockChecked = true
      return wall - date
    }
    guard let skew, max(skew, .zero - skew) > Self.clockTolerance else { return }
    log.warning(
      "this machine's clock differs from Apple's, so that Apple's service may refuse its tokens",
      metadata: ["seconds": "\(Int(skew.seconds))"])
  }

  private func count(_ outcome: PushOutcome) -> PushOutcome {
    state.withLock { state in
      if let reason = outcome.reason {
        state.statistics.refused[reason, default: 0] += 1
      } else {
        state.statistics.accepted += 1
      }
    }
    return outcome
  }
}
