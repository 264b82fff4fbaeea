// SPDX-License-Identifier: Apache-2.0
import GRDB

/// Changes the jobs of the push queue.
public struct PushQueue: TransactionPart {
  /// The maximum number of late messages in one push. Further messages get another push.
  public static let maxCoalesced = 1_000

  let transaction: Transaction

  func storedJob(_ id: String) throws -> StoredJob? {
    try db.first("SELECT \(StoredJob.columns) FROM jobs WHERE id = ?", [id], StoredJob.init(_:))
  }

  /// Marks only the first queued job of the queue as the next one. Call this after each change of one job: the job that
  /// was marked before is now the first or the second.
  func promote(in queue: JobQueue) throws {
    let firstTwo = try db.all(Self.firstTwo, [queue.user, queue.room, queue.device]) { row in
      (number: row["number"] as Int64, isNext: row["is_next"] as Bool)
    }
    for (index, job) in firstTwo.enumerated() where job.isNext != (index == 0) {
      try db.run("UPDATE jobs SET is_next = ? WHERE number = ?", [index == 0, job.number])
    }
  }

  private static let firstTwo = """
    SELECT number, is_next FROM jobs INDEXED BY jobs_member
    WHERE \(Schema.queued) AND user = ? AND room = ? AND device = ? ORDER BY seq, round LIMIT 2
    """

  /// The same after changes of several jobs. Reads all jobs of the queue.
  func promoteAgain(in queue: JobQueue) throws {
    let condition = "\(Schema.queued) AND user = ?1 AND room = ?2 AND device = ?3"
    try db.run(
      """
      UPDATE jobs INDEXED BY jobs_member SET is_next = NOT is_next
      WHERE \(condition) AND is_next <> (number = (
        SELECT number FROM jobs INDEXED BY jobs_member WHERE \(condition) ORDER BY seq, round LIMIT 1))
      """,
      [queue.user, queue.room, queue.device])
  }

  /// The push service of a device.
  struct Service {
    let platform, token: String
    let lane: Lane

    /// - Parameter row: Has the columns `platform`, `app`, `token` and `environment`.
    init(_ row: Row) {
      (platform, token) = (row["platform"], row["token"])
      lane = Lane(platform, app: row["app"], token: token, environment: row["environment"])
    }
  }

  /// Is `nil` when the device is not registered.
  func service(of device: String, ofRow user: Int64) throws -> Service? {
    try db.first(
      "SELECT platform, app, token, environment FROM devices WHERE user = ? AND device = ?", [user, device],
      Service.init(_:))
  }

  /// Moves a device's unfinished jobs to its present lane.
  func setLane(_ lane: Lane, of device: String, ofRow user: Int64) throws {
    // Two statements, because each uses another index.
    for states in [Schema.queued, Schema.aside] {
      try db.run(
        "UPDATE jobs SET lane = ? WHERE \(states) AND user = ? AND device = ?", [lane.name, user, device])
    }
    try db.run(
      "UPDATE jobs SET lane = ? WHERE \(Schema.updates) AND user = ? AND device = ?",
      [lane.forUpdates.name, user, device])
  }
}
