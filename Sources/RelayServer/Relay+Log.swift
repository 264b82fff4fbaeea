// SPDX-License-Identifier: Apache-2.0
import Logging
import RelayHub
import RelayProtocol

/// Lines about requests: each at the level debug, refusals at info and at a bounded rate. No token and no body is logged.
extension Relay {
  /// - Parameters:
  ///   - route: The template of the path. Is `nil` for the page and for an unknown path.
  ///   - status: Is `nil` if a stream has begun.
  func logRequest(
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

  /// A request of a session, which ``answer(_:)`` has answered.
  func logRequest(_ request: HubRequest, error: RequestError?, since start: ContinuousClock.Instant) {
    note(error, isDebug: log.logLevel <= .debug) {
      [
        "session": "\(String(request.session.rawValue, radix: 36))", "type": "\(request.type)",
        "status": "\(error?.code.rawValue ?? "ok")", "duration": "\(ContinuousClock.now - start)",
      ]
    }
  }

  /// A `send` of a session. Only refusals are logged: messages are too many for a line each.
  func logRefusal(of message: HubSend, _ error: RequestError) {
    note(error, isDebug: false) {
      [
        "session": "\(String(message.session.rawValue, radix: 36))", "type": "send",
        "status": "\(error.code.rawValue)",
      ]
    }
  }

  private func note(_ error: RequestError?, isDebug: Bool, _ facts: () -> Logger.Metadata) {
    let leftOut = error?.isRefusal == true ? refusalLog.take() : nil
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
