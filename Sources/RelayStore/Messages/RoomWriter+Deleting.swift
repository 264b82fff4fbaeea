// SPDX-License-Identifier: Apache-2.0
import GRDB
public import RelayProtocol

/// Deletes rooms with their history, jobs and memberships.
///
/// The deletion itself changes one row: the room loses its name, and from then on no request and no push finds it. Its
/// other rows are deleted later in slices, so that no message waits long for them.
extension RoomWriter {
  /// The maximum number of rows that one slice deletes.
  public static let maxSwept = 200

  /// Deletes a room. ``sweepDeleted(max:)`` deletes its rows.
  /// - Returns: The former members.
  @discardableResult
  public func delete(_ room: RoomID, by actor: RoomActor) throws -> [UserID] {
    guard let known = try row(of: room) else { throw StoreError.noRoom(room) }
    let isDirect = try reader.rooms.details(of: room)?.kind == .direct
    if isDirect, actor != .backend { throw StoreError.refused(.isDirect) }
    try check(actor, has: .owner, in: known)
    let members = try db.all(
      "SELECT users.name FROM members JOIN users ON users.id = members.user WHERE members.room = ?", [known.id])
    try hide(room, known)
    return members.map { UserID(unchecked: $0[0]) }
  }

  /// Removes the name of a room. ``sweepDeleted(max:)`` deletes its rows.
  func hide(_ room: RoomID, _ known: WriterCache.Room) throws {
    // No message of the room is unread or undecided any more.
    try db.run(
      "UPDATE rooms SET name = \(Schema.deletedName), seq = 0, cursor = 0, first = 1 WHERE id = ?", [known.id])
    try db.run("DELETE FROM directs WHERE room = ?", [known.id])
    try transaction.inbox.deleted(known.id)
    cache[room] = nil
  }

  /// Deletes some of the rows of deleted rooms.
  /// - Returns: False if nothing is left.
  public func sweepDeleted(max: Int = maxSwept) throws -> Bool {
    let found = try db.first("SELECT id FROM rooms WHERE \(Schema.isDeleted("name")) ORDER BY name LIMIT 1")
    guard let room: Int64 = found?["id"] else { return false }
    var left = max
    // An invitation may have a push.
    left -= 2 * (try transaction.invitations.sweep(room, limit: left / 2))
    try sweepMembers(of: room, &left)
    try sweepJobs(of: room, &left)
    for (table, key) in [
      ("bans", "user"), ("restrictions", "user"), ("message_reports", "id"), ("responses", "id"),
      ("pending_changes", "id"), ("silenced", "(seq, user)"),
      ("keys", "(user, key)"), ("call_parties", "(seq, user)"), ("calls", "seq"),
      ("reactions", "(seq, key, user)"), ("annotations", "(seq, kind)"),
      ("messages", "seq"),
    ] where left > 0 {
      let columns = key.trimmingPrefix("(").prefix { $0 != ")" }
      try db.run(
        "DELETE FROM \(table) WHERE room = ?1 AND \(key) IN (SELECT \(columns) FROM \(table) WHERE room = ?1 LIMIT ?2)",
        [room, left])
      left -= db.changesCount
    }
    guard left > 0 else { return true }
    try deleteRow(of: room)
    return try db.has("SELECT 1 FROM rooms WHERE \(Schema.isDeleted("name"))")
  }

  private func sweepMembers(of room: Int64, _ left: inout Int) throws {
    guard left > 0 else { return }
    for row in try db.all("SELECT user FROM members WHERE room = ? LIMIT ?", [room, left]) {
      let user: Int64 = row["user"]
      left -= 2 + (try transaction.updates.left(room, user, isDeleted: true))
      // Pushes that only wake an app belong to no other job.
      try db.run("DELETE FROM jobs WHERE \(Schema.updates) AND user = ? AND room = ?", [user, room])
      left -= db.changesCount
      try db.run("DELETE FROM members WHERE room = ? AND user = ?", [room, user])
      try transaction.inbox.departed(user)
      if left <= 0 { return }
    }
  }

  private func sweepJobs(of room: Int64, _ left: inout Int) throws {
    guard left > 0 else { return }
    let jobs = try db.all(
      "SELECT number, user, device FROM jobs INDEXED BY jobs_of_message WHERE kind = 'push' AND room = ? LIMIT ?",
      [room, left])
    for job in jobs {
      let number: Int64 = job["number"]
      // The digest head of other rooms' messages hands them over first.
      try transaction.queue.abandonJobs("number = ?", [number], .noRoom)
      try db.run("DELETE FROM jobs WHERE number = ?", [number])
      try db.run(
        "DELETE FROM jobs WHERE \(Schema.updates) AND user = ? AND device = ? AND room = ?",
        [job["user"] as Int64, job["device"] as String, room])
      left -= 1 + db.changesCount
      if left <= 0 { return }
    }
  }

  /// Deletes the row of a room without members, messages and jobs, and its record.
  func deleteRow(of room: Int64) throws {
    try db.run("DELETE FROM directs WHERE room = ?", [room])
    try db.run("DELETE FROM details WHERE room = ?", [room])
    try db.run("DELETE FROM bans WHERE room = ?", [room])
    try db.run("DELETE FROM restrictions WHERE room = ?", [room])
    try db.run("DELETE FROM activity WHERE room = ?", [room])
    try db.run("DELETE FROM rooms WHERE id = ?", [room])
  }
}
