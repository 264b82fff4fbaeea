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

  /// The oldest of the `count` newest messages of a room. Is 1 if the room has had fewer.
  public static func oldest(of count: Int, newest: Int64) -> Int64 { max(1, newest - Int64(clamping: count) + 1) }
}
