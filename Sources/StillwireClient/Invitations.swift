// SPDX-License-Identifier: Apache-2.0
public import RelayJSON
public import RelayProtocol
import StillwireExtension

/// An offer of a membership by another user. It gives no messages and no events of the room.
public struct Invitation: Equatable, Sendable {
  public var room: RoomID
  public var kind: RoomKind
  public var title: String?
  public var avatar: String?
  /// The number of members. It is 2 for a direct room.
  public var memberCount: Int
  /// The user who has invited.
  public var inviter: UserID
  /// The name of the inviter that others see.
  public var inviterName: String?
  public var inviterAvatar: String?
  public var time: Timestamp

  /// Parses an entry of the list, or the event `invitation` with `event` `added`. Returns `nil` for other values.
  public init?(_ json: JSON) {
    guard let room: RoomID = json.name("room"), let kind = json["kind"]?.text.flatMap(RoomKind.init(rawValue:)),
      let by = json["by"], let inviter: UserID = by.name("user"), let time = json.time("time")
    else { return nil }
    self.room = room
    self.kind = kind
    self.inviter = inviter
    self.time = time
    title = json["title"]?.text
    avatar = json["avatar"]?.text
    memberCount = Int(clamping: json["members"]?.integer ?? 0)
    inviterName = by["name"]?.text
    inviterAvatar = by["avatar"]?.text
  }
}

/// A change of the user's open invitations.
public enum InvitationEvent: Equatable, Sendable {
  case added(Invitation)
  /// The invitation to the room has ended. The cause is `nil` if this client does not know it.
  case ended(RoomID, InvitationEnd?)

  /// Parses a frame of type `invitation`. Returns `nil` for other frames.
  init?(_ frame: JSON) {
    switch frame["event"]?.text {
    case "added":
      guard let invitation = Invitation(frame) else { return nil }
      self = .added(invitation)
    case "ended":
      guard let room: RoomID = frame.name("room") else { return nil }
      self = .ended(room, frame["cause"]?.text.flatMap(InvitationEnd.init(rawValue:)))
    default: return nil
    }
  }

  public var room: RoomID {
    switch self {
    case .added(let invitation): invitation.room
    case .ended(let room, _): room
    }
  }
}

/// A page of the user's open invitations.
public struct InvitationPage: Equatable, Sendable {
  /// The newest first.
  public var invitations: [Invitation]
  /// The argument of ``Stillwire/invitations(limit:after:)`` for the next page. Is `nil` in the last page.
  public var next: String?

  init(_ reply: JSON) {
    invitations = reply["invitations"]?.items?.compactMap(Invitation.init) ?? []
    next = reply["next"]?.text
  }
}

/// A user as a member of a room.
public struct Membership: Equatable, Sendable {
  public var room: RoomID
  public var user: UserID
  /// The newest message of the room.
  public var position: Position
  /// The read mark of the user. After an acceptance, the messages above it are those since the invitation.
  public var read: Int64
  public var memberCount: Int

  init?(_ reply: JSON) {
    guard let room: RoomID = reply.name("room"), let user: UserID = reply.name("user"), let position = Position(reply)
    else { return nil }
    self.room = room
    self.user = user
    self.position = position
    read = reply["read"]?.integer ?? 0
    memberCount = Int(clamping: reply["memberCount"]?.integer ?? 0)
  }
}

/// The result of ``Room/add(_:)``.
public enum AddResult: Equatable, Sendable {
  case member(Membership)
  /// The user is invited, and no member yet.
  case invited(UserID)
}

extension Stillwire {
  /// The number of open invitations, by the newest `welcome`. Read it after each ``Event/stateChanged(_:)`` of
  /// ``ConnectionState/open``: the client gets no events about the time without a connection. After that,
  /// ``Event/invitation(_:)`` notifies of each change.
  public var invitationCount: Int {
    get async { await engine.invitationCount }
  }

  /// Lists the open invitations of the user, the newest first.
  /// - Parameters:
  ///   - limit: The maximum number of invitations, 1 to 100.
  ///   - next: The ``InvitationPage/next`` of the page before.
  public func invitations(limit: Int = 50, after next: String? = nil) async throws -> InvitationPage {
    var fields: [String: JSON] = ["limit": .number(String(limit))]
    fields["after"] = next.map(JSON.string)
    return InvitationPage(try await request("invitations", fields))
  }

  /// Accepts an invitation. The user is a member then, and ``Room/join(history:)`` delivers the messages. A `join` of
  /// an invited user also accepts the invitation.
  ///
  /// Throws `not_found` without an invitation, and `too_large` if a limit refuses the membership. The invitation stays
  /// then.
  @discardableResult
  public func acceptInvitation(_ room: RoomID) async throws -> Membership {
    guard let membership = Membership(try await request("acceptInvitation", ["room": .string(room.rawValue)])) else {
      throw StillwireError(.malformed, "the reply to acceptInvitation is not a membership")
    }
    return membership
  }

  /// Declines an invitation. The inviter gets no event. Has no effect without an invitation.
  public func declineInvitation(_ room: RoomID) async throws {
    _ = try await request("declineInvitation", ["room": .string(room.rawValue)])
  }
}

extension Room {
  /// Adds a user. The setting `rooms.invitations` of the relay decides if the user is a member at once or only invited.
  /// Requires the role of a moderator or an owner, or the right `moderate`.
  @discardableResult
  public func add(_ user: UserID) async throws -> AddResult {
    let reply = try await request("add", ["user": .string(user.rawValue)])
    if reply["invited"]?.flag == true { return .invited(user) }
    guard let membership = Membership(reply) else {
      throw StillwireError(.malformed, "the reply to add is not a membership")
    }
    return .member(membership)
  }
}
