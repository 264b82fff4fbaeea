// SPDX-License-Identifier: Apache-2.0
import Foundation
import GRDB
public import RelayProtocol

/// Creates rooms with a record, and changes the record.
extension RoomWriter {
  /// Creates a group with its members. The creator is the owner.
  ///
  /// Throws ``RoomRefusal/exists``, ``RoomRefusal/blocked(_:)`` and ``StoreError/tooMany(_:)``.
  public func make(_ draft: RoomDraft) throws -> MadeRoom {
    let creator = try needRow(of: draft.creator)
    if let key = draft.key, let known = try made(with: key, creator) { return known }
    guard try row(of: draft.room) == nil else { throw StoreError.refused(.exists) }
    let id = try insert(draft)
    try insertMember(creator, draft.room, as: .owner, within: draft.bounds, now: now)
    var added = [draft.creator.id]
    for member in draft.members where !added.contains(member) {
      try checkBlocks(of: member, draft.creator.id)
      try insertMember(try needRow(of: member), draft.room, within: draft.bounds, now: now)
      added.append(member)
    }
    if let key = draft.key { try remember(key, creator, id) }
    return try result(draft.room, isNew: true, added)
  }

  /// Finds or creates the direct room of the creator and of the only other member. Both become members again if they
  /// have left.
  ///
  /// The pair of users is unique in the table, so two simultaneous calls find the same room. Throws
  /// ``RoomRefusal/blocked(_:)`` and ``RoomRefusal/banned(until:)`` unless nothing changes, and
  /// ``StoreError/tooMany(_:)``.
  public func makeDirect(_ draft: RoomDraft) throws -> MadeRoom {
    guard let other = draft.members.first else { preconditionFailure("a direct room has two members") }
    let users = [try needRow(of: draft.creator), try needRow(of: other)]
    let pair: StatementArguments = [users.min(), users.max()]
    let known = try db.first(
      "SELECT rooms.id, rooms.name FROM directs JOIN rooms ON rooms.id = directs.room WHERE low = ? AND high = ?", pair)
    let room: RoomID
    let id: Int64
    if let known {
      (id, room) = (known["id"], RoomID(unchecked: known["name"]))
    } else {
      guard try row(of: draft.room) == nil else { throw StoreError.refused(.exists) }
      (id, room) = (try insert(draft), draft.room)
      try db.run("INSERT INTO directs (low, high, room) VALUES (?, ?, ?)", pair + [id])
    }
    var added: [UserID] = []
    var restricted: [UserID: Timestamp] = [:]
    for (user, name) in zip(users, [draft.creator.id, other])
    where try !db.has("SELECT 1 FROM members WHERE room = ? AND user = ?", [id, user]) {
      try checkBlocks(of: other, draft.creator.id)
      try checkBan(of: user, from: id)
      try insertMember(user, room, within: draft.bounds, now: now)
      added.append(name)
      restricted[name] = try restriction(of: user, in: id)
    }
    return try result(room, isNew: known == nil, added, restricted)
  }

  /// Changes the record of a room.
  ///
  /// - Parameter version: The version that the caller has read. Is `nil` for any version.
  public func update(
    _ room: RoomID, _ change: RoomChange, by actor: RoomActor, version: Int64? = nil
  ) throws -> RoomDetails {
    guard let known = try row(of: room), let before = try reader.rooms.details(of: room) else {
      throw StoreError.noRoom(room)
    }
    if before.kind == .direct, change.isVisible { throw StoreError.refused(.isDirect) }
    try check(actor, has: before.kind == .direct ? .member : .moderator, in: known)
    if let version, version != before.version { throw StoreError.refused(.outdated(version: before.version)) }
    var details = change.applied(to: before)
    details.version += 1
    details.created = details.created ?? now
    try save(details, of: known.id, isOwned: false)
    try transaction.inbox.changed(known.id)
    return details
  }

  // MARK: Checks

  /// Throws unless the actor is a member with this role. The right `moderate` raises a member to a moderator.
  func check(_ actor: RoomActor, has role: RoomRole, in room: WriterCache.Room) throws {
    guard case .user(let user, let moderates) = actor else { return }
    guard let own = try self.role(of: user, in: room) else { throw StoreError.notMember }
    guard max(own, moderates ? .moderator : .member) >= role else { throw StoreError.refused(.needs(role)) }
  }

  /// The role of a member. Is `nil` for other users.
  func role(of user: UserID, in room: WriterCache.Room) throws -> RoomRole? {
    guard let id = try row(of: user),
      let found = try db.first("SELECT role FROM members WHERE room = ? AND user = ?", [room.id, id])
    else { return nil }
    return RoomRole(rawValue: found[0]) ?? .member
  }

  /// Throws if a new member is banned, or needs an invitation. An invitation ends the ban.
  func checkMayJoin(_ room: WriterCache.Room, _ user: Int64, isInvited: Bool) throws {
    guard !isInvited else {
      try checkIsOfPair(user, room.id)
      return try db.run("DELETE FROM bans WHERE room = ? AND user = ?", [room.id, user])
    }
    try checkBan(of: user, from: room.id)
    let isClosed = try db.has(
      "SELECT 1 FROM details WHERE room = ? AND join_rule = '\(RoomJoin.invited.rawValue)'", [room.id])
    if isClosed { throw StoreError.refused(.invited) }
  }

  /// Throws if the user is banned from the room.
  private func checkBan(of user: Int64, from room: Int64) throws {
    let ban = try db.first(
      "SELECT until FROM bans WHERE room = ? AND user = ? AND coalesce(until > ?, 1)", [room, user, now.rawValue])
    if let ban { throw StoreError.refused(.banned(until: ban.time("until"))) }
  }

  /// Throws if `user` has blocked the caller.
  func checkBlocks(of user: UserID, _ caller: UserID) throws {
    guard let id = try row(of: user) else { return }
    if try db.has("SELECT 1 FROM blocks WHERE user = ? AND other = ?", [id, caller.rawValue]) {
      throw StoreError.refused(.blocked(user))
    }
  }

  // MARK: Rows

  private func insert(_ draft: RoomDraft) throws -> Int64 {
    _ = try create(draft.room, epoch: draft.epoch)
    guard let known = try row(of: draft.room) else { throw StoreError.noRoom(draft.room) }
    var details = draft.details
    details.version = 1
    details.created = now
    try save(details, of: known.id, isOwned: details.kind == .group)
    return known.id
  }

  /// - Parameter isOwned: The value for a new record. A change keeps the stored one.
  private func save(_ details: RoomDetails, of room: Int64, isOwned: Bool) throws {
    if details.kind == .group, isOwned || details.title != nil { try noteGroup(room) }
    try db.run(
      """
      INSERT INTO details (room, kind, join_rule, title, avatar, metadata, read_only, version, created, is_owned)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
      ON CONFLICT (room) DO UPDATE SET title = excluded.title, avatar = excluded.avatar, metadata = excluded.metadata,
        read_only = excluded.read_only, version = excluded.version
      """,
      [
        room, details.kind.rawValue, details.join.rawValue, details.title, details.avatar,
        details.metadata.map { Data($0) }, details.isReadOnly, details.version, details.created?.rawValue, isOwned,
      ])
  }

  private func result(
    _ room: RoomID, isNew: Bool, _ added: [UserID], _ restricted: [UserID: Timestamp] = [:]
  ) throws -> MadeRoom {
    guard let known = try row(of: room), let details = try reader.rooms.details(of: room) else {
      throw StoreError.noRoom(room)
    }
    return MadeRoom(
      state: RoomState(room: room, known), details: details, isNew: isNew, added: added, restricted: restricted)
  }

  // MARK: Idempotency keys

  private func made(with key: String, _ creator: Int64) throws -> MadeRoom? {
    try db.first(
      """
      SELECT rooms.name FROM creations JOIN rooms ON rooms.id = creations.room
      WHERE user = ? AND key = ? AND expires > ? AND NOT (\(Schema.isDeleted("rooms.name")))
      """,
      [creator, key, steadyNow.rawValue]
    ).map { try result(RoomID(unchecked: $0[0]), isNew: false, []) }
  }

  private func remember(_ key: String, _ creator: Int64, _ room: Int64) throws {
    try db.run(
      "INSERT OR REPLACE INTO creations (user, key, room, expires) VALUES (?, ?, ?, ?)",
      [creator, key, room, (steadyNow + MessageDraft.keyLifetime).rawValue])
    // Several for each new one, so that expired keys do not accumulate.
    try db.run(
      """
      DELETE FROM creations WHERE (user, key) IN (
        SELECT user, key FROM creations WHERE expires <= ? ORDER BY expires LIMIT \(Self.sweptCreations))
      """,
      [steadyNow.rawValue])
  }

  /// The number of expired keys that one `create` deletes.
  static let sweptCreations = 8
}
