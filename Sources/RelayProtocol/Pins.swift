// SPDX-License-Identifier: Apache-2.0

/// The bounds of pinned messages.
public enum Pins {
  /// The maximum number of pinned messages of a room.
  public static let maxCount = 50
}

/// A pinned message.
public struct PinnedMessage: Equatable, Sendable {
  public var seq: Int64
  public var from: UserID
  /// The time of the message.
  public var time: Timestamp
  /// The time of the pin.
  public var pinned: Timestamp
  /// Valid JSON.
  public var body: [UInt8]

  public init(seq: Int64, from: UserID, time: Timestamp, pinned: Timestamp, body: [UInt8]) {
    self.seq = seq
    self.from = from
    self.time = time
    self.pinned = pinned
    self.body = body
  }
}
