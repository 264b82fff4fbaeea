// SPDX-License-Identifier: Apache-2.0
// The settings, clocks and backoff of `AppleConnectionPool`. The HTTP/1.1 pool uses the same clocks.
import Foundation
import NIOSSL
public import RelayProtocol

/// The clocks of a gateway: `monotonic` for durations, and `wall` for the time of day. Tests replace them.
public struct GatewayClock: Sendable {
  public var monotonic: @Sendable () -> ContinuousClock.Instant
  public var wall: @Sendable () -> Timestamp

  public init(
    monotonic: @escaping @Sendable () -> ContinuousClock.Instant = { .now }, wall: @escaping @Sendable () -> Timestamp
  ) {
    self.monotonic = monotonic
    self.wall = wall
  }

  /// The clocks of the system.
  public static let system = GatewayClock(wall: { Timestamp(rawValue: Int64(Date().timeIntervalSince1970 * 1000)) })
}

/// The settings and limits of a pool of connections to Apple's service.
struct ApplePoolSettings: Sendable {
  var host: String
  var port: Int
  var tls: NIOSSLContext
  var clock: GatewayClock
  /// The maximum number of connections.
  var connections = 2
  /// The maximum number of streams at once on a connection.
  var streams = 500
  /// The maximum number of requests that wait for a stream.
  var queue = 2_000
  /// The timeout of a connection, of an answer, and of the answer to a PING.
  var timeout = Duration.seconds(10)
  /// The time without requests after which a PING is sent.
  var idle = Duration.seconds(3600)
}

/// The backoff between attempts to connect: a random time below a limit that doubles.
struct ReconnectPause {
  private var failures = 0

  static let minDelay = Duration.milliseconds(200)
  static let maxDelay = Duration.seconds(60)

  mutating func succeeded() { failures = 0 }

  mutating func failed(using generator: inout some RandomNumberGenerator) -> Duration {
    failures = min(failures + 1, 16)
    let bound = min(Self.minDelay * (1 << failures), Self.maxDelay)
    return .milliseconds(Int64.random(in: Self.minDelay.milliseconds...bound.milliseconds, using: &generator))
  }
}
