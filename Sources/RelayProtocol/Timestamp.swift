// SPDX-License-Identifier: Apache-2.0

/// A point in time in milliseconds since 1970, the unit of times in the protocol.
public struct Timestamp: RawRepresentable, Hashable, Comparable, Sendable, Codable {
  public var rawValue: Int64
  public init(rawValue: Int64) { self.rawValue = rawValue }

  public static func < (a: Self, b: Self) -> Bool { a.rawValue < b.rawValue }
  public static func + (time: Self, duration: Duration) -> Self {
    Timestamp(rawValue: time.rawValue + duration.milliseconds)
  }
  public static func - (time: Self, duration: Duration) -> Self {
    Timestamp(rawValue: time.rawValue - duration.milliseconds)
  }
  public static func - (a: Self, b: Self) -> Duration { .milliseconds(a.rawValue - b.rawValue) }
}

extension Duration {
  /// The duration in whole milliseconds, rounded towards zero.
  public var milliseconds: Int64 {
    let (seconds, attoseconds) = components
    return seconds * 1000 + attoseconds / 1_000_000_000_000_000
  }

  /// The duration in decimal seconds, the unit of durations in the protocol.
  public var seconds: Double {
    let (seconds, attoseconds) = components
    return Double(seconds) + Double(attoseconds) / 1e18
  }
}
