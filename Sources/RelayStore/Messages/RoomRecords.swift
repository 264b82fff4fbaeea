// SPDX-License-Identifier: Apache-2.0
public import RelayProtocol

/// A room that keeps history.
public struct RoomState: Equatable, Sendable {
  public var room: RoomID
  public var epoch: String
  /// The seq of the newest message, or 0 without any.
  public var seq: Int64
  /// The newest message up to which the relay has decided all messages for all members, finally or with a job.
  public var cursor: Int64

  public init(room: RoomID, epoch: String, seq: Int64, cursor: Int64) {
    self.room = room
    self.epoch = epoch
    self.seq = seq
    self.cursor = cursor
  }
}

/// The limits of memberships. 0 means no limit.
public struct MembershipBounds: Equatable, Sendable {
  public var membersPerRoom: Int
  public var roomsPerUser: Int
  /// The maximum number of open invitations of a user.
  public var invitations: Int

  /// The limit that was exceeded.
  public enum Limit: String, Sendable {
    case membersPerRoom, roomsPerUser
    /// ``PeopleWriter/maxBlocked``.
    case blockedUsers
    /// ``RoomWriter/maxBanned``.
    case bannedUsers
    /// ``RoomWriter/maxRestricted``.
    case restrictedUsers
    /// ``MessageReportWriter/maxOfRoom``.
    case reportsPerRoom
    /// ``InvitationWriter/maxOfRoom``.
    case invitedUsers
  }

  public init(membersPerRoom: Int = 0, roomsPerUser: Int = 0, invitations: Int = 0) {
    self.membersPerRoom = membersPerRoom
    self.roomsPerUser = roomsPerUser
    self.invitations = invitations
  }
}

/// The result of a join.
public struct JoinedRoom: Equatable, Sendable {
  public var record: RoomState
  /// False if the user was already a member.
  public var isNewMember: Bool
  /// The member's read mark.
  public var read: Int64
  /// The member's received mark.
  public var received: Int64
  public var role = RoomRole.member
  /// The end of the user's restriction. It may be over.
  public var restrictedUntil: Timestamp?
  /// True if only moderators and owners send to the room.
  public var isReadOnly = false
  /// The invitation that the join has accepted.
  public var invitations = InvitationChanges()
}

/// A room with all its members.
public struct RoomSnapshot: Equatable, Sendable {
  public var state: RoomState
  /// In no particular order.
  public var members: [MemberRecord]
  /// The newest seq at the time of the room's last change of a message, or 0 without any.
  public var changed: Int64 = 0
  /// The number of the newest change of a message, or 0 without any.
  public var change: Int64 = 0
  /// True if only moderators and owners send to the room.
  public var isReadOnly = false
  /// The two people of a direct room, also one who is no member. Is `nil` for a group.
  public var pair: RoomPair?
}

/// The two people of a direct room.
public struct RoomPair: Equatable, Sendable {
  public var low: UserID
  public var high: UserID
}

/// A user in a room.
public struct MemberRecord: Equatable, Sendable {
  /// The facts about the user without the room.
  public var record: UserRecord
  public var read: Int64
  public var received: Int64
  public var role = RoomRole.member
  /// The end of the member's restriction. It may be over.
  public var restrictedUntil: Timestamp?

  public var user: User { record.user }
}
