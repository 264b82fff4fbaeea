// SPDX-License-Identifier: Apache-2.0

/// Where a reader stands in a room. `seq` 0 is before the first message.
public struct Position: Equatable, Sendable {
  /// Opaque, at most 32 bytes; another one means that the room's history had to be abandoned.
  public var epoch: String
  public var seq: Int64

  public init(epoch: String, seq: Int64) {
    self.epoch = epoch
    self.seq = seq
  }

  public static let longestEpoch = 32
}

/// A message of a room that keeps history.
public struct StoredMessage: Equatable, Sendable {
  public var seq: Int64
  public var from: UserID
  public var time: Timestamp
  /// Valid JSON, byte for byte as it was sent.
  public var body: [UInt8]

  public init(seq: Int64, from: UserID, time: Timestamp, body: [UInt8]) {
    self.seq = seq
    self.from = from
    self.time = time
    self.body = body
  }
}
