// SPDX-License-Identifier: Apache-2.0

/// Which messages of a room are kept.
public struct Retention: Hashable, Sendable {
  /// So many of the newest.
  public var count: Int
  /// For so long; nil: as long as the count allows.
  public var age: Duration?

  public init(count: Int, age: Duration? = nil) {
    self.count = count
    self.age = age
  }

  /// All messages, for ever.
  public static let everything = Retention(count: .max)
}
