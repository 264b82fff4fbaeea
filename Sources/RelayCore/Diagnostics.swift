// SPDX-License-Identifier: Apache-2.0
package import Logging
package import RelayDelivery
package import RelayHub
package import RelayProtocol
import RelayPush
import RelayStore

/// The log lines and counters of the relay.
///
/// Each request gets a line at the level debug. A refusal gets one at info, at a bounded rate. No token and no body is
/// logged. The state is private, and the methods run on the relay's thread.
package final class Diagnostics {
  package let log: Logger
  /// The counters of the relay itself, in addition to those of the hub, the store and the worker.
  package let tally = Tally()
  /// The pause between lines about a store that fails.
  private var storePause = LogPause()
  /// The bound of lines about refused requests.
  private var refusals = LogBurst()

  init(_ log: Logger) { self.log = log }

  /// Logs that the store has failed. It fails for everybody and for a while, so that a line now and then is enough.
  func logFailure(of error: StoreError) {
    guard storePause.isOver() else { return }
    log.error("\(error)", metadata: ["code": "\(error.code.rawValue)"])
  }

  /// Logs an HTTP request.
  /// - Parameters:
  ///   - route: The template of the path. Is `nil` for the page and for an unknown path.
  ///   - status: Is `nil` if a stream has begun.
  package func logRequest(
    _ request: HTTPRequest, route: String?, status: Int?, error: RequestError?, since start: ContinuousClock.Instant
  ) {
    note(error, isDebug: log.logLevel <= .debug) {
      [
        "id": "\(String(request.exchange.rawValue, radix: 36))", "method": "\(request.method)",
        "route": "\(route ?? "-")", "status": "\(status.map(String.init) ?? "stream")",
        "duration": "\(ContinuousClock.now - start)",
      ]
    }
  }

  /// Logs a request of a session.
  package func logRequest(_ request: HubRequest, error: RequestError?, since start: ContinuousClock.Instant) {
    note(error, isDebug: log.logLevel <= .debug) {
      [
        "session": "\(String(request.session.rawValue, radix: 36))", "type": "\(request.type)",
        "status": "\(error?.code.rawValue ?? "ok")", "duration": "\(ContinuousClock.now - start)",
      ]
    }
  }

  /// Logs a refused `send` of a session. Messages are too many for a line each.
  func logRefusal(of message: HubSend, _ error: RequestError) {
    note(error, isDebug: false) {
      [
        "session": "\(String(message.session.rawValue, radix: 36))", "type": "send",
        "status": "\(error.code.rawValue)",
      ]
    }
  }

  private func note(_ error: RequestError?, isDebug: Bool, _ facts: () -> Logger.Metadata) {
    let leftOut = error?.isRefusal == true ? refusals.take() : nil
    guard isDebug || leftOut != nil else { return }
    var facts = facts()
    if let error {
      facts["code"] = "\(error.code.rawValue)"
      facts["reason"] = "\(error.message.prefix(200))"
    }
    if let leftOut {
      if leftOut > 0 { facts["leftOut"] = "\(leftOut)" }
      log.info("a request was refused", metadata: facts)
    } else {
      log.debug("a request", metadata: facts)
    }
  }
}

extension RequestError {
  /// True for a refusal that an operator or an app's developer can end. Other errors are a part of normal use.
  fileprivate var isRefusal: Bool {
    switch code {
    case .unauthorized, .forbidden, .rateLimited, .tooLarge: true
    default: false
    }
  }
}

/// The counters of the relay itself.
package final class Tally {
  package enum Recovery: String, CaseIterable {
    case recovered
    case notRecovered = "not_recovered"
    /// A `join` without `after`.
    case notAsked = "not_asked"
  }

  package enum Outcome: String, CaseIterable { case push, wait, hold, none }

  package private(set) var errors: [ErrorCode: UInt64] = [:]
  package private(set) var recoveries: [Recovery: UInt64] = [:]
  package private(set) var decisions: [Outcome: UInt64] = [:]
  /// Focus reports. The key is true for reports that were newer than the stored one.
  package private(set) var focusReports: [Bool: UInt64] = [:]
  /// The time from a message's acceptance until the relay has replied that it is stored.
  package private(set) var acknowledgements = Histogram.seconds

  package func count(_ error: ErrorCode) { errors[error, default: 0] += 1 }
  package func count(_ recovery: Recovery) { recoveries[recovery, default: 0] += 1 }
  func countFocusReport(applied: Bool) { focusReports[applied, default: 0] += 1 }
  func countAcknowledgement(after time: Duration) { acknowledgements.observe(time.seconds) }

  package func count(_ outcome: Decision.Outcome) {
    let outcome: Outcome =
      switch outcome {
      case .push: .push
      case .wait: .wait
      case .hold: .hold
      case .none: .none
      }
    decisions[outcome, default: 0] += 1
  }
}
