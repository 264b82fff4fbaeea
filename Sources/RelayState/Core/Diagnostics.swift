// SPDX-License-Identifier: Apache-2.0
package import Logging
package import RelayDelivery
package import RelayHub
package import RelayProtocol
import RelayPush
package import RelayStore

/// The log lines and counters of the relay.
///
/// Each request gets a line at the level debug. A rejected request gets a line at the level info, at a limited rate.
/// The log contains no token and no body. The state is private, and the methods run on the hub's thread.
package final class Diagnostics {
  package let log: Logger
  /// The counters of the relay, in addition to those of the hub, the store and the worker.
  package let tally = Tally()
  /// The minimum time between lines about a failing store.
  private var storePause = LogPause()
  /// The limit of lines about rejected requests.
  private var refusals = LogBurst()

  package init(_ log: Logger) { self.log = log }

  /// Logs that the store has failed. A failure lasts and affects everybody, so an occasional line is enough. A damage
  /// has a line of its own, see ``Store/listenToDamage(_:)``.
  package func logFailure(of error: StoreError) {
    guard !error.isDamage, storePause.isOver() else { return }
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

  /// Logs a rejected `send` of a session. Accepted messages are too many for a line each.
  package func logRefusal(of message: HubSend, _ error: RequestError) {
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
  /// True for an error that an operator or the developer of an app can fix. Other errors occur in normal use.
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
  package private(set) var invitations: UInt64 = 0
  package private(set) var invitationEnds: [InvitationEnd: UInt64] = [:]
  /// The number of Focus reports. The key is true for reports that were newer than the stored one.
  package private(set) var focusReports: [Bool: UInt64] = [:]
  /// The time from the acceptance of a message to the reply that it is stored.
  package private(set) var acknowledgements = Histogram.seconds

  package func count(_ error: ErrorCode) { errors[error, default: 0] += 1 }
  package func count(_ recovery: Recovery) { recoveries[recovery, default: 0] += 1 }
  package func count(_ end: InvitationEnd) { invitationEnds[end, default: 0] += 1 }
  func countInvitation() { invitations += 1 }
  func countFocusReport(applied: Bool) { focusReports[applied, default: 0] += 1 }
  package func countAcknowledgement(after time: Duration) { acknowledgements.observe(time.seconds) }

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
