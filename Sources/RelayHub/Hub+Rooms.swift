// SPDX-License-Identifier: Apache-2.0
import CRelay
import Foundation
public import RelayProtocol

/// What a member may do in a room.
public struct RoomRights: OptionSet, Sendable {
  public let rawValue: UInt32
  public init(rawValue: UInt32) { self.rawValue = rawValue }
  public static let send = RoomRights(rawValue: UInt32(RELAY_RIGHT_SEND))
  public static let presence = RoomRights(rawValue: UInt32(RELAY_RIGHT_PRESENCE))
}

/// What a room does with messages.
public struct RoomTraits: OptionSet, Sendable {
  public let rawValue: UInt32
  public init(rawValue: UInt32) { self.rawValue = rawValue }
  /// Messages pass the store before they are shown, and members are durable.
  public static let stored = RoomTraits(rawValue: UInt32(RELAY_ROOM_STORED))
  /// Away members are pushed to.
  public static let pushes = RoomTraits(rawValue: UInt32(RELAY_ROOM_PUSHES))
  /// Members hear how far others have received and read, unless the room is large.
  public static let receipts = RoomTraits(rawValue: UInt32(RELAY_ROOM_RECEIPTS))
}

/// A room as it is now, seen by one user.
public struct RoomFacts: Sendable {
  public let memberCount: Int
  public let onlineCount: Int
  public let isLarge: Bool
  /// The user's read mark; nil: no member.
  public let read: Int64?
}

/// Consecutive messages as JSON objects with commas between.
public struct MessagesText: Sendable {
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

  /// The room of this name, made when there is none.
  public func makeRoom(_ name: RoomID, epoch: String, seq: Int64, cursor: Int64, traits: RoomTraits) -> RoomHandle {
    RoomHandle(rawValue: relay_room_create(hub, name.rawValue, epoch, seq, cursor, traits.rawValue))
  }

  /// Changes what the room was made with, except whether it is stored.
  /// - Parameters:
  ///   - memberList: The members above which it is large; 0: it never is.
  ///   - mostMembers: How many it takes if it is not stored; 0: no bound.
  public func configure(_ room: RoomHandle, traits: RoomTraits, memberList: Int, mostMembers: Int) {
    relay_room_configure(hub, room.rawValue, traits.rawValue, UInt32(memberList), UInt32(mostMembers))
  }

  /// Takes a room out of memory. Returns false if the room is in use.
  @discardableResult
  public func unload(_ room: RoomHandle) -> Bool { relay_room_release(hub, room.rawValue) }

  /// The newest message's position.
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

  /// nil: no member.
  public func marks(of user: UserHandle, in room: RoomHandle) -> Marks? {
    var read: Int64 = 0
    var received: Int64 = 0
    guard relay_room_marks(hub, room.rawValue, user.rawValue, &read, &received) else { return nil }
    return Marks(read: read, received: received)
  }

  /// Whether it tells counts, and not who its members are.
  public func isLarge(_ room: RoomHandle) -> Bool { relay_room_is_large(hub, room.rawValue) }

  public func memberCount(of room: RoomHandle) -> Int { relay_room_member_count(hub, room.rawValue) }

  /// A durable member, from the store: nobody is told.
  public func restoreMember(_ user: UserHandle, of room: RoomHandle, read: Int64, received: Int64) {
    _ = relay_room_restore_member(hub, room.rawValue, user.rawValue, read, received)
  }

  /// A stored message that has to be decided again; ``resume(_:)`` starts the waiting.
  public func restoreMessage(_ seq: Int64, time: Timestamp, from user: UserHandle?, in room: RoomHandle) {
    _ = relay_room_restore_message(hub, room.rawValue, seq, time.rawValue, user?.rawValue ?? 0)
  }

  public func resume(_ room: RoomHandle) { relay_room_resume(hub, room.rawValue) }

  /// A new member, of whom the others are told.
  public func addMember(_ user: UserHandle, to room: RoomHandle) throws(HubRefusal) {
    try HubRefusal.check(relay_room_add_member(hub, room.rawValue, user.rawValue))
  }

  /// Ends a membership; everybody is told, the user's own sessions as well.
  public func removeMember(_ user: UserHandle, from room: RoomHandle, byOthers: Bool) throws(HubRefusal) {
    try HubRefusal.check(relay_room_remove_member(hub, room.rawValue, user.rawValue, byOthers))
  }

  public func isMember(_ user: UserHandle, of room: RoomHandle) -> Bool {
    relay_room_has_member(hub, room.rawValue, user.rawValue)
  }

  public func isJoined(_ session: SessionHandle, to room: RoomHandle) -> Bool {
    relay_room_is_joined(hub, room.rawValue, session.rawValue)
  }

  /// Throws ``HubRefusal/tooMany`` when one more room would be past `roomsPerSession`.
  public func checkMayJoin(_ session: SessionHandle, _ room: RoomHandle?) throws(HubRefusal) {
    try HubRefusal.check(relay_session_may_join(hub, session.rawValue, room?.rawValue ?? 0))
  }

  /// The session, of a member, hears the room from now on.
  /// - Parameter seq: The oldest message that the reply to `join` contains; the newest + 1 when it has none.
  public func join(
    _ session: SessionHandle, _ room: RoomHandle, rights: RoomRights, givenFrom seq: Int64
  ) throws(HubRefusal) {
    try HubRefusal.check(relay_room_join(hub, room.rawValue, session.rawValue, rights.rawValue, seq))
  }

  /// Other rights for a session that has joined.
  public func setRights(_ rights: RoomRights, of session: SessionHandle, in room: RoomHandle) {
    _ = relay_room_set_rights(hub, room.rawValue, session.rawValue, rights.rawValue)
  }

  /// The rooms that a session hears.
  public func rooms(of session: SessionHandle) -> [RoomHandle] {
    handles { relay_session_rooms(hub, session.rawValue, $0, $1) }
  }

  /// The sessions that hear a room.
  public func sessions(in room: RoomHandle) -> [SessionHandle] {
    handles { relay_room_sessions(hub, room.rawValue, $0, $1) }
  }

  /// The rooms in memory that both are members of.
  public func rooms(sharedBy a: UserHandle, _ b: UserHandle) -> [RoomHandle] {
    handles { relay_user_shared_rooms(hub, a.rawValue, b.rawValue, $0, $1) }
  }

  /// - Parameter write: Writes at most so many ids, and returns how many there are.
  func handles<H: Handle>(_ write: (UnsafeMutablePointer<UInt64>?, Int) -> Int) -> [H] {
    let count = write(nil, 0)
    let ids = [UInt64](unsafeUninitializedCapacity: count) { buffer, filled in
      filled = write(buffer.baseAddress, count)
    }
    return ids.map(H.init(rawValue:))
  }

  /// The session, but not the user, leaves.
  public func leave(_ session: SessionHandle, _ room: RoomHandle) throws(HubRefusal) {
    try HubRefusal.check(relay_room_leave(hub, room.rawValue, session.rawValue))
  }

  /// The presence entries of all members as `viewer` may see them, as a JSON array; nil sees all.
  public func entries(of room: RoomHandle, seenBy viewer: UserHandle?) -> [UInt8] {
    var size = 0
    guard let text = relay_room_entries(hub, room.rawValue, viewer?.rawValue ?? 0, &size) else {
      return Array("[]".utf8)
    }
    defer { free(text) }
    return [UInt8](UnsafeRawBufferPointer(start: text, count: size))
  }

  /// The same of at most `limit` members in the order of their names, of those behind `after`.
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

  /// All messages after `seq`, when the hub still has them.
  public func tail(of room: RoomHandle, after seq: Int64) -> MessagesText? {
    var size = 0
    var count = 0
    guard let text = relay_room_tail(hub, room.rawValue, seq, &size, &count) else { return nil }
    defer { free(text) }
    return MessagesText(text: [UInt8](UnsafeRawBufferPointer(start: text, count: size)), count: count)
  }

  /// The tail no longer has the messages before `first`.
  public func trim(_ room: RoomHandle, before first: Int64) { relay_room_trim(hub, room.rawValue, first) }
}
