// SPDX-License-Identifier: Apache-2.0
public import Logging
public import RelayDelivery
public import RelayProtocol
import Synchronization

/// Push gateways of Matrix's kind, which reach the devices of apps that are set up so. Any thread.
///
/// Where a gateway is comes from the configuration, never from a device. Tokens and texts are not logged.
public final class HTTPGateway: Gateway {
  private let pool: HTTPPool
  private let clock: GatewayClock
  private let state = Mutex(State())

  private struct State {
    var apps: [String: HTTPGatewayApp] = [:]
    var statistics = GatewayStatistics()
  }

  /// Of the header that has the HMAC of the body.
  static let signatureName = "X-Stillwire-Signature"

  /// Throws when the system's certificates cannot be used.
  /// - Parameter timeout: For a connection and an answer together.
  public init(timeout: Duration = .seconds(10), clock: GatewayClock, log: Logger) throws {
    var settings = HTTPPoolSettings(tls: try .client(trusting: nil), clock: clock)
    settings.timeout = timeout
    pool = HTTPPool(settings: settings, log: log)
    self.clock = clock
  }

  /// Serves these apps from now on.
  public func serve(_ apps: [HTTPGatewayApp]) {
    state.withLock { $0.apps = Dictionary(apps.map { ($0.name, $0) }) { first, _ in first } }
  }

  /// Closes the connections; what is under way may be answered.
  public func close() { pool.close() }

  public var statistics: GatewayStatistics { state.withLock { $0.statistics } }

  public func send(_ push: Push, to device: Device, noting log: AttemptLog) async -> PushOutcome {
    let outcome = await outcome(of: push, to: device, noting: log)
    state.withLock { $0.statistics.count(outcome) }
    return outcome
  }

  private func outcome(of push: Push, to device: Device, noting attempts: AttemptLog) async -> PushOutcome {
    guard let app = device.app.flatMap({ name in state.withLock { $0.apps[name] } }) else {
      return .dead(.noCredential)
    }
    let body = MatrixNotification.json(of: push, to: device, topic: device.topic ?? app.topics[0])
    var fields = [(name: "Content-Type", value: "application/json"), (name: "Accept", value: "application/json")]
    if let signature = app.signature(of: body) { fields.append((Self.signatureName, signature)) }
    let start = clock.monotonic()
    let fate = await pool.send(
      HTTPPost(
        destination: app.destination, path: app.path, fields: fields, body: body, expires: push.expires))
    return fate.outcome { answer in
      let took = clock.monotonic() - start
      state.withLock { $0.statistics.answers.observe(took.seconds) }
      let outcome = PushOutcome(answer, pushkey: device.token)
      attempts.note(answer, outcome, at: clock.wall(), hiding: device.token)
      return outcome
    }
  }
}

extension PushOutcome {
  /// What a push gateway's answer means for the push to one device.
  init(_ answer: HTTPAnswer, pushkey: String) {
    if let reason = answer.temporaryReason {
      self = .retry(after: answer.retryAfter, reason)
      return
    }
    switch answer.status {
    case 200..<300:
      guard let rejected = answer.body.flatMap(MatrixNotification.rejected) else {
        // Something else stands where the gateway is to be.
        self = .retry(after: nil, .other, isUnknown: true)
        return
      }
      self = rejected.contains(pushkey) ? .forgetDevice(.unregistered) : .sent(.accepted)
    // The operator has to mend where the URL leads.
    case 300..<400: self = .retry(after: answer.retryAfter, .redirected)
    case 413: self = .tooLarge(.payloadTooLarge)
    default: self = .dead(.other)
    }
  }
}
