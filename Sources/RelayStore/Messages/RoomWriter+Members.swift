// SPDX-License-Identifier: Apache-2.0
import GRDB
public import RelayProtocol

/// Adds and removes members, changes their roles, and keeps an owner in each group.
extension RoomWriter {
  /// The maximum number of bans of a room.
  public static let maxBanned = 1_000
  /// The maximum number of restricted users of a room.
  public static let maxRestricted = 1_000

  /// Makes another user a member, or invites the user. A new membership ends a ban of the user.
  ///
  /// Throws ``RoomRefusal/needs(_:)``, ``RoomRefusal/isDirect`` and ``StoreError/tooMany(_:)``.
  /// - Parameter invites: True if the actor only invites the user. A user who has blocked the actor is never made a
  ///   member.
  public func add(
    _ user: User, to room: RoomID, by actor: RoomActor, now: Timestamp, within bounds: MembershipBounds,
    invites: Bool = false
  ) throws -> AddedUser {
    guard let known = try row(of: room) else { throw StoreError.noRoom(room) }
    try checkIsGroup(room, for: actor)
    try check(actor, has: .moderator, in: known)
    if case .user(let caller, _) = actor, try !reader.rooms.isMember(user.id, of: room) {
      let isHidden = try hasBlocked(caller, user.id)
      if invites || isHidden {
        var changes = InvitationChanges()
        try transaction.invitations.invite(
          user.id, to: known, by: caller, isHidden: isHidden, limit: bounds.invitations, &changes)
        return .invited(changes)
      }
    }
    return .member(
      try join(user, room: room, epoch: known.epoch, now: now, within: bounds, mayCreate: false, isInvited: true))
  }

  /// Ends the membership or the invitation of another user, and bans the user if `ban` is given. A user who is no member
  /// can be banned, too.
  ///
  /// A moderator removes members, and an owner also moderators. Only a backend removes an owner.
  public func remove(_ user: UserID, from room: RoomID, by actor: RoomActor, ban: RoomBan? = nil) throws -> LeftRoom {
    guard let known = try row(of: room) else { throw StoreError.noRoom(room) }
    try checkIsGroup(room, for: actor)
    try check(actor, has: .moderator, in: known)
    try check(actor, outranks: user, in: known)
    if let ban { try self.ban(user, from: known.id, ban) }
    var left = try end(user, room)
    try transaction.invitations.withdraw(user, from: known, &left.invitations)
    return left
  }

  /// Throws unless the actor is a backend or has a higher role than a member. The right `moderate` raises a member to a
  /// moderator. No role lets a user act on an owner.
  private func check(_ actor: RoomActor, outranks user: UserID, in room: WriterCache.Room) throws {
    guard case .user(let caller, _) = actor, let role = try role(of: user, in: room) else { return }
    let own = try self.role(of: caller, in: room) ?? .member
    guard role < max(own, .moderator) else {
      throw StoreError.refused(role == .owner ? .isOwner : .needs(.owner))
    }
  }

  /// Changes the role of a member. A member who becomes an owner is restricted no more.
  ///
  /// Throws ``RoomRefusal/needs(_:)`` unless the actor is an owner or a backend, ``RoomRefusal/noMember``, and
  /// ``RoomRefusal/lastOwner``.
  /// - Returns: False if the member has the role already. Nothing is changed then.
  @discardableResult
  public func setRole(_ role: RoomRole, of user: UserID, in room: RoomID, by actor: RoomActor) throws -> Bool {
    guard let known = try row(of: room) else { throw StoreError.noRoom(room) }
    if try reader.rooms.details(of: room)?.kind == .direct { throw StoreError.refused(.isDirect) }
    try check(actor, has: .owner, in: known)
    guard let before = try self.role(of: user, in: known), let id = try row(of: user) else {
      throw StoreError.refused(.noMember)
    }
    guard before != role else { return false }
    try db.run("UPDATE members SET role = ? WHERE room = ? AND user = ?", [role.rawValue, known.id, id])
    if try before == .owner && needsOwner(known.id) { throw StoreError.refused(.lastOwner) }
    if role == .owner { try endRestriction(of: id, in: known.id) }
    return true
  }

  // MARK: Restrictions

  /// Restricts a member until a time, or ends the restriction. It also applies after the user has left and joined again.
  ///
  /// The rules about roles are those of ``remove(_:from:by:ban:)``. Throws ``RoomRefusal/noMember`` if the user to
  /// restrict is no member, and ``StoreError/tooMany(_:)``.
  /// - Parameter until: Is `nil` to end the restriction.
  public func restrict(_ user: UserID, in room: RoomID, by actor: RoomActor, until: Timestamp?) throws {
    guard let known = try row(of: room) else { throw StoreError.noRoom(room) }
    try checkIsGroup(room, for: actor)
    try check(actor, has: .moderator, in: known)
    try check(actor, outranks: user, in: known)
    guard let until else {
      guard let id = try row(of: user) else { return }
      return try endRestriction(of: id, in: known.id)
    }
    guard try role(of: user, in: known) != nil, let id = try row(of: user) else { throw StoreError.refused(.noMember) }
    try forgetEnded("restrictions", in: known.id)
    try db.run(
      "INSERT OR REPLACE INTO restrictions (room, user, until) VALUES (?, ?, ?)", [known.id, id, until.rawValue])
    let count: Int =
      try db.first("SELECT count(*) FROM restrictions WHERE room = ? AND until > ?", [known.id, now.rawValue])?[0] ?? 0
    if count > Self.maxRestricted { throw StoreError.tooMany(.restrictedUsers) }
  }

  func endRestriction(of user: Int64, in room: Int64) throws {
    try db.run("DELETE FROM restrictions WHERE room = ? AND user = ?", [room, user])
  }

  /// The end of a user's restriction. It may be over. Is `nil` without one.
  func restriction(of user: Int64, in room: Int64) throws -> Timestamp? {
    try db.first("SELECT until FROM restrictions WHERE room = ? AND user = ?", [room, user])?.time("until")
  }

  // MARK: Owners

  /// True if the room is a group with a record that has no owner.
  func needsOwner(_ room: Int64) throws -> Bool {
    try db.has(
      """
      SELECT 1 FROM details WHERE room = ?1 AND is_owned
        AND NOT EXISTS (
          SELECT 1 FROM members INDEXED BY members_role WHERE room = ?1 AND role = \(RoomRole.owner.rawValue) AND role > 0)
      """,
      [room])
  }

  /// Makes the member with the longest membership the owner, if the room needs one. This is the member who was added
  /// first: no times are compared. The new owner is restricted no more. Returns the new owner.
  func appointOwner(of room: Int64) throws -> UserID? {
    guard try needsOwner(room) else { return nil }
    let oldest = try db.first(
      """
      SELECT users.id, users.name FROM members JOIN users ON users.id = members.user
      WHERE members.room = ? ORDER BY members.added LIMIT 1
      """,
      [room])
    guard let oldest else { return nil }
    let id: Int64 = oldest["id"]
    try db.run("UPDATE members SET role = \(RoomRole.owner.rawValue) WHERE room = ? AND user = ?", [room, id])
    try endRestriction(of: id, in: room)
    return UserID(unchecked: oldest["name"])
  }

  // MARK: Bans

  /// Deletes the rows of a table of bans or restrictions that are over.
  private func forgetEnded(_ table: String, in room: Int64) throws {
    try db.run("DELETE FROM \(table) WHERE room = ? AND until <= ?", [room, time(before: .zero).rawValue])
  }

  private func ban(_ user: UserID, from room: Int64, _ ban: RoomBan) throws {
    try forgetEnded("bans", in: room)
    try db.run(
      "INSERT OR REPLACE INTO bans (room, user, until) VALUES (?, ?, ?)",
      [room, try transaction.rowToName(user), ban.until?.rawValue])
    let count: Int =
      try db.first("SELECT count(*) FROM bans WHERE room = ? AND coalesce(until > ?, 1)", [room, now.rawValue])?[0] ?? 0
    if count > Self.maxBanned { throw StoreError.tooMany(.bannedUsers) }
  }

  /// Throws if the room is the direct room of two other users.
  func checkIsOfPair(_ user: UserID, _ room: Int64) throws {
    if try db.has("SELECT 1 FROM directs WHERE room = ?1 AND low <> ?2 AND high <> ?2", [room, user.rawValue]) {
      throw StoreError.refused(.isDirect)
    }
  }

  /// Throws if a user changes the members of a direct room.
  private func checkIsGroup(_ room: RoomID, for actor: RoomActor) throws {
    guard actor != .backend else { return }
    if try reader.rooms.details(of: room)?.kind == .direct { throw StoreError.refused(.isDirect) }
  }
}
