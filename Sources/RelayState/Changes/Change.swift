// SPDX-License-Identifier: Apache-2.0
package import RelayDelivery
package import RelayHub
package import RelayProtocol
package import RelayStore

/// An event with all that the followers need to know about it. Most cases are changes that a transaction has stored.
///
/// Rooms that store nothing make no changes. For a room that is not in memory, an erasure publishes only the ends of
/// calls and the changes of invitations, with the rooms that these delete. It publishes no messages and no memberships.
/// Large cases are `indirect`, and a message is an object, so that a copy for a follower is cheap.
package enum Change {
  /// A message. The response to a notification is one, too.
  case sent(SentChange)
  indirect case edited(MessageChange)
  indirect case deleted(MessageChange, from: UserID)
  /// The reactions or the pin of a message have changed.
  indirect case annotated(MessageChange)
  /// A user has become a member, or is one whom the hub may not know.
  indirect case joined(NewMember)
  /// A membership has ended.
  indirect case left(FormerMember)
  /// A member has another role. The store has ended the restriction of a new owner.
  indirect case role(RoomRole, of: UserID, in: RoomHandle, by: UserID?)
  /// A member is restricted until a time, or not any more.
  indirect case restricted(UserID, until: Timestamp?, in: RoomHandle, by: UserID?)
  /// A room has another record.
  indirect case record(RoomDetails, of: RoomID, RoomHandle, by: UserID?, requester: SessionHandle?)
  /// A room is deleted, with its messages.
  indirect case roomDeleted(DeletedRoom)
  /// A call has begun or changed. The user is `nil` for a change by the relay or a backend.
  indirect case call(Call, Call.Cause, by: UserID?, on: DeviceID?)
  indirect case invitations(InvitationChanges)
  /// A stored room was loaded. The hub shows no message of it yet.
  indirect case loaded(LoadedRoom)
  /// Pushes are stored. Some may be held, the first one until this time.
  case pushed(heldUntil: Timestamp?)
  /// All held pushes are due for another decision.
  case heldDue
  /// A fact that decides the pushes of a user has changed. `hasOpenDecisions` is false if nothing was to be decided when
  /// the fact was stored.
  case person(UserID, hasOpenDecisions: Bool = true)
  /// A backend has suspended a user or revoked the tokens, or has ended this.
  case userAccess(of: UserID)
  /// A member has received the messages up to a seq. The mark may be stored later.
  case marked(UserHandle, upTo: Int64, in: RoomHandle)
  /// The list of rooms of a user shows other marks, or pushes of other rooms.
  case listChanged(of: UserHandle)
  /// The erasure of a user has begun. The store has a pseudonym from now on.
  case erasing(UserID)
}

/// A stored message, with all that the relay has decided before.
package final class SentChange {
  package let message: PlannedMessage
  package let stored: Appended
  /// The traits of the message. The store has found the sender whom a reply answers.
  package let traits: MessageTraits
  package let reply: PlannedMessage.Reply

  package init(_ message: PlannedMessage, _ stored: Appended, _ reply: @escaping PlannedMessage.Reply) {
    (self.message, self.stored, self.reply) = (message, stored, reply)
    var traits = message.traits
    if let answered = stored.answered { traits.mentions.answered = answered }
    self.traits = traits
  }
}

/// Another text, another annotation, or the deletion of a message.
package struct MessageChange {
  package let message: ChangedMessage
  package let room: RoomID
  package let handle: RoomHandle
  /// The session that requested the change. It gets the reply, and not the event.
  package let requester: SessionHandle?
  /// The newest seq of the room when the change was stored.
  package let newest: Int64

  package init(message: ChangedMessage, room: RoomID, handle: RoomHandle, requester: SessionHandle?, newest: Int64) {
    (self.message, self.room, self.handle, self.requester, self.newest) = (message, room, handle, requester, newest)
  }
}

/// A user who has become a member of a stored room.
package struct NewMember {
  package let user: UserHandle
  package let name: UserID
  package let joined: JoinedRoom
  package let cause: MemberCause
  /// The event `room` for the sessions of a user whom somebody has added to a new room.
  package var notice: Notice?

  package struct Notice {
    package let details: RoomDetails
    package let by: UserID
    package let except: SessionHandle?
  }
}

/// A user who is no member of a room any more.
package struct FormerMember: Sendable {
  package let user: UserHandle
  package let name: UserID
  package let room: RoomID
  package let handle: RoomHandle
  package let cause: MemberCause

  package init(user: UserHandle, name: UserID, room: RoomID, handle: RoomHandle, cause: MemberCause) {
    (self.user, self.name, self.room, self.handle, self.cause) = (user, name, room, handle, cause)
  }
}

/// A room that was loaded from the store.
package struct LoadedRoom {
  package let handle: RoomHandle
  /// In the order of their seqs.
  package let undecided: [MessageHead]
  /// At most ``maxCalls``.
  package let calls: [Call]

  /// The maximum number of open calls whose users are known after the room was loaded.
  static let maxCalls = 16
}

/// A room that the store has deleted.
package struct DeletedRoom {
  package let room: RoomID
  /// The members whose sessions get the event. Is empty if nobody was left.
  package var members: [UserID] = []
  /// The watches of the members on each other.
  package var watches: [Watching] = []
  package var by: UserID?
  package var requester: SessionHandle?
}

extension [Change] {
  /// The calls that the store has taken a user out of, because the user has left their room or is suspended. They come
  /// before the end of the membership, so that the user's sessions get the events.
  /// - Parameter name: The name that clients know, if the user was erased and has a pseudonym in the store.
  package static func exclusions(of user: UserID, known name: UserID? = nil, from calls: [Call]) -> [Change] {
    calls.map { .call($0, $0.causeOfExclusion(of: user), by: name ?? user, on: nil) }
  }

  /// Invitations that were made or have ended, and the rooms that were deleted with their last invitation.
  package static func effects(of changes: InvitationChanges) -> [Change] {
    [.invitations(changes)] + changes.deletedRooms.map { .roomDeleted(DeletedRoom(room: $0)) }
  }
}
