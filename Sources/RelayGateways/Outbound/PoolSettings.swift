// SPDX-License-Identifier: Apache-2.0
// The settings, clocks and backoff of `ConnectionPool`.
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

/// The settings and limits of a pool. The defaults are for HTTP/1.1.
struct PoolSettings: Sendable {
  var tls: NIOSSLContext
  var clock: GatewayClock
  /// The addresses that the pool may connect to. Is `nil` when the operator chose the destinations.
  var policy: AddressPolicy?
  /// The timeout of a connection, of a request with its answer, and of the answer to a PING.
  var timeout = Duration.seconds(10)
  /// The maximum number of connections to one destination.
  var connections = 16
  /// The maximum number of requests at once on a connection.
  var streams = 1
  /// The maximum number of requests to one destination that wait for a connection. Together with the 16 that are in
  /// progress, these are the pushes that the push worker sends at once.
  var queue = 240
  /// The time without requests after which an HTTP/1.1 connection closes, and an HTTP/2 connection sends a PING.
  var idle = Duration.seconds(30)
  /// The largest body of an answer in bytes. Push services answer with a few words.
  var maxAnswer = 16 * 1024
  /// True if the pool opens one connection at a time, and waits after a failure. Otherwise it opens one for each request
  /// that waits.
  var hasBackoff = false

  /// The settings for Apple's service.
  static func apple(tls: NIOSSLContext, clock: GatewayClock) -> PoolSettings {
    PoolSettings(
      tls: tls, clock: clock, connections: 2, streams: 500, queue: 2_000, idle: .seconds(3600), hasBackoff: true)
  }
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
