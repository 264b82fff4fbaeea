// SPDX-License-Identifier: Apache-2.0
import CRelay
import Foundation
public import RelayProtocol

// Rooms in memory, their members, and the sessions that have joined them.

/// The rights of a session in a room.
public struct RoomRights: OptionSet, Sendable {
  public let rawValue: UInt32
  public init(rawValue: UInt32) { self.rawValue = rawValue }
  public static let send = RoomRights(rawValue: UInt32(RELAY_RIGHT_SEND))
  public static let presence = RoomRights(rawValue: UInt32(RELAY_RIGHT_PRESENCE))
  /// Send like a moderator in a room that is read-only.
  public static let moderate = RoomRights(rawValue: UInt32(RELAY_RIGHT_MODERATE))
  /// Read all messages, and not only those since the join.
  public static let history = RoomRights(rawValue: UInt32(RELAY_RIGHT_HISTORY))
}

/// The settings of a room that the hub needs.
public struct RoomTraits: OptionSet, Sendable {
  public let rawValue: UInt32
  public init(rawValue: UInt32) { self.rawValue = rawValue }
  /// Messages are stored before they are sent to members, and memberships are stored.
  public static let stored = RoomTraits(rawValue: UInt32(RELAY_ROOM_STORED))
  /// Members who are away get pushes.
  public static let pushes = RoomTraits(rawValue: UInt32(RELAY_ROOM_PUSHES))
  /// Members receive the marks of the others (received and read), unless the room is large.
  public static let receipts = RoomTraits(rawValue: UInt32(RELAY_ROOM_RECEIPTS))
  /// The room of two people. Frames show two members, also while one of the two people is no member.
  public static let pair = RoomTraits(rawValue: UInt32(RELAY_ROOM_PAIR))
}

/// The cause of the begin or the end of a membership, as the event `member` names it.
public enum MemberCause: Equatable, Sendable {
  case joined, left
  /// Another caller. The user is `nil` for a backend that acts for nobody.
  case added(by: UserID?)
  case removed(by: UserID?)
  case banned(by: UserID?)

  var name: String {
    switch self {
    case .joined: "joined"
    case .left: "left"
    case .added: "added"
    case .removed: "removed"
    case .banned: "banned"
    }
  }

  /// The caller who has changed the membership of another user.
  public var by: UserID? {
    switch self {
    case .joined, .left: nil
    case .added(let user), .removed(let user), .banned(let user): user
    }
  }
}

extension relay_role_t {
  init(_ role: RoomRole) { self.init(UInt32(role.rawValue)) }
}

/// The current state of a room, for one user.
public struct RoomFacts: Sendable {
  /// The number of members that replies show, see ``RoomTraits/pair``.
  public let memberCount: Int
  public let onlineCount: Int
  public let isLarge: Bool
  /// The user's read mark. Is `nil` if the user is not a member.
  public let read: Int64?
}

/// Consecutive messages as JSON objects, separated by commas.
public struct MessagesText: Equatable, Sendable {
  public var text: [UInt8]
  public var count: Int

  public init(text: [UInt8], count: Int) {
    self.text = text
    self.count = count
  }
}

extension Hub {
  public func room(_ name: RoomID) -> RoomHandle? { RoomHandle(id: relay_room_named(hub, name.rawValue)) }

  public func name(of room: RoomHandle) -> RoomID? {
    relay_room_name(hub, room.rawValue).map { RoomID(unchecked: String(cString: $0)) }
  }

  /// Returns the room of this name. Creates it if it is not in memory.
  public func makeRoom(_ name: RoomID, epoch: String, seq: Int64, cursor: Int64, traits: RoomTraits) -> RoomHandle {
    RoomHandle(rawValue: relay_room_create(hub, name.rawValue, epoch, seq, cursor, traits.rawValue))
  }

  /// Changes the settings of a room, except ``RoomTraits/stored``.
  /// - Parameters:
  ///   - memberList: The number of members above which the room is large; 0 means that it never is.
  ///   - maxMembers: The maximum number of members of a room that is not stored; 0 means no limit.
  public func configure(_ room: RoomHandle, traits: RoomTraits, memberList: Int, maxMembers: Int) {
    relay_room_configure(hub, room.rawValue, traits.rawValue, UInt32(memberList), UInt32(maxMembers))
  }

  /// Removes a room from memory. Returns false if the room is in use.
  @discardableResult
  public func unload(_ room: RoomHandle) -> Bool { relay_room_release(hub, room.rawValue) }

  /// Removes a room that the store has deleted from memory, with its members and its sessions.
  public func delete(_ room: RoomHandle) { relay_room_delete(hub, room.rawValue) }

  /// The open sessions of all members, also those that have not joined the room.
  public func sessions(ofMembersOf room: RoomHandle) -> [SessionHandle] {
    handles { relay_room_member_sessions(hub, room.rawValue, $0, $1) }
  }

  /// The position of the newest message.
  public func position(of room: RoomHandle) -> Position? {
    relay_room_epoch(hub, room.rawValue).map {
      Position(epoch: String(cString: $0), seq: relay_room_seq(hub, room.rawValue))
    }
  }

  public func facts(of room: RoomHandle, for user: UserHandle?) -> RoomFacts {
    let facts = relay_room_facts(hub, room.rawValue, user?.rawValue ?? 0)
    return RoomFacts(
      memberCount: facts.members, onlineCount: facts.online, isLarge: facts.is_large,
      read: facts.read < 0 ? nil : facts.read)
  }

  /// Returns the user's read and received marks, or `nil` if the user is not a member.
  public func marks(of user: UserHandle, in room: RoomHandle) -> Marks? {
    var read: Int64 = 0
    var received: Int64 = 0
    guard relay_room_marks(hub, room.rawValue, user.rawValue, &read, &received) else { return nil }
    return Marks(read: read, received: received)
  }

  /// The marks of the other members that the viewer may see, as a JSON array of `user`, `read` and `received`.
  /// - Parameter limit: The maximum number of members.
  /// - Returns: `nil` if the room has no ``RoomTraits/receipts``, is large, or has more members.
  public func receipts(of room: RoomHandle, seenBy viewer: UserHandle, limit: Int) -> [UInt8]? {
    var size = 0
    guard let text = relay_room_receipts(hub, room.rawValue, viewer.rawValue, limit, &size) else { return nil }
    defer { free(text) }
    return [UInt8](UnsafeRawBufferPointer(start: text, count: size))
  }

  /// True if the room is large. A large room sends the numbers of its members, and not the list.
  public func isLarge(_ room: RoomHandle) -> Bool { relay_room_is_large(hub, room.rawValue) }

  public func memberCount(of room: RoomHandle) -> Int { relay_room_member_count(hub, room.rawValue) }

  /// Adds a member that the store has loaded. Sends no event.
  public func restoreMember(
    _ user: UserHandle, of room: RoomHandle, read: Int64, received: Int64, role: RoomRole = .member,
    restrictedUntil: Timestamp? = nil
  ) {
    _ = relay_room_restore_member(hub, room.rawValue, user.rawValue, read, received)
    _ = relay_room_set_role(hub, room.rawValue, user.rawValue, relay_role_t(role), false, nil)
    _ = relay_room_restrict(hub, room.rawValue, user.rawValue, restrictedUntil?.rawValue ?? 0, false, nil)
  }

  /// Changes the role of a member, and sends the event `role` to the sessions in the room.
  /// - Parameter changer: The user who has changed it. Is `nil` for the relay or a backend.
  public func setRole(_ role: RoomRole, of user: UserHandle, in room: RoomHandle, by changer: UserID?) {
    _ = relay_room_set_role(hub, room.rawValue, user.rawValue, relay_role_t(role), true, changer?.rawValue)
  }

  /// The role of a user in a room. Is ``RoomRole/member`` also for a user who is no member.
  public func role(of user: UserHandle, in room: RoomHandle) -> RoomRole {
    RoomRole(rawValue: Int64(relay_room_role(hub, room.rawValue, user.rawValue).rawValue)) ?? .member
  }

  /// Restricts a member until a time, or ends the restriction. Sends the event `member` to the sessions in the room.
  /// - Parameter changer: The user who has caused it. Is `nil` for a backend.
  public func restrict(_ user: UserHandle, in room: RoomHandle, until: Timestamp?, by changer: UserID?) {
    _ = relay_room_restrict(hub, room.rawValue, user.rawValue, until?.rawValue ?? 0, true, changer?.rawValue)
  }

  /// The end of the restriction of a member. Is `nil` without a restriction, and after its end.
  public func restriction(of user: UserHandle, in room: RoomHandle) -> Timestamp? {
    let until = relay_room_restricted_until(hub, room.rawValue, user.rawValue)
    return until == 0 ? nil : Timestamp(rawValue: until)
  }

  /// Sets if a member takes part in a call. The hub knows the 16 newest calls of each member. In a room that is
  /// read-only, the users of a call send signals to each other: for a member in several calls, those of the newest
  /// call.
  /// - Parameter call: The seq of the message that rings.
  public func setCall(_ call: Int64, of user: UserHandle, in room: RoomHandle, takesPart: Bool) {
    _ = relay_room_set_call(hub, room.rawValue, user.rawValue, call, takesPart)
  }

  /// Lets only moderators and owners send to a room, or all members.
  public func setReadOnly(_ isReadOnly: Bool, _ room: RoomHandle) {
    relay_room_set_read_only(hub, room.rawValue, isReadOnly)
  }

  public func isReadOnly(_ room: RoomHandle) -> Bool { relay_room_is_read_only(hub, room.rawValue) }

  /// Adds a stored message whose pushes are not decided yet. ``resume(_:)`` starts the waits.
  public func restoreMessage(_ seq: Int64, time: Timestamp, from user: UserHandle?, in room: RoomHandle) {
    _ = relay_room_restore_message(hub, room.rawValue, seq, time.rawValue, user?.rawValue ?? 0)
  }

  /// Starts the waits of the restored messages of a room.
  public func resume(_ room: RoomHandle) { relay_room_resume(hub, room.rawValue) }

  /// Adds a member, and sends the events `member` and `presence` to the others. Throws ``HubRefusal/tooMany`` above
  /// `maxMembers`.
  public func addMember(
    _ user: UserHandle, to room: RoomHandle, as role: RoomRole = .member, _ cause: MemberCause = .joined
  ) throws(HubRefusal) {
    try HubRefusal.check(
      relay_room_add_member(
        hub, room.rawValue, user.rawValue, relay_role_t(role), cause.name, cause.by?.rawValue))
  }

  /// Sets the marks of a new member who has not read the newest messages. The relay pushes none of them.
  public func setMarks(_ seq: Int64, of user: UserHandle, in room: RoomHandle) {
    _ = relay_room_set_marks(hub, room.rawValue, user.rawValue, seq)
  }

  /// Ends a membership, and sends the event `member` to all sessions in the room, including those of the user.
  public func removeMember(_ user: UserHandle, from room: RoomHandle, _ cause: MemberCause) throws(HubRefusal) {
    try HubRefusal.check(
      relay_room_remove_member(hub, room.rawValue, user.rawValue, cause.name, cause.by?.rawValue))
  }

  public func isMember(_ user: UserHandle, of room: RoomHandle) -> Bool {
    relay_room_has_member(hub, room.rawValue, user.rawValue)
  }

  public func isJoined(_ session: SessionHandle, to room: RoomHandle) -> Bool {
    relay_room_is_joined(hub, room.rawValue, session.rawValue)
  }

  /// Throws ``HubRefusal/tooMany`` if one more room would exceed the limit `roomsPerSession`.
  public func checkMayJoin(_ session: SessionHandle, _ room: RoomHandle?) throws(HubRefusal) {
    try HubRefusal.check(relay_session_may_join(hub, session.rawValue, room?.rawValue ?? 0))
  }

  /// Joins a session to a room: the session receives the room's events from now on. Its user must be a member.
  /// - Parameter seq: The seq of the oldest message in the reply to `join`. If the reply has no messages, the newest
  ///   seq + 1.
  public func join(
    _ session: SessionHandle, _ room: RoomHandle, rights: RoomRights, givenFrom seq: Int64
  ) throws(HubRefusal) {
    try HubRefusal.check(relay_room_join(hub, room.rawValue, session.rawValue, rights.rawValue, seq))
  }

  /// Changes the rights of a session that has joined.
  public func setRights(_ rights: RoomRights, of session: SessionHandle, in room: RoomHandle) {
    _ = relay_room_set_rights(hub, room.rawValue, session.rawValue, rights.rawValue)
  }

  /// The rooms that a session has joined.
  public func rooms(of session: SessionHandle) -> [RoomHandle] {
    handles { relay_session_rooms(hub, session.rawValue, $0, $1) }
  }

  /// The sessions that have joined a room.
  public func sessions(in room: RoomHandle) -> [SessionHandle] {
    handles { relay_room_sessions(hub, room.rawValue, $0, $1) }
  }

  /// The rooms in memory of which the user is a member.
  public func rooms(of user: UserHandle) -> [RoomHandle] { rooms(sharedBy: user, user) }

  /// The rooms in memory of which both users are members.
  public func rooms(sharedBy a: UserHandle, _ b: UserHandle) -> [RoomHandle] {
    handles { relay_user_shared_rooms(hub, a.rawValue, b.rawValue, $0, $1) }
  }

  /// The members of a room, in no order.
  public func members(of room: RoomHandle) -> [UserHandle] {
    handles { relay_room_members(hub, room.rawValue, $0, $1) }
  }

  /// Calls `write` twice: for the count, and for the ids.
  /// - Parameter write: Writes at most the given number of ids, and returns the number of all.
  func handles<H: Handle>(_ write: (UnsafeMutablePointer<UInt64>?, Int) -> Int) -> [H] {
    let count = write(nil, 0)
    let ids = [UInt64](unsafeUninitializedCapacity: count) { buffer, filled in
      filled = write(buffer.baseAddress, count)
    }
    return ids.map(H.init(rawValue:))
  }

  /// Removes a session from a room. Its user remains a member.
  public func leave(_ session: SessionHandle, _ room: RoomHandle) throws(HubRefusal) {
    try HubRefusal.check(relay_room_leave(hub, room.rawValue, session.rawValue))
  }

  /// The presence entries of all members, as a JSON array.
  /// - Parameter viewer: The user whose view the entries show; `nil` shows everything.
  public func entries(of room: RoomHandle, seenBy viewer: UserHandle?) -> [UInt8] {
    var size = 0
    guard let text = relay_room_entries(hub, room.rawValue, viewer?.rawValue ?? 0, &size) else {
      return Array("[]".utf8)
    }
    defer { free(text) }
    return [UInt8](UnsafeRawBufferPointer(start: text, count: size))
  }

  /// The same for at most `limit` members whose names sort after `after`, in the order of the names.
  public func entries(
    of room: RoomHandle, seenBy viewer: UserHandle?, after: UserID?, limit: Int
  ) -> (entries: [UInt8], hasMore: Bool) {
    var size = 0
    var hasMore = false
    guard
      let text = relay_room_entries_after(
        hub, room.rawValue, viewer?.rawValue ?? 0, after?.rawValue, limit, &size, &hasMore)
    else {
      return (Array("[]".utf8), false)
    }
    defer { free(text) }
    return ([UInt8](UnsafeRawBufferPointer(start: text, count: size)), hasMore)
  }

  /// All messages after `seq`, as JSON. Returns `nil` if the hub does not have all of them in memory any more.
  public func tail(of room: RoomHandle, after seq: Int64) -> MessagesText? {
    var size = 0
    var count = 0
    guard let text = relay_room_tail(hub, room.rawValue, seq, &size, &count) else { return nil }
    defer { free(text) }
    return MessagesText(text: [UInt8](UnsafeRawBufferPointer(start: text, count: size)), count: count)
  }

  /// Removes the messages before `first` from the messages that ``tail(of:after:)`` returns.
  public func trim(_ room: RoomHandle, before first: Int64) { relay_room_trim(hub, room.rawValue, first) }
}
