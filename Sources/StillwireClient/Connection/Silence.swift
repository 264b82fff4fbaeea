// SPDX-License-Identifier: Apache-2.0

/// Detects a relay that no longer responds. The relay's WebSocket pings do not count, because a proxy may send them. So
/// the client sends a `ping` frame of the protocol after a silence.
///
/// Each byte of a frame ends a silence, so that a slow line ends no connection. Protocol.md, "Silence", has the rules.
struct Silence: Equatable {
  enum Step { case ping, giveUp }

  /// The requests without a reply.
  struct Waiting: Equatable {
    /// The time of the oldest one.
    var since: Duration
    /// The size of all of them in bytes. On a slow line, they may still be on their way to the relay.
    var size = 0
  }

  /// With several addresses, a request without a reply for this time starts a ping.
  static let requestLimit = Duration.seconds(3)
  /// With several addresses, the connection is lost after this silence since a request, a ping, or the last bytes of a
  /// steady stream.
  static let nodeLimit = Duration.seconds(4)
  /// A stream is steady when bytes have arrived for at least this time, with no pause longer than ``streamPause``. With
  /// several addresses, the first longer pause starts a ping.
  static let streamTime = Duration.seconds(5)
  static let streamPause = Duration.seconds(1)
  /// The time of a small request and its reply. A timer that is late by more than this shows a pause of the process.
  static let roundTrip = Duration.seconds(1)
  /// The time of a byte on the slowest line on which a connection stays: 5 kB/s.
  static let maxByteTime = Duration.microseconds(200)

  private let heartbeat: Duration
  private let limit: Duration
  private let areSeveral: Bool
  /// The time of the newest bytes of the relay.
  private var heard: Duration
  /// The end of the newest long pause in the bytes of the relay.
  private var streamsSince: Duration
  private var pinged: Duration?
  /// True if the process has paused while the answer to the ping was missing.
  private var hasPaused = false

  /// - Parameter areSeveral: True if the client has other addresses.
  init(heartbeat: Duration, pongTimeout: Duration, areSeveral: Bool, at now: Duration) {
    self.heartbeat = heartbeat
    self.areSeveral = areSeveral
    limit = areSeveral ? min(pongTimeout, Self.nodeLimit) : pongTimeout
    heard = now
    streamsSince = now
  }

  /// True if the bytes until the newest ones were a steady stream.
  private var isSteady: Bool { areSeveral && heard - streamsSince >= Self.streamTime }

  /// Notes bytes of the relay.
  mutating func received(at now: Duration) {
    if now - heard > Self.streamPause { streamsSince = now }
    heard = now
    pinged = nil
    hasPaused = false
  }

  /// Returns true if the client must send a ping now, to find out if the relay still responds.
  mutating func probe(at now: Duration) -> Bool {
    guard pinged == nil else { return false }
    pinged = now
    return true
  }

  /// The time of the next step.
  func due(_ waiting: Waiting?) -> Duration {
    let asked = areSeveral ? waiting?.since : nil
    guard let pinged else {
      let beat = heard + (isSteady ? min(Self.streamPause, heartbeat) : heartbeat)
      return asked.map { min(beat, max($0, heard) + Self.requestLimit) } ?? beat
    }
    // The ping of a stream leaves the rest of the time for its answer. A ping that is late is no ping of a stream.
    let isOfStream = isSteady && pinged - heard < Self.streamPause + Self.roundTrip
    let pause = isOfStream ? max(.zero, limit - Self.nodeLimit + Self.streamPause) : .zero
    let since = max(min(asked ?? pinged, pinged - pause), heard)
    let upload = Self.roundTrip + Self.maxByteTime * (waiting?.size ?? 0)
    return max(pinged + min(Self.roundTrip, limit), since + max(limit, upload))
  }

  mutating func timePassed(at now: Duration, _ waiting: Waiting?) -> Step? {
    let due = due(waiting)
    guard due <= now else { return nil }
    guard !probe(at: now) else { return .ping }
    guard now >= due + Self.roundTrip, !hasPaused else { return .giveUp }
    // Frames may have arrived during the pause, and wait to be read.
    hasPaused = true
    pinged = now
    return nil
  }
}
