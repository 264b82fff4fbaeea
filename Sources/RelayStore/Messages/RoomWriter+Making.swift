// SPDX-License-Identifier: Apache-2.0
import Foundation
import GRDB
public import RelayProtocol

/// Creates rooms with a record, and changes the record.
extension RoomWriter {
  /// Creates a group with its members and invitations. The creator is the owner.
  ///
  /// Throws ``RoomRefusal/exists`` and ``StoreError/tooMany(_:)``.
  public func make(_ draft: RoomDraft) throws -> MadeRoom {
    let creator = try needRow(of: draft.creator)
    if let key = draft.key, let known = try made(with: key, creator) { return known }
    guard try row(of: draft.room) == nil else { throw StoreError.refused(.exists) }
    let id = try insert(draft)
    var made = Additions(to: draft.room)
    try insertMember(draft.creator.id, draft.room, as: .owner, within: draft.bounds, now: now, &made.invitations)
    made.added = [draft.creator.id]
    for member in draft.members where !made.added.contains(member) { try add(member, draft, &made) }
    if let key = draft.key { try remember(key, creator, id) }
    return try result(made, isNew: true)
  }

  /// Finds or creates the direct room of the creator and of the only other member. Both become members again if they
  /// have left, or the creator invites the other one again.
  ///
  /// The pair of users is unique in the table, so two simultaneous calls find the same room. Throws
  /// ``RoomRefusal/banned(until:)`` unless nothing changes, and ``StoreError/tooMany(_:)``.
  public func makeDirect(_ draft: RoomDraft) throws -> MadeRoom {
    guard let other = draft.members.first else { preconditionFailure("a direct room has two members") }
    _ = try needRow(of: draft.creator)
    let pair = RoomPair(draft.creator.id, other)
    let known = try db.first(
      "SELECT rooms.id, rooms.name FROM directs JOIN rooms ON rooms.id = directs.room WHERE low = ? AND high = ?",
      [pair.low.rawValue, pair.high.rawValue])
    let room: RoomID
    let id: Int64
    if let known {
      (id, room) = (known["id"], RoomID(unchecked: known["name"]))
    } else {
      guard try row(of: draft.room) == nil else { throw StoreError.refused(.exists) }
      (id, room) = (try insert(draft), draft.room)
      try db.run(
        "INSERT INTO directs (low, high, room) VALUES (?, ?, ?)", [pair.low.rawValue, pair.high.rawValue, id])
    }
    var made = Additions(to: room)
    for name in [draft.creator.id, other] where try !reader.rooms.isMember(name, of: room) {
      if let user = try row(of: name) { try checkBan(of: user, from: id) }
      try add(name, draft, &made)
      made.restricted[name] = try row(of: name).flatMap { try restriction(of: $0, in: id) }
    }
    return try result(made, isNew: known == nil)
  }

  /// The users who become members of a room, or are invited.
  private struct Additions {
    let room: RoomID
    var added: [UserID] = []
    var restricted: [UserID: Timestamp] = [:]
    var read: [UserID: Int64] = [:]
    var invitations = InvitationChanges()

    init(to room: RoomID) { self.room = room }
  }

  /// Makes a user a member, or invites the user.
  private func add(_ user: UserID, _ draft: RoomDraft, _ made: inout Additions) throws {
    let creator = draft.creator.id
    guard let known = try row(of: made.room) else { throw StoreError.noRoom(made.room) }
    let isHidden = try !draft.isByBackend && user != creator && hasBlocked(creator, user)
    if isHidden || draft.invited.contains(user) {
      if !draft.invited.contains(user) {
        // Without the block, the user would be a member: the record shows the same people.
        try db.run("UPDATE directs SET have_met = 1 WHERE room = ?", [known.id])
      }
      return try transaction.invitations.invite(
        user, to: known, by: creator, isHidden: isHidden, limit: draft.bounds.invitations, &made.invitations)
    }
    let read = try insertMember(user, made.room, within: draft.bounds, now: now, &made.invitations)
    made.added.append(user)
    if read < known.seq { made.read[user] = read }
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
  func checkMayJoin(_ room: WriterCache.Room, _ user: UserID, isInvited: Bool) throws {
    let id = try needRow(of: user)
    guard !isInvited else {
      try checkIsOfPair(user, room.id)
      return try db.run("DELETE FROM bans WHERE room = ? AND user = ?", [room.id, id])
    }
    try checkBan(of: id, from: room.id)
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

  /// True if `user` has blocked the caller.
  func hasBlocked(_ caller: UserID, _ user: UserID) throws -> Bool {
    guard let id = try row(of: user) else { return false }
    return try db.has("SELECT 1 FROM blocks WHERE user = ? AND other = ?", [id, caller.rawValue])
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

  private func result(_ additions: Additions, isNew: Bool) throws -> MadeRoom {
    let room = additions.room
    guard let known = try row(of: room), let details = try reader.rooms.details(of: room) else {
      throw StoreError.noRoom(room)
    }
    var made = MadeRoom(
      state: RoomState(room: room, known), details: details, isNew: isNew, added: additions.added,
      restricted: additions.restricted)
    (made.read, made.invitations) = (additions.read, additions.invitations)
    return made
  }

  // MARK: Idempotency keys

  /// Returns the room that the user has made with this key. Is `nil` without one.
  public func made(with key: String, by creator: UserID) throws -> MadeRoom? {
    try row(of: creator).flatMap { try made(with: key, $0) }
  }

  private func made(with key: String, _ creator: Int64) throws -> MadeRoom? {
    try db.first(
      """
      SELECT rooms.name FROM creations JOIN rooms ON rooms.id = creations.room
      WHERE user = ? AND key = ? AND expires > ? AND NOT (\(Schema.isDeleted("rooms.name")))
      """,
      [creator, key, steadyNow.rawValue]
    ).map { try result(Additions(to: RoomID(unchecked: $0[0])), isNew: false) }
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
