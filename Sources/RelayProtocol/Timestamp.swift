// SPDX-License-Identifier: Apache-2.0

/// A point in time: milliseconds since 1970, as the protocol writes times.
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
  /// Whole milliseconds, rounded towards zero.
  public var milliseconds: Int64 {
    let (seconds, attoseconds) = components
    return seconds * 1000 + attoseconds / 1_000_000_000_000_000
  }

  /// Decimal seconds, as the protocol writes durations.
  public var seconds: Double {
    let (seconds, attoseconds) = components
    return Double(seconds) + Double(attoseconds) / 1e18
  }
}
