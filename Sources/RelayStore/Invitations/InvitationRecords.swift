// SPDX-License-Identifier: Apache-2.0
public import RelayProtocol

/// An offer of a membership that another user has made, as the invited user sees it.
public struct Invitation: Equatable, Sendable {
  /// Increases with each invitation.
  public var id: Int64
  public var room: RoomID
  /// The record of the room without its metadata.
  public var details: RoomDetails
  public var memberCount: Int64
  /// The user who has invited, with name and avatar.
  public var inviter: User
  public var time: Timestamp
}

/// A user whom another one has invited, as the moderators of the room see it.
public struct InvitedUser: Equatable, Sendable {
  public var user: UserID
  public var inviter: UserID
  public var time: Timestamp
}

/// An invitation whose push the relay has not decided yet.
public struct UndecidedInvitation: Equatable, Sendable {
  public var user: UserID
  public var invitation: Invitation

  public init(user: UserID, invitation: Invitation) {
    self.user = user
    self.invitation = invitation
  }
}

/// The end of an invitation.
public struct EndedInvitation: Equatable, Sendable {
  public var user: UserID
  public var room: RoomID
  public var cause: InvitationEnd
  /// True if the user has never seen the invitation.
  public var isHidden: Bool
}

/// The invitations that a change has made or ended, and the rooms that were deleted with their last invitation.
public struct InvitationChanges: Equatable, Sendable {
  /// A new invitation.
  public struct Made: Equatable, Sendable {
    public var user: UserID
    /// Is `nil` if the user has blocked the inviter, and sees nothing of the invitation.
    public var invitation: Invitation?
    /// False if the user was invited to the room before, by an invitation that the user does not see.
    public var isFirst: Bool
  }

  public var made: [Made] = []
  public var ended: [EndedInvitation] = []
  public var deletedRooms: [RoomID] = []

  public init() {}

  /// A room is deleted, and these users see that their invitations to it have ended.
  public init(endedWith room: RoomID, of users: [UserID]) {
    ended = users.map { EndedInvitation(user: $0, room: room, cause: .withdrawn, isHidden: false) }
  }
}
