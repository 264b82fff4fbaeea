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

/// The newest messages of a room that a member has read and received.
public struct Marks: Equatable, Sendable {
  /// The newest message that the member has read.
  public var read: Int64
  /// The newest message that an active session has received. A session that becomes active counts from then on.
  public var received: Int64

  public init(read: Int64, received: Int64) {
    self.read = read
    self.received = received
  }
}
