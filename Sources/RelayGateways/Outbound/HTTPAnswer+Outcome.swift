// SPDX-License-Identifier: Apache-2.0

extension HTTPResult {
  /// How long a push waits when too many to the same place do.
  private static let crowdRest = Duration.seconds(2)

  /// What came of a push, with `judge` for what an answer means.
  func outcome(_ judge: (HTTPAnswer) -> PushOutcome) -> PushOutcome {
    switch self {
    case .unprocessed(.tooManyWaiting): .paused(Self.crowdRest, .tooManyWaiting)
    case .unprocessed(let reason): .retry(after: nil, reason)
    case .unknown(let reason): .retry(after: nil, reason, isUnknown: true)
    case .answered(let answer): judge(answer)
    }
  }
}

extension HTTPAnswer {
  /// Why it may go well later (RFC 9110, section 15; RFC 6585, section 4); nil: it is about something else.
  var temporaryReason: GatewayReason? {
    switch status {
    case 408: .timeout
    case 429: .tooManyRequests
    case 503: .serviceUnavailable
    case 500...: .internalServerError
    default: nil
    }
  }

  /// Whether it says that nothing was done: with another temporary reason, perhaps of who answers for a service behind
  /// it, the push may have been sent.
  var isPlainRefusal: Bool { status == 429 || status == 503 }
}
