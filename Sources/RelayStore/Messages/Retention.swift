// SPDX-License-Identifier: Apache-2.0

/// The messages of a room that the store keeps.
public struct Retention: Hashable, Sendable {
  /// The number of the newest messages.
  public var count: Int
  /// The maximum age. Is `nil` for no maximum.
  public var age: Duration?

  public init(count: Int, age: Duration? = nil) {
    self.count = count
    self.age = age
  }

  /// All messages, without a limit.
  public static let everything = Retention(count: .max)

  /// The start of a history of the `count` newest messages. Is `newest + 1` for a count of 0.
  /// - Parameter stored: The oldest message that the store has.
  public static func firstSeq(keeping count: Int, newest: Int64, stored: Int64 = 1) -> Int64 {
    max(stored, newest - Int64(clamping: count) + 1)
  }
}
