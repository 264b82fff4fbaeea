// SPDX-License-Identifier: Apache-2.0
public import RelayProtocol

/// A place in the order of all changes that the lists of rooms show.
public struct InboxPosition: Equatable, Sendable {
  /// Identifies one unbroken numbering.
  public var epoch: String
  public var number: Int64

  public init(epoch: String, number: Int64) {
    self.epoch = epoch
    self.number = number
  }
}

/// The part of a list that a page continues.
public enum InboxPage: Equatable, Sendable {
  /// The rooms whose newest activity is before this number, the newest first.
  case before(Int64)
  /// The rooms that have changed after this number, the oldest change first.
  case after(Int64)
}

/// A room in the list of one member.
public struct InboxEntry: Equatable, Sendable {
  /// The newest message of a room.
  public struct LastMessage: Equatable, Sendable {
    public var seq: Int64
    public var time: Timestamp
    public var from: User
    /// Valid JSON. Is `nil` for a deleted message, and if the caller needs no bodies.
    public var body: [UInt8]?
    public var isDeleted: Bool
  }

  public var room: RoomID
  public var details: RoomDetails
  /// The number of members. Is 2 for a direct room, also before the other person accepts the invitation.
  public var memberCount: Int64
  /// The other person of a direct room. Has a name and an avatar if both people have been members.
  public var other: User?
  /// Is `nil` if the room has no message, or keeps none any more.
  public var lastMessage: LastMessage?
  public var unread: Unread
  public var isMuted: Bool
  /// The read mark of the member.
  public var read: Int64
  /// The room's place in a page: its activity, or its newest change.
  public var number: Int64
}

/// A page of a user's list of rooms.
public struct InboxRooms: Equatable, Sendable {
  public var entries: [InboxEntry]
  /// The newest change of all lists when the page was read.
  public var position: InboxPosition
  /// True if there are more entries.
  public var more: Bool
}
