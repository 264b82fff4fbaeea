// SPDX-License-Identifier: Apache-2.0
import GRDB
import RelayProtocol

extension JobRecord {
  /// The start of a query. A condition or an order follows.
  static let query = """
    SELECT jobs.id, rooms.name AS room, jobs.seq, users.name AS user, device, platform, token, state, due, lease,
      attempts, created, reasons, finished_at, note, round, is_notify_anyway, level, explanation, merged_into, digest,
      received, attempt_log, revived
    FROM jobs JOIN rooms ON rooms.id = jobs.room JOIN users ON users.id = jobs.user
    """

  /// - Parameter row: A row of the ``query``.
  init(_ row: Row) throws {
    let explanation: String? = row["explanation"]
    self.init(
      id: row["id"], room: RoomID(unchecked: row["room"]), seq: row["seq"], user: UserID(unchecked: row["user"]),
      device: DeviceID(unchecked: row["device"]), platform: try row.choice("platform"), token: row["token"],
      state: try row.choice("state"), due: row.timestamp("due"), lease: row.time("lease"), attempts: row["attempts"],
      created: row.timestamp("created"), reasons: try row.json("reasons", "a job's reasons") ?? [],
      finishedAt: row.time("finished_at"), note: row["note"], round: row["round"],
      isNotifyAnyway: row["is_notify_anyway"], level: try row.choiceIfAny("level"),
      explanation: explanation.map { Array($0.utf8) },
      mergedInto: row["merged_into"], digest: try row.json("digest", "a job's digest") ?? [],
      received: row.time("received"), attemptLog: try row.json("attempt_log", "a job's attempts") ?? [],
      revived: row.time("revived"))
  }
}
