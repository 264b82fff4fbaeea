// SPDX-License-Identifier: Apache-2.0
import GRDB
public import RelayProtocol

/// The result of a request to send a dead letter again.
public enum Revival: Equatable, Sendable {
  /// The job is held and due, and the caller must decide it again.
  case begun
  /// The job was sent again before and is not dead now. Nothing changed.
  case known
  case refused(Refusal)

  /// The reason for a refusal. The relay shows it to clients.
  public enum Refusal: String, Sendable, CaseIterable {
    case notDead = "the push is not a dead letter"
    case expired = "the push has expired"
    case noDevice = "the device is not registered any more"
    case noMessage = "the message is not stored any more"
  }
}

extension PushQueue {
  /// Sends a dead letter again, together with the jobs that ended with it. Its attempts count from zero, and its log
  /// keeps the earlier attempts.
  /// - Returns: The result and the recipient. Is `nil` when the job does not exist.
  public func revive(_ id: String) throws -> (revival: Revival, user: UserID)? {
    let row = try db.first(
      """
      SELECT users.name, job.state, job.finished_at, job.revived IS NOT NULL AS was_revived,
        job.expires - job.steps <= ?2 AS is_expired, job.user, job.device,
        EXISTS (SELECT 1 FROM messages WHERE messages.room = job.room AND messages.seq = job.seq) AS has_message
      FROM jobs AS job JOIN users ON users.id = job.user WHERE job.id = ?1 AND job.kind = 'push'
      """,
      [id, transaction.steplessNow.rawValue])
    guard let row else { return nil }
    let user = UserID(unchecked: row["name"])
    guard try row.choice("state", JobState.self) == .dead else {
      return (row["was_revived"] ? .known : .refused(.notDead), user)
    }
    if row["is_expired"] as Bool? == true { return (.refused(.expired), user) }
    guard let lane = try service(of: row["device"], ofRow: row["user"])?.lane else {
      return (.refused(.noDevice), user)
    }
    guard row["has_message"] else { return (.refused(.noMessage), user) }
    try db.run(
      """
      UPDATE jobs SET \(JobEvent.revived.assignment), due = ?2, revived = ?2, is_next = 0, attempts = 0,
        finished_at = NULL, note = NULL, lane = ?3
      WHERE id = ?1 AND \(JobEvent.revived.condition)
      """,
      [id, now.rawValue, lane.name])
    try db.run(
      "UPDATE jobs SET finished_at = NULL, lane = ? WHERE merged_into = ? AND state = 'merged' AND finished_at = ?",
      [lane.name, id, row["finished_at"] as Int64])
    return (.begun, user)
  }
}
