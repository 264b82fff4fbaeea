// SPDX-License-Identifier: Apache-2.0
// Converts results of HTTP requests into outcomes of pushes, for `WebPushGateway` and `MatrixGateway`.

/// The wait of a push when the queue of its destination is full.
private let crowdRest = Duration.seconds(2)

extension HTTPResult {
  /// Converts the result of a request into the outcome of a push. `interpret` converts an answer.
  func outcome(_ interpret: (HTTPAnswer) -> PushOutcome) -> PushOutcome {
    switch self {
    case .unprocessed(.tooManyWaiting): .paused(crowdRest, .tooManyWaiting)
    case .unprocessed(let reason): .retry(after: nil, reason)
    case .unknown(let reason): .retry(after: nil, reason, isUnknown: true)
    case .answered(let answer): interpret(answer)
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
