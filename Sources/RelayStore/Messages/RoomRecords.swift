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
  public var role: RoomRole
  /// The end of the user's restriction. It may be over.
  public var restrictedUntil: Timestamp?
  /// True if only moderators and owners send to the room.
  public var isReadOnly: Bool
  /// The invitation that the join has accepted.
  public var invitations: InvitationChanges

  public init(
    record: RoomState, isNewMember: Bool, read: Int64, received: Int64, role: RoomRole = .member,
    restrictedUntil: Timestamp? = nil, isReadOnly: Bool = false, invitations: InvitationChanges = InvitationChanges()
  ) {
    self.record = record
    self.isNewMember = isNewMember
    self.read = read
    self.received = received
    self.role = role
    self.restrictedUntil = restrictedUntil
    self.isReadOnly = isReadOnly
    self.invitations = invitations
  }
}

/// A room with all its members.
public struct RoomSnapshot: Equatable, Sendable {
  public var state: RoomState
  /// In no particular order.
  public var members: [MemberRecord]
  /// The newest seq at the time of the room's last change of a message, or 0 without any.
  public var changed: Int64
  /// The number of the newest change of a message, or 0 without any.
  public var change: Int64
  /// True if only moderators and owners send to the room.
  public var isReadOnly: Bool
  /// The two people of a direct room, also one who is no member. Is `nil` for a group.
  public var pair: RoomPair?

  public init(
    state: RoomState, members: [MemberRecord], changed: Int64 = 0, change: Int64 = 0, isReadOnly: Bool = false,
    pair: RoomPair? = nil
  ) {
    self.state = state
    self.members = members
    self.changed = changed
    self.change = change
    self.isReadOnly = isReadOnly
    self.pair = pair
  }
}

/// The two people of a direct room.
public struct RoomPair: Equatable, Sendable {
  public var low: UserID
  public var high: UserID

  public init(low: UserID, high: UserID) {
    self.low = low
    self.high = high
  }
}

/// A user in a room.
public struct MemberRecord: Equatable, Sendable {
  /// The facts about the user without the room.
  public var record: UserRecord
  public var read: Int64
  public var received: Int64
  public var role: RoomRole
  /// The end of the member's restriction. It may be over.
  public var restrictedUntil: Timestamp?

  public init(
    _ record: UserRecord, read: Int64, received: Int64, role: RoomRole = .member, restrictedUntil: Timestamp? = nil
  ) {
    self.record = record
    self.read = read
    self.received = received
    self.role = role
    self.restrictedUntil = restrictedUntil
  }

  public var user: User { record.user }
}
