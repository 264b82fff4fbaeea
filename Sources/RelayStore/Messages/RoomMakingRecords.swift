// SPDX-License-Identifier: Apache-2.0
public import RelayProtocol

/// The user or backend that changes a room.
public enum RoomActor: Equatable, Sendable {
  /// A backend, which may do everything.
  case backend
  /// A member with the rights of the role. With `moderates` also those of a moderator.
  case user(UserID, moderates: Bool)
}

/// The rule that forbids a change of a room or of its members.
public enum RoomRefusal: Equatable, Sendable {
  /// A room of this name exists.
  case exists
  /// Only a moderator or a backend can add the user.
  case invited
  /// A moderator has banned the user. Is `nil` without an end.
  case banned(until: Timestamp?)
  /// The user to change is not a member.
  case noMember
  /// The room needs an owner.
  case lastOwner
  /// The user has no invitation to the room.
  case noInvitation
  /// The message has ``Reactions/maxCount`` reactions.
  case tooManyReactions
  /// The message has reactions with ``Reactions/maxKeys`` other keys.
  case tooManyReactionKeys
  /// The room has ``Pins/maxCount`` pinned messages.
  case tooManyPins
  /// Nobody but a backend removes an owner.
  case isOwner
  /// The caller has a lower role.
  case needs(RoomRole)
  /// A direct room has two members without roles, and no title.
  case isDirect
  /// The user has sent the message that the user reports.
  case ownMessage
  /// The room has no such report.
  case noReport
  /// The user has reported ``MessageReportWriter/maxOfUser`` messages within ``MessageReportWriter/window``.
  case tooManyReports(retryAfter: Duration)
  /// The record has another version now.
  case outdated(version: Int64)
}

/// A ban from a room.
public struct RoomBan: Equatable, Sendable {
  /// Is `nil` without an end.
  public var until: Timestamp?

  public init(until: Timestamp? = nil) { self.until = until }
}

/// The end of a membership.
public struct LeftRoom: Equatable, Sendable {
  /// False if there was no membership.
  public var wasMember: Bool
  /// The user who became the owner, because the last one has left.
  public var successor: UserID?
  /// The calls that the user has left or declined, because of the end of the membership.
  public var calls: [Call] = []
  /// The invitations that have ended: that of a removed user, or all of a room in which nobody is left.
  public var invitations = InvitationChanges()
}

/// A room that does not exist yet.
public struct RoomDraft: Equatable, Sendable {
  public var room: RoomID
  public var epoch: String
  public var details: RoomDetails
  /// The creator: the first owner of a group, or the user who opens a direct room.
  public var creator: User
  /// The other members.
  public var members: [UserID]
  /// The users among them whom the creator invites.
  public var invited: Set<UserID>
  /// True if a backend makes the room. Then no block counts.
  public var isByBackend: Bool
  /// The idempotency key. A second attempt with the same key returns the same room for ``MessageDraft/keyLifetime``.
  public var key: String?
  public var bounds: MembershipBounds

  public init(
    room: RoomID, epoch: String, details: RoomDetails, creator: User, members: [UserID],
    invited: Set<UserID> = [], isByBackend: Bool = false, key: String? = nil,
    bounds: MembershipBounds = MembershipBounds()
  ) {
    self.room = room
    self.epoch = epoch
    self.details = details
    self.creator = creator
    self.members = members
    self.invited = invited
    self.isByBackend = isByBackend
    self.key = key
    self.bounds = bounds
  }
}

/// A room that was created or found.
public struct MadeRoom: Equatable, Sendable {
  public var state: RoomState
  public var details: RoomDetails
  /// True if the room did not exist before.
  public var isNew: Bool
  /// The users who became members.
  public var added: [UserID]
  /// The ends of restrictions that new members have from an earlier membership.
  public var restricted: [UserID: Timestamp]
  /// The read mark of a new member who had an invitation. All other new members have read all messages.
  public var read: [UserID: Int64] = [:]
  /// The new invitations, and those that have ended.
  public var invitations = InvitationChanges()

  public init(
    state: RoomState, details: RoomDetails, isNew: Bool, added: [UserID], restricted: [UserID: Timestamp] = [:]
  ) {
    self.state = state
    self.details = details
    self.isNew = isNew
    self.added = added
    self.restricted = restricted
  }

  /// The membership of a user who became a member. The creator owns a new group.
  public func membership(of user: UserID, madeBy creator: UserID) -> JoinedRoom {
    let read = read[user] ?? state.seq
    return JoinedRoom(
      record: state, isNewMember: true, read: read, received: read,
      role: isNew && details.kind == .group && user == creator ? .owner : .member, restrictedUntil: restricted[user],
      isReadOnly: details.isReadOnly)
  }
}

/// The result of ``RoomWriter/add(_:to:by:now:within:invites:)``.
public enum AddedUser: Equatable, Sendable {
  case member(JoinedRoom)
  /// The user is invited. There is no new invitation if there was one before.
  case invited(InvitationChanges)

  /// Is `nil` for an invited user.
  public var member: JoinedRoom? { if case .member(let joined) = self { joined } else { nil } }
}
