// SPDX-License-Identifier: Apache-2.0
import GRDB
public import RelayProtocol

extension Transaction {
  /// Makes the user a member; the room and the user's row come into being if need be.
  ///
  /// A new member has read and received everything so far. A name or an avatar that `user` does not tell stays.
  /// - Parameter epoch: The epoch of a room that is new.
  public func join(
    _ user: User, room: RoomID, epoch: @autoclosure () -> String, now: Timestamp
  ) throws -> JoinedRoom {
    let state = try createRoom(room, epoch: epoch())
    let id = try needRow(of: user)
    try touch(user.id, lastSeen: now)
    guard let known = try row(of: room) else { throw StoreError.noRoom(room) }
    try db.run(
      "INSERT INTO members (room, user, read, received) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
      [known.id, id, state.seq, state.seq])
    if db.changesCount == 1 { return JoinedRoom(record: state, isNewMember: true, read: state.seq) }
    let member = try db.first("SELECT read FROM members WHERE room = ? AND user = ?", [known.id, id])
    return JoinedRoom(record: state, isNewMember: false, read: member?[0] ?? 0)
  }

  /// Ends the membership, and cancels the member's unfinished jobs for the room; false when there was none.
  @discardableResult
  public func leave(_ user: UserID, room: RoomID) throws -> Bool {
    guard let known = try row(of: room), let id = try row(of: user) else { return false }
    try db.run("DELETE FROM members WHERE room = ? AND user = ?", [known.id, id])
    guard db.changesCount == 1 else { return false }
    try abandonJobs("room = ? AND user = ?", [known.id, id], note: "not a member")
    return true
  }

  /// Makes sure that the room exists.
  @discardableResult
  public func createRoom(_ room: RoomID, epoch: @autoclosure () -> String) throws -> RoomState {
    if let known = try row(of: room) { return RoomState(room: room, known) }
    let epoch = epoch()
    try db.run("INSERT INTO rooms (name, epoch) VALUES (?, ?)", [room.rawValue, epoch])
    let created = WriterCache.Room(id: db.lastInsertedRowID, epoch: epoch, seq: 0, cursor: 0)
    cache[room] = created
    return RoomState(room: room, created)
  }

  /// Raises a member's marks, at most to the room's newest message. No effect on who is no member.
  public func mark(_ room: RoomID, _ user: UserID, read: Int64? = nil, received: Int64? = nil) throws {
    guard let known = try row(of: room), let id = try row(of: user) else { return }
    // A mark beyond the newest would suppress the pushes of messages that nobody has seen yet.
    try db.run(
      """
      UPDATE members SET read = max(read, ?3), received = max(received, ?4)
      WHERE room = ?1 AND user = ?2 AND (read < ?3 OR received < ?4)
      """,
      [known.id, id, min(read ?? 0, known.seq), min(received ?? 0, known.seq)])
  }

  /// Keeps a user's new name and avatar; nil keeps what is stored. No effect on who is unknown.
  public func rename(_ user: User) throws {
    guard try row(of: user.id) != nil else { return }
    _ = try needRow(of: user)
  }

  /// Raises the time at which the user was last seen.
  public func touch(_ user: UserID, lastSeen: Timestamp) throws {
    try db.run(
      "UPDATE users SET last_seen = ?2 WHERE id = ?1 AND coalesce(last_seen, 0) < ?2",
      [needRow(of: user), lastSeen.rawValue])
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
