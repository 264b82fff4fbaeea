// SPDX-License-Identifier: Apache-2.0
import GRDB
public import RelayProtocol

/// What becomes of a wish to have a dead letter sent again.
public enum Revival: Equatable, Sendable {
  /// It is held and due: whoever asked has it decided anew.
  case begun
  /// It was sent again before, and is not dead now: there is nothing to do.
  case known
  case refused(Refusal)

  /// Why it stays what it is; safe to be told.
  public enum Refusal: String, Sendable, CaseIterable {
    case notDead = "it is no dead letter"
    case expired = "its time is over"
    case noDevice = "the device is not registered any more"
    case noMessage = "its message is not kept any more"
  }
}

extension Transaction {
  /// Takes up a dead letter again, with what ended with it: its attempts count from the start, those of before stay told.
  /// - Returns: nil when there is no such job, or not any more; else whose it is as well.
  public func revive(_ id: String) throws -> (revival: Revival, user: UserID)? {
    let row = try db.first(
      """
      SELECT users.name, job.state, job.finished_at, job.revived IS NOT NULL, job.expires <= ?2,
        EXISTS (SELECT 1 FROM messages WHERE messages.room = job.room AND messages.seq = job.seq), job.user, job.device
      FROM jobs AS job JOIN users ON users.id = job.user WHERE job.id = ?1
      """,
      [id, now.rawValue])
    guard let row else { return nil }
    let user = UserID(unchecked: row[0])
    guard try row.choice(1, JobState.self) == .dead else { return (row[3] ? .known : .refused(.notDead), user) }
    if row[4] as Bool? == true { return (.refused(.expired), user) }
    guard let lane = try lane(of: row[7], ofRow: row[6]) else { return (.refused(.noDevice), user) }
    guard row[5] else { return (.refused(.noMessage), user) }
    try db.run(
      """
      UPDATE jobs SET \(JobEvent.revived.assignment), due = ?2, revived = ?2, is_next = 0, attempts = 0,
        finished_at = NULL, note = NULL, lane = ?3
      WHERE id = ?1 AND \(JobEvent.revived.condition)
      """,
      [id, now.rawValue, lane.name])
    try db.run(
      "UPDATE jobs SET finished_at = NULL, lane = ? WHERE merged_into = ? AND state = 'merged' AND finished_at = ?",
      [lane.name, id, row[2] as Int64])
    return (.begun, user)
  }
}
