// SPDX-License-Identifier: Apache-2.0
import Foundation
import NIOSSL
public import RelayProtocol

/// What time it is: one clock that runs evenly, and the time of day.
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

/// How a pool connects.
struct ApplePoolSettings: Sendable {
  var host: String
  var port: Int
  var tls: NIOSSLContext
  var clock: GatewayClock
  /// Connections at most.
  var connections = 2
  /// Streams of a connection at most.
  var streams = 500
  /// Requests that wait for a stream at most.
  var queue = 2_000
  /// For a connection, an answer, and that to a PING.
  var timeout = Duration.seconds(10)
  /// After which silence a PING is sent.
  var idle = Duration.seconds(3600)
}

/// How long to wait before a connection is tried again: a random time below a bound that doubles.
struct ReconnectPause {
  private var failures = 0

  static let shortest = Duration.milliseconds(200)
  static let longest = Duration.seconds(60)

  mutating func succeeded() { failures = 0 }

  mutating func failed(using generator: inout some RandomNumberGenerator) -> Duration {
    failures = min(failures + 1, 16)
    let bound = min(Self.shortest * (1 << failures), Self.longest)
    return .milliseconds(Int64.random(in: Self.shortest.milliseconds...bound.milliseconds, using: &generator))
  }
}
