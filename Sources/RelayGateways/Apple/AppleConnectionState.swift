// SPDX-License-Identifier: Apache-2.0

/// The state of one HTTP/2 connection to Apple's service: its phase, its requests and its capacity. It does no I/O.
///
/// The service allows one stream until it has accepted a token, and then as many as its SETTINGS allow.
struct AppleConnectionState<Request> {
  enum Phase: Equatable {
    /// The service's SETTINGS have not arrived.
    case connecting
    /// One stream is allowed, until the service accepts the token.
    case unproven
    case open
    /// The connection takes no more requests. Requests that were sent may still be answered.
    case draining
    case closed
  }

  private(set) var phase = Phase.connecting
  /// The unanswered requests by stream id.
  var requests: [Int: Request] = [:]
  private var nextStream = 1
  /// The streams that the service allows. Unlimited until a SETTINGS frame limits them (RFC 9113, section 6.5.2).
  private var allowed = Int.max
  private let maxStreams: Int

  static var lastStream: Int { Int(Int32.max) }

  /// - Parameter maxStreams: The maximum number of streams at once, even if the service allows more.
  init(maxStreams: Int) { self.maxStreams = maxStreams }

  /// The number of requests that can be sent now.
  var room: Int {
    switch phase {
    case .unproven: max(0, min(allowed, 1) - requests.count)
    case .open: max(0, min(allowed, maxStreams) - requests.count)
    case .connecting, .draining, .closed: 0
    }
  }

  /// True if the connection can close: it has no unanswered request, and takes no more.
  var isSpent: Bool { phase == .draining && requests.isEmpty }

  /// - Parameter streams: `SETTINGS_MAX_CONCURRENT_STREAMS`, if the frame contains it.
  mutating func settingsArrived(streams: Int?) {
    if let streams { allowed = streams }
    if phase == .connecting { phase = .unproven }
  }

  /// Assigns a stream to a request. Requires ``room``.
  /// - Returns: The stream's id.
  mutating func begin(_ request: Request) -> Int {
    precondition(room > 0, "the connection has no capacity for a request")
    let stream = nextStream
    requests[stream] = request
    nextStream += 2
    // RFC 9113, section 5.1.1: stream ids are never reused, so further requests need a new connection.
    if nextStream > Self.lastStream { phase = .draining }
    return stream
  }

  /// - Parameter proves: True if the answer shows that the service accepted the token.
  mutating func answered(_ stream: Int, proves: Bool) -> Request? {
    if proves, phase == .unproven { phase = .open }
    return requests.removeValue(forKey: stream)
  }

  /// Removes a request that ended without an answer, or that was given up.
  mutating func ended(_ stream: Int) -> Request? { requests.removeValue(forKey: stream) }

  /// Records a GOAWAY: the service processes no stream above `last`.
  /// - Returns: The requests that the service certainly did not process (RFC 9113, section 6.8), in order. The others
  ///   may still be answered.
  mutating func goAwayArrived(last: Int) -> [Request] {
    retire()
    let unprocessed = requests.keys.filter { $0 > last }.sorted()
    return unprocessed.compactMap { requests.removeValue(forKey: $0) }
  }

  /// Takes no more requests.
  mutating func retire() { if phase != .closed { phase = .draining } }

  /// - Returns: The unanswered requests, in order. Their results are unknown.
  mutating func closed() -> [Request] {
    phase = .closed
    defer { requests = [:] }
    return requests.sorted { $0.key < $1.key }.map(\.value)
  }
}
