// SPDX-License-Identifier: Apache-2.0

/// The level of a push, from the least to the most disturbing: `UNNotificationInterruptionLevel`.
public enum Level: String, Sendable, CaseIterable, Codable, Comparable {
  case passive, active, timeSensitive, critical

  public static func < (a: Self, b: Self) -> Bool { a.rank < b.rank }

  /// The index in `allCases`.
  public var rank: Int {
    switch self {
    case .passive: 0
    case .active: 1
    case .timeSensitive: 2
    case .critical: 3
    }
  }
}
