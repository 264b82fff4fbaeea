// SPDX-License-Identifier: Apache-2.0
import GRDB
public import RelayProtocol

/// Creates and deletes rooms and memberships, and moves the marks of rooms and members.
public struct RoomWriter: TransactionPart {
  let transaction: Transaction

  /// Makes the user a member. Creates a new room, and a row for a new user.
  ///
  /// A new member has read and received all messages so far. If the join accepts an invitation, the new member has read
  /// and received the messages before the invitation. The first member of a group without members becomes its owner, and
  /// any restriction of this user ends. The stored name or avatar stays if `user` has none.
  /// - Parameters:
  ///   - epoch: The epoch of a room that is new.
  ///   - bounds: The limits. A join that exceeds one throws ``StoreError/tooMany(_:)``.
  ///   - mayCreate: If false, a join of a room that does not exist throws ``StoreError/noRoom(_:)``.
  ///   - isInvited: True if somebody adds the user, who may do so. This ends a ban, as an invitation does.
  ///   - needsInvitation: If true, a new member without an invitation throws ``RoomRefusal/noInvitation``.
  public func join(
    _ user: User, room: RoomID, epoch: @autoclosure () -> String, now: Timestamp,
    within bounds: MembershipBounds = MembershipBounds(), mayCreate: Bool = true, isInvited: Bool = false,
    needsInvitation: Bool = false
  ) throws -> JoinedRoom {
    guard try mayCreate || row(of: room) != nil else { throw StoreError.noRoom(room) }
    let state = try create(room, epoch: epoch())
    let id = try needRow(of: user)
    try transaction.people.touch(user.id, lastSeen: now)
    guard let known = try row(of: room) else { throw StoreError.noRoom(room) }
    if let member = try db.first(
      "SELECT read, received, role FROM members WHERE room = ? AND user = ?", [known.id, id])
    {
      return JoinedRoom(
        record: state, isNewMember: false, read: member["read"], received: member["received"],
        role: RoomRole(rawValue: member["role"]) ?? .member, restrictedUntil: try restriction(of: id, in: known.id),
        isReadOnly: try reader.rooms.isReadOnly(known.id))
    }
    let hasInvitation = try reader.invitations.isInvited(user.id, to: room)
    if needsInvitation, !hasInvitation { throw StoreError.refused(.noInvitation) }
    try checkMayJoin(known, user.id, isInvited: isInvited || hasInvitation)
    let role: RoomRole = try needsOwner(known.id) ? .owner : .member
    var invitations = InvitationChanges()
    let read = try insertMember(user.id, room, as: role, within: bounds, now: now, &invitations)
    if role == .owner { try endRestriction(of: id, in: known.id) }
    return JoinedRoom(
      record: state, isNewMember: true, read: read, received: read, role: role,
      restrictedUntil: try restriction(of: id, in: known.id), isReadOnly: try reader.rooms.isReadOnly(known.id),
      invitations: invitations)
  }

  /// Inserts a membership, and ends the invitation of the user.
  ///
  /// The new member has read and received all messages so far. After an invitation that the user saw, these are only the
  /// messages before it: the others are new to the user.
  /// - Returns: The read mark.
  @discardableResult
  func insertMember(
    _ user: UserID, _ room: RoomID, as role: RoomRole = .member, within bounds: MembershipBounds, now: Timestamp,
    _ invitations: inout InvitationChanges
  ) throws -> Int64 {
    guard let known = try row(of: room) else { throw StoreError.noRoom(room) }
    let id = try needRow(of: user)
    let position = try transaction.inbox.added(to: known.id)
    let read = try transaction.invitations.joined(user, known, &invitations) ?? known.seq
    try db.run(
      "INSERT INTO members (room, user, read, received, role, joined, added, changed) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
      [known.id, id, read, read, role.rawValue, now.rawValue, position, position])
    try check(bounds, room, known, id)
    return read
  }

  /// Checks the limits for a new member. The rows already include this member.
  private func check(_ bounds: MembershipBounds, _ room: RoomID, _ row: WriterCache.Room, _ user: Int64) throws {
    var row = row
    let members =
      try row.members.map { $0 + 1 } ?? count("SELECT count(*) FROM members WHERE room = ?", row.id)
    row.members = members
    cache[room] = row
    if members == 2 { try db.run("UPDATE directs SET have_met = 1 WHERE room = ?", [row.id]) }
    if members == 3 { try noteGroup(row.id) }
    if bounds.membersPerRoom > 0, members > bounds.membersPerRoom { throw StoreError.tooMany(.membersPerRoom) }
    guard bounds.roomsPerUser > 0 else { return }
    let query = """
      SELECT count(*) FROM members JOIN rooms ON rooms.id = members.room AND NOT (\(Schema.isDeleted("rooms.name")))
      WHERE members.user = ?
      """
    if try count(query, user) > bounds.roomsPerUser {
      throw StoreError.tooMany(.roomsPerUser)
    }
  }

  /// Records that pushes show a room as a group from now on.
  func noteGroup(_ room: Int64) throws {
    try db.run("UPDATE rooms SET is_group = 1 WHERE id = ? AND NOT is_group", [room])
  }

  private func count(_ query: String, _ id: Int64) throws -> Int { try db.first(query, [id])?[0] ?? 0 }

  /// Ends the membership, and cancels the member's unfinished jobs for the room.
  ///
  /// Deletes a room that never had a message together with its last membership, and with its invitations. Otherwise
  /// clients could fill the disk by joining and leaving rooms with new names. A room with messages and invitations stays
  /// until the last invitation has ended.
  /// - Returns: False if there was no membership.
  @discardableResult
  public func leave(_ user: UserID, room: RoomID) throws -> Bool { try end(user, room).wasMember }

  /// Ends the membership as ``leave(_:room:)``, and takes the user out of the calls of the room. If the last owner
  /// leaves, the member with the longest membership becomes the owner.
  public func end(_ user: UserID, _ room: RoomID) throws -> LeftRoom {
    guard let known = try row(of: room), let id = try row(of: user) else { return LeftRoom(wasMember: false) }
    try db.run("DELETE FROM members WHERE room = ? AND user = ?", [known.id, id])
    guard db.changesCount == 1 else { return LeftRoom(wasMember: false) }
    try transaction.inbox.removed(id, from: known.id)
    if let members = known.members {
      var left = known
      left.members = members - 1
      cache[room] = left
    }
    try transaction.queue.abandonJobs("room = ? AND user = ?", [known.id, id], .notMember)
    try transaction.updates.left(known.id, id)
    let calls = try transaction.calls.exclude(user, id, from: known.id)
    guard try !db.has("SELECT 1 FROM members WHERE room = ? LIMIT 1", [known.id]) else {
      return LeftRoom(wasMember: true, successor: try appointOwner(of: known.id), calls: calls)
    }
    return LeftRoom(wasMember: true, calls: calls, invitations: try emptied(room, known))
  }

  /// Deletes a room that nobody can use after the end of its last membership.
  private func emptied(_ room: RoomID, _ known: WriterCache.Room) throws -> InvitationChanges {
    guard try db.has("SELECT 1 FROM invitations WHERE room = ? LIMIT 1", [known.id]) else {
      var changes = InvitationChanges()
      let pair = try db.first("SELECT have_met FROM directs WHERE room = ?", [known.id])
      let isForgotten = try forgetIfUnused(room)
      guard let pair else { return changes }
      // In such a direct room, nobody but the user who has left was ever a member.
      let isAbandoned = !isForgotten && !pair["have_met"]
      if isAbandoned { try hide(room, known) }
      if isForgotten || isAbandoned { changes.deletedRooms.append(room) }
      return changes
    }
    guard known.seq == 0 else { return InvitationChanges() }
    var changes = InvitationChanges(endedWith: room, of: try reader.invitations.users(invitedTo: room))
    try hide(room, known)
    changes.deletedRooms.append(room)
    return changes
  }

  /// Deletes a room without members and invitations: the last invitation has ended.
  /// - Returns: False if the room stays.
  func deleteIfAbandoned(_ room: RoomID) throws -> Bool {
    guard let known = try row(of: room) else { return false }
    let isUsed = try db.has(
      """
      SELECT 1 FROM members WHERE room = ?1 UNION ALL SELECT 1 FROM invitations WHERE room = ?1 LIMIT 1
      """,
      [known.id])
    guard !isUsed else { return false }
    if try !forgetIfUnused(room) { try hide(room, known) }
    return true
  }

  /// Deletes the room if it has no members and no invitations, and never had a message. After the first message the room
  /// stays, because clients rely on its epoch and seqs.
  /// - Returns: False if the room stays.
  @discardableResult
  public func forgetIfUnused(_ room: RoomID) throws -> Bool {
    guard let known = try row(of: room), known.seq == 0 else { return false }
    let isUnused = try db.has(
      """
      SELECT 1 FROM rooms WHERE id = ?1 AND seq = 0
        AND NOT EXISTS (SELECT 1 FROM members WHERE room = ?1)
        AND NOT EXISTS (SELECT 1 FROM invitations WHERE room = ?1)
        AND NOT EXISTS (SELECT 1 FROM messages WHERE room = ?1)
        AND NOT EXISTS (SELECT 1 FROM keys WHERE room = ?1)
        AND NOT EXISTS (SELECT 1 FROM jobs WHERE kind = 'push' AND room = ?1)
      """,
      [known.id])
    guard isUnused else { return false }
    try deleteRow(of: known.id)
    cache[room] = nil
    return true
  }

  /// Creates the room if it does not exist.
  @discardableResult
  public func create(_ room: RoomID, epoch: @autoclosure () -> String) throws -> RoomState {
    if let known = try row(of: room) { return RoomState(room: room, known) }
    let epoch = epoch()
    try db.run("INSERT INTO rooms (name, epoch) VALUES (?, ?)", [room.rawValue, epoch])
    let created = WriterCache.Room(id: db.lastInsertedRowID, epoch: epoch, seq: 0, cursor: 0, first: 1)
    cache[room] = created
    if !room.isNotifications { try transaction.inbox.created(created.id) }
    return RoomState(room: room, created)
  }

  /// Raises a member's marks, at most to the room's newest message. No effect if the user is no member.
  public func mark(_ room: RoomID, _ user: UserID, read: Int64? = nil, received: Int64? = nil) throws {
    guard let known = try row(of: room), let id = try row(of: user) else { return }
    // A mark above the newest message would suppress the pushes of later messages.
    let (read, received) = (min(read ?? 0, known.seq), min(received ?? 0, known.seq))
    try db.run(
      "UPDATE members SET received = ?3 WHERE room = ?1 AND user = ?2 AND received < ?3", [known.id, id, received])
    let isRead = try db.has("SELECT 1 FROM members WHERE room = ? AND user = ? AND read < ?", [known.id, id, read])
    guard isRead else { return }
    try db.run(
      "UPDATE members SET read = ?3, changed = ?4 WHERE room = ?1 AND user = ?2",
      [known.id, id, read, try transaction.inbox.newPosition()])
  }

  /// Raises the room's cursor, at most to its newest message.
  public func advanceCursor(_ room: RoomID, to seq: Int64) throws {
    guard var known = try row(of: room), known.cursor < min(seq, known.seq) else { return }
    known.cursor = min(seq, known.seq)
    try db.run("UPDATE rooms SET cursor = ? WHERE id = ?", [known.cursor, known.id])
    cache[room] = known
  }
}

extension RoomState {
  init(room: RoomID, _ row: WriterCache.Room) {
    self.init(room: room, epoch: row.epoch, seq: row.seq, cursor: row.cursor)
  }
}
