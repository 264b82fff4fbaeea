// SPDX-License-Identifier: Apache-2.0

/// How far a member is in a room.
public struct Marks: Equatable, Sendable {
  public var read: Int64
  /// By a session that was looked at, then or since.
  public var received: Int64

  public init(read: Int64, received: Int64) {
    self.read = read
    self.received = received
  }
}
