// SPDX-License-Identifier: Apache-2.0

/// The messages of a room that the store keeps.
public struct Retention: Hashable, Sendable {
  /// The number of the newest messages.
  public var count: Int
  /// The maximum age. Is `nil` for no maximum.
  public var age: Duration?
  /// The number of newest messages that the store keeps although they are too old.
  public var minimum: Int

  public init(count: Int, age: Duration? = nil, minimum: Int = 0) {
    self.count = count
    self.age = age
    self.minimum = minimum
  }

  /// All messages, without a limit.
  public static let everything = Retention(count: .max)

  /// The start of a history of the `count` newest messages. Is `newest + 1` for a count of 0.
  /// - Parameter stored: The oldest message that the store has.
  public static func firstSeq(keeping count: Int, newest: Int64, stored: Int64 = 1) -> Int64 {
    max(stored, newest - Int64(clamping: count) + 1)
  }
}
