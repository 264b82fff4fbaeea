// SPDX-License-Identifier: Apache-2.0
public import Logging
public import RelayDelivery
public import RelayProtocol
import Synchronization

/// Sends pushes to Matrix gateways: servers with the Push Gateway API. The configuration assigns them to apps.
///
/// Only the configuration sets the URL of a gateway, never a device. Tokens and texts are not logged. Safe to use
/// from any thread.
public final class MatrixGateway: Gateway {
  private let pool: HTTPPool
  private let clock: GatewayClock
  private let log: Logger
  private let state = Mutex(State())

  private struct State {
    var apps: [String: MatrixApp] = [:]
    /// The pauses by app.
    var pauses: [String: CredentialPause] = [:]
    var statistics = GatewayStatistics()
  }

  /// The name of the header with the HMAC of the body.
  static let signatureName = "X-Stillwire-Signature"

  /// - Parameter timeout: The timeout of a request: for the connection and the answer together.
  /// - Throws: An error of TLS if the system's certificates cannot be used.
  public init(timeout: Duration = .seconds(10), clock: GatewayClock, log: Logger) throws {
    var settings = PoolSettings(tls: try .client(trusting: nil), clock: clock)
    settings.timeout = timeout
    pool = HTTPPool(settings: settings)
    self.clock = clock
    self.log = log
  }

  /// Replaces the list of apps. Ends the pause of each app that has changed.
  public func serve(_ apps: [MatrixApp]) {
    state.withLock { state in
      let former = state.apps
      state.apps = Dictionary(apps.map { ($0.name, $0) }) { first, _ in first }
      state.pauses = state.pauses.filter { state.apps[$0.key] == former[$0.key] }
    }
  }

  /// Closes the connections. Requests that were sent may still be answered.
  public func close() { pool.close() }

  public var statistics: MatrixStatistics {
    state.withLock { state in
      MatrixStatistics(
        pushes: state.statistics,
        paused: state.pauses.compactMap { app, pause in pause.reason.map { PausedMatrixApp(app: app, reason: $0) } }
          .sorted { $0.app < $1.app })
    }
  }

  public func send(_ push: PhonePush, to device: Device, noting log: AttemptLog) async -> PushOutcome {
    let outcome = await outcome(of: push, to: device, noting: log)
    state.withLock { $0.statistics.count(outcome) }
    return outcome
  }

  private func outcome(of push: PhonePush, to device: Device, noting attempts: AttemptLog) async -> PushOutcome {
    guard let app = device.app.flatMap({ name in state.withLock { $0.apps[name] } }) else {
      return .dead(.noCredential)
    }
    let (wait, isTrial) = enter(app)
    if let wait { return .paused(wait.time, wait.reason) }
    let body = MatrixNotification.json(of: push, to: device, topic: device.topic ?? app.topics[0])
    var fields = [(name: "Content-Type", value: "application/json"), (name: "Accept", value: "application/json")]
    if let signature = app.signature(of: body) { fields.append((Self.signatureName, signature)) }
    let start = clock.monotonic()
    let result = await pool.send(
      OutboundRequest(
        destination: app.destination, path: app.path, fields: fields, body: body, expires: push.expires))
    return result.outcome(noting: attempts, at: clock.wall()) { answer in
      let took = clock.monotonic() - start
      state.withLock { $0.statistics.answers.observe(took.seconds) }
      let outcome =
        if let reason = answer.refusal { refused(reason, of: app, isTrial: isTrial) } else {
          PushOutcome(answer, pushkey: device.token)
        }
      if case .sent = outcome { accepted(app) }
      attempts.note(answer, outcome, at: clock.wall(), hiding: device.token)
      return outcome
    }
  }
  // MARK: Pauses

  /// Returns the wait of a push during a pause. `isTrial` is true if the push is the trial after a pause.
  private func enter(_ app: MatrixApp) -> (wait: (time: Duration, reason: GatewayReason)?, isTrial: Bool) {
    let now = clock.monotonic()
    return state.withLock { state in
      guard let reason = state.pauses[app.name]?.reason else { return (nil, false) }
      return (state.pauses[app.name]?.wait(at: now).map { ($0, reason) }, true)
    }
  }

  private func refused(_ reason: GatewayReason, of app: MatrixApp, isTrial: Bool) -> PushOutcome {
    let now = clock.monotonic()
    let refusal: (wait: Duration, isNew: Bool)? = state.withLock { state in
      // The refused request used an earlier URL or secret.
      guard state.apps[app.name] == app else { return nil }
      return state.pauses[app.name, default: CredentialPause()].refused(reason, at: now, isTrial: isTrial)
    }
    guard let refusal else { return .paused(.zero, reason) }
    if refusal.isNew {
      log.error(
        "a Matrix gateway refuses an app's pushes; they wait",
        metadata: ["app": "\(app.name)", "gateway": "\(app.destination.origin)", "reason": "\(reason.rawValue)"])
    }
    return .paused(refusal.wait + CredentialPause.stepBack, reason)
  }

  private func accepted(_ app: MatrixApp) {
    guard state.withLock({ $0.pauses[app.name]?.accepted() ?? false }) else { return }
    log.notice("a Matrix gateway accepts an app's pushes again", metadata: ["app": "\(app.name)"])
  }
}

extension HTTPAnswer {
  /// The reason if the gateway refuses all pushes of the app, so that the operator must correct the secret or the URL.
  /// Is `nil` when the answer concerns one push only.
  var refusal: GatewayReason? {
    switch status {
    case 401, 403: .forbidden
    case 404, 405: .badPath
    default: nil
    }
  }
}

extension PushOutcome {
  /// Converts a Matrix gateway's answer into the outcome of a push to one device.
  init(_ answer: HTTPAnswer, pushkey: String) {
    if let reason = answer.temporaryReason {
      self = .retry(after: answer.retryAfter, reason, isUnknown: !answer.isPlainRefusal)
      return
    }
    switch answer.status {
    case 200..<300:
      guard let rejected = answer.body.flatMap(MatrixNotification.rejected) else {
        // Another kind of server answers at the URL of the gateway.
        self = .retry(after: nil, .other, isUnknown: true)
        return
      }
      self = rejected.contains(pushkey) ? .forgetDevice(.unregistered) : .sent(.accepted)
    // The operator must correct the URL.
    case 300..<400: self = .retry(after: answer.retryAfter, .redirected)
    case 413: self = .tooLarge(.payloadTooLarge)
    default: self = .dead(.other)
    }
  }
}
