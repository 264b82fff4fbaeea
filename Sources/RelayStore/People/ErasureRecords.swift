// SPDX-License-Identifier: Apache-2.0
public import RelayProtocol

/// The part of a user's data that an erasure deletes next. The order is the order of the work.
enum ErasureStep: String, CaseIterable {
  case memberships
  /// The invitations of the user, and those by the user.
  case invitations
  /// Bans, restrictions, direct rooms and idempotency keys, which each room has.
  case rooms
  /// The blocks by other users, and their preferences.
  case blocks
  /// Messages that the user has sent, and messages that mention the user.
  case messages
  case reactions
  /// The reports by the user, and those about messages of the user.
  case reports
  /// The name in the audit log.
  case audit
  /// The devices that took part in calls.
  case calls
  case responses, silenced, jobs, creations
  /// The rows of deleted rooms: they contain the user's notifications.
  case deletedRooms = "deleted_rooms"
  /// No row has the name any more. The log of the database may still have it.
  case log

  var next: ErasureStep {
    let all = Self.allCases
    guard let index = all.firstIndex(of: self), index + 1 < all.count else { return .log }
    return all[index + 1]
  }
}

/// An erasure.
public struct ErasureRecord: Equatable, Sendable {
  public var id: String
  public var messages: MessageErasure
  /// The number of memberships that were ended.
  public var rooms: Int
  /// The number of messages that were deleted, or that lost the name of the user.
  public var changed: Int
  public var started: Timestamp
  /// Is `nil` while the erasure is in progress.
  public var finished: Timestamp?
}

/// The effects of one slice of an erasure, for the rooms and users in memory.
public struct ErasedSlice: Equatable, Sendable {
  public struct Left: Equatable, Sendable {
    public let room: RoomID
    /// The new owner. Is `nil` if the room needed none.
    public let successor: UserID?
    /// The calls that the user has left or declined.
    public var calls: [Call] = []
  }

  public struct Deleted: Equatable, Sendable {
    public let room: RoomID
    public let seq: Int64
    public let edited: Edited
  }

  /// A message that has lost a reaction.
  public struct Unreacted: Equatable, Sendable {
    public let message: MessageReference
    public let reactions: Annotated
  }

  /// The erased name. Is `nil` when the slice has erased nothing.
  public var name: UserID?
  public var pseudonym: UserID
  public var left: [Left] = []
  /// The invitations that have ended.
  public var invitations = InvitationChanges()
  /// The users whose blocks or preferences named the user.
  public var unblocked: [UserID] = []
  public var deleted: [Deleted] = []
  public var unreacted: [Unreacted] = []
  /// The rooms with messages that have lost the name.
  public var anonymized: Set<RoomID> = []
  /// The rooms whose newest message is one of the user. The lists of the members show it.
  public var listed: Set<RoomID> = []
  /// True if no row has the name any more. The remains of deleted rows may still have it.
  public var isLast = false
}
