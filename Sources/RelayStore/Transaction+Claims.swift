// SPDX-License-Identifier: Apache-2.0
import GRDB
public import RelayProtocol

extension Transaction {
  /// Takes jobs that are due, the longest due first, and gives the caller until `leaseUntil` to finish each.
  ///
  /// A device has one job claimed at a time, and the messages of a room go to it in their order. A claim whose lease is
  /// over is taken again, with the same id. Jobs whose device or message is gone are cancelled here.
  public func claim(limit: Int, now: Timestamp, leaseUntil: Timestamp) throws -> [Claim] {
    try db.run(
      "UPDATE jobs SET state = 'ready', lease = NULL WHERE state = 'sending' AND lease <= ?", [now.rawValue])
    var counts = ClaimCounts(db: db)
    var claims: [Claim] = []
    for id in try dueJobs(limit: limit, now: now) {
      guard let claim = try claim(id, &counts) else {
        try finish(id, state: .cancelled, note: "no device or message", now: now)
        continue
      }
      try db.run(
        "UPDATE jobs SET state = 'sending', lease = ?, attempts = ?, platform = ?, token = ? WHERE id = ?",
        [leaseUntil.rawValue, claim.attempts, claim.device.platform.rawValue, claim.device.token, id])
      claims.append(claim)
    }
    return claims
  }

  private func dueJobs(limit: Int, now: Timestamp) throws -> [String] {
    struct Target: Hashable {
      let user: Int64
      let device: String
    }
    var targets: Set<Target> = []
    var ids: [String] = []
    let statement = try db.cachedStatement(
      sql: """
        SELECT id, user, device FROM jobs AS job
        WHERE \(Reader.isClaimable) AND due <= ? ORDER BY due, room, seq
        """)
    let rows = try Row.fetchCursor(statement, arguments: [now.rawValue])
    while ids.count < limit, let row = try rows.next() {
      if targets.insert(Target(user: row[1], device: row[2])).inserted { ids.append(row[0]) }
    }
    return ids
  }

  private func claim(_ id: String, _ counts: inout ClaimCounts) throws -> Claim? {
    let row = try db.first(
      """
      SELECT job.room, job.user, job.seq, job.attempts, job.created, rooms.name, rooms.epoch, recipient.name,
        messages.time, messages.body, sender.name, sender.display_name, sender.avatar,
        devices.device, devices.app, devices.platform, devices.token
      FROM jobs AS job
      JOIN rooms ON rooms.id = job.room
      JOIN users AS recipient ON recipient.id = job.user
      JOIN devices ON devices.user = job.user AND devices.device = job.device
      JOIN messages ON messages.room = job.room AND messages.seq = job.seq
      JOIN users AS sender ON sender.id = messages.sender
      WHERE job.id = ?
      """,
      [id])
    guard let row else { return nil }
    let sender = User(id: UserID(unchecked: row[10]), name: row[11], avatar: row[12])
    return try Claim(
      id: id, attempts: row[3] + 1, room: RoomID(unchecked: row[5]), epoch: row[6],
      message: StoredMessage(
        seq: row[2], from: sender.id, time: Timestamp(rawValue: row[8]), body: row.bytes(9)),
      sender: sender, recipient: UserID(unchecked: row[7]),
      device: Device(id: DeviceID(unchecked: row[13]), app: row[14], platform: row.choice(15), token: row[16]),
      created: Timestamp(rawValue: row[4]), roomMemberCount: counts.members(of: row[0]),
      unread: counts.unread(of: row[1]))
  }
}

/// The counts that many claims of one call have in common.
private struct ClaimCounts {
  let db: Database
  private var members: [Int64: Int] = [:]
  private var unread: [Int64: Int] = [:]

  init(db: Database) { self.db = db }

  mutating func members(of room: Int64) throws -> Int {
    if let known = members[room] { return known }
    let count: Int = try db.first("SELECT count(*) FROM members WHERE room = ?", [room])?[0] ?? 0
    members[room] = count
    return count
  }

  /// Every message above the read mark. None of them is the user's own, because sending raises the mark.
  mutating func unread(of user: Int64) throws -> Int {
    if let known = unread[user] { return known }
    let row = try db.first(
      """
      SELECT coalesce(sum(rooms.seq - members.read), 0) FROM members JOIN rooms ON rooms.id = members.room
      WHERE members.user = ?
      """,
      [user])
    let count: Int = row?[0] ?? 0
    unread[user] = count
    return count
  }
}
