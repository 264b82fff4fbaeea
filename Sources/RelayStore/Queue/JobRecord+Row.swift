// SPDX-License-Identifier: Apache-2.0
import GRDB
import RelayProtocol

extension JobRecord {
  /// To be followed by a condition, or an order.
  static let query = """
    SELECT jobs.id, rooms.name, jobs.seq, users.name, device, platform, token, state, due, lease, attempts, created,
      reasons, finished_at, note, round, is_notify_anyway, level, explanation, merged_into, digest, received,
      attempt_log, revived
    FROM jobs JOIN rooms ON rooms.id = jobs.room JOIN users ON users.id = jobs.user
    """

  /// - Parameter row: Of ``query``.
  init(_ row: Row) throws {
    let explanation: String? = row[18]
    self.init(
      id: row[0], room: RoomID(unchecked: row[1]), seq: row[2], user: UserID(unchecked: row[3]),
      device: DeviceID(unchecked: row[4]), platform: try row.choice(5), token: row[6], state: try row.choice(7),
      due: Timestamp(rawValue: row[8]), lease: row.time(9), attempts: row[10], created: Timestamp(rawValue: row[11]),
      reasons: try row.json(12, "a job's reasons") ?? [], finishedAt: row.time(13), note: row[14], round: row[15],
      isNotifyAnyway: row[16], level: row[17], explanation: explanation.map { Array($0.utf8) }, mergedInto: row[19],
      digest: try row.json(20, "a job's digest") ?? [], received: row.time(21),
      attemptLog: try row.json(22, "a job's attempts") ?? [], revived: row.time(23))
  }
}
