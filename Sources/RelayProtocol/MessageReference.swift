// SPDX-License-Identifier: Apache-2.0

/// The room and the seq that identify a stored message.
public struct MessageReference: Hashable, Sendable {
  public var room: RoomID
  public var seq: Int64

  public init(room: RoomID, seq: Int64) {
    self.room = room
    self.seq = seq
  }
}
