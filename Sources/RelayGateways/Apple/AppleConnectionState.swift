// SPDX-License-Identifier: Apache-2.0

/// What one HTTP/2 connection to Apple's service may carry, and what becomes of it; without any I/O.
///
/// The service allows one stream until it has answered an authenticated request, and after that what its SETTINGS say.
struct AppleConnectionState<Request> {
  enum Phase: Equatable {
    /// Its SETTINGS have not come.
    case connecting
    /// One stream, until the service has accepted who we are.
    case unproven
    case open
    /// Takes no request any more; those under way may be answered.
    case draining
    case closed
  }

  private(set) var phase = Phase.connecting
  /// By stream id.
  private(set) var requests: [Int: Request] = [:]
  private var nextStream = 1
  /// What the service allows; until it says otherwise, as many as we like (RFC 9113, section 6.5.2).
  private var allowed = Int.max
  private let most: Int

  static var lastStream: Int { Int(Int32.max) }

  /// - Parameter most: Streams at once, whatever the service allows.
  init(most: Int) { self.most = most }

  /// How many requests it can take now.
  var room: Int {
    switch phase {
    case .unproven: max(0, min(allowed, 1) - requests.count)
    case .open: max(0, min(allowed, most) - requests.count)
    case .connecting, .draining, .closed: 0
    }
  }

  /// Whether it can go: no request is under way, and none will be.
  var isSpent: Bool { phase == .draining && requests.isEmpty }

  /// - Parameter streams: `SETTINGS_MAX_CONCURRENT_STREAMS`; nil: not said.
  mutating func settingsArrived(streams: Int?) {
    if let streams { allowed = streams }
    if phase == .connecting { phase = .unproven }
  }

  /// Puts a request on a stream, of which there must be ``room``.
  /// - Returns: The stream's id.
  mutating func begin(_ request: Request) -> Int {
    precondition(room > 0, "a request was given to a connection that has no room")
    let stream = nextStream
    requests[stream] = request
    nextStream += 2
    // RFC 9113, section 5.1.1: ids are not used again, so that a new connection is needed.
    if nextStream > Self.lastStream { phase = .draining }
    return stream
  }

  /// - Parameter proves: The service has accepted who we are.
  mutating func answered(_ stream: Int, proves: Bool) -> Request? {
    if proves, phase == .unproven { phase = .open }
    return requests.removeValue(forKey: stream)
  }

  /// A request that ended without an answer, or is not waited for any more.
  mutating func ended(_ stream: Int) -> Request? { requests.removeValue(forKey: stream) }

  /// The service takes nothing above a stream.
  /// - Returns: The requests that it certainly did not process (RFC 9113, section 6.8), in their order. Of the others
  ///   nothing is known until they are answered.
  mutating func goAwayArrived(last: Int) -> [Request] {
    retire()
    let unprocessed = requests.keys.filter { $0 > last }.sorted()
    return unprocessed.compactMap { requests.removeValue(forKey: $0) }
  }

  /// Takes no request any more.
  mutating func retire() { if phase != .closed { phase = .draining } }

  /// - Returns: The requests of which nobody knows what became, in their order.
  mutating func closed() -> [Request] {
    phase = .closed
    defer { requests = [:] }
    return requests.sorted { $0.key < $1.key }.map(\.value)
  }
}
