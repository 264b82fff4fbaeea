// SPDX-License-Identifier: Apache-2.0
// Converts results of HTTP requests into outcomes of pushes, for `WebPushGateway` and `MatrixGateway`.
import RelayProtocol

/// The wait of a push when the queue of its destination is full.
private let crowdRest = Duration.seconds(2)

extension HTTPResult {
  /// Converts the result of a request into the outcome of a push, and notes an attempt that has no answer.
  /// `interpret` converts an answer.
  func outcome(
    noting attempts: AttemptLog, at time: Timestamp, _ interpret: (HTTPAnswer) -> PushOutcome
  ) -> PushOutcome {
    switch self {
    case .unprocessed(.tooManyWaiting, _): return .paused(crowdRest, .tooManyWaiting)
    case .unprocessed(let reason, let cause):
      attempts.note(PushAttempt(time: time, reason: reason.rawValue, words: cause))
      return .retry(after: nil, reason)
    case .unknown(let reason):
      attempts.note(PushAttempt(time: time, reason: reason.rawValue))
      return .retry(after: nil, reason, isUnknown: true)
    case .answered(let answer): return interpret(answer)
    }
  }
}

extension HTTPAnswer {
  /// The reason if a retry may succeed (RFC 9110, section 15; RFC 6585, section 4), or else `nil`.
  var temporaryReason: GatewayReason? {
    switch status {
    case 408: .timeout
    case 429: .tooManyRequests
    case 503: .serviceUnavailable
    case 500...: .internalServerError
    default: nil
    }
  }

  /// True if the service certainly did not process the push. With another temporary status the push may have been sent,
  /// because a proxy may have answered for the service.
  var isPlainRefusal: Bool { status == 429 || status == 503 }
}
