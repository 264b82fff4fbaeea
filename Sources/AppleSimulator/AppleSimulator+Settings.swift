// SPDX-License-Identifier: Apache-2.0
import Foundation
public import RelayProtocol

extension AppleSimulator {
  /// What may be changed while it runs; a change counts from the next request.
  public struct Settings: Sendable {
    public var environment = Environment.sandbox
    /// By id.
    public var keys: [String: Key] = [:]
    /// Tokens of keys that are not in ``keys`` are taken without looking at their signature.
    public var acceptsAnyKey = false
    /// Two tokens of one key count as an update even when they come on two connections.
    public var countsUpdatesAcrossConnections = false
    /// How far a token may come from the future.
    public var clockSkew = Duration.seconds(60)
    /// Added to the clock, so that tokens age and notifications expire.
    public var clockOffset = Duration.zero
    /// The bundle ids that may be pushed to; empty: all.
    public var topics: Set<String> = []
    /// Digits of the tokens of devices that nobody told it about.
    public var tokenDigits = 64...64
    /// Notifications that a device takes in a minute; nil: any number.
    public var mostPerDevice: Int?
    /// Drawn for each answer.
    public var latency = Duration.zero...Duration.zero
    /// Streams of a connection at once, when it has shown a token; 1 until then.
    public var streams = 1000
    /// Bytes of a request that may be on their way unread, from 1 to 65,535.
    public var window = 65_535
    /// How long bytes are unread.
    public var readDelay = Duration.zero
    /// Every connection ends with a GOAWAY after that many requests.
    public var requestsPerConnection: Int?

    public init() {}

    public mutating func add(_ key: Key) { keys[key.id] = key }

    public static let mostKeys = 1000
    public static let mostTopics = 1000
    public static let mostStreams = 10_000
    public static let longestLatency = Duration.seconds(3600)
  }

  /// What is fixed at the start.
  public struct Configuration: Sendable {
    public var host = "127.0.0.1"
    /// 0: any free one.
    public var port = 0
    /// PEM; nil: a certificate for `localhost`, 127.0.0.1 and `host` is made.
    public var identity: (certificates: String, key: String)?
    public var settings = Settings()
    public var threads = 1
    /// One more is closed at once.
    public var mostConnections = 1000
    /// The newest of what arrived are kept, that many for each thread.
    public var mostArrivals = 10_000
    /// A connection that asks nothing for so long is closed.
    public var idleTime = Duration.seconds(3600)
    public var now: @Sendable () -> Timestamp = { Timestamp(rawValue: Int64(Date().timeIntervalSince1970 * 1000)) }

    public init() {}
  }
}
