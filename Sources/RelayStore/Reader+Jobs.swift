// SPDX-License-Identifier: Apache-2.0
import Foundation
import GRDB
public import RelayProtocol

extension Reader {
  /// The newest jobs, of one user or of all, newest first.
  public func jobs(of user: UserID? = nil, limit: Int) throws -> [JobRecord] {
    let columns = """
      SELECT jobs.id, rooms.name, jobs.seq, users.name, device, platform, token, state, due, lease, attempts, created,
        reasons, finished_at, note
      FROM jobs JOIN rooms ON rooms.id = jobs.room JOIN users ON users.id = jobs.user
      """
    let order = "ORDER BY jobs.rowid DESC LIMIT ?"
    let rows =
      if let user {
        try db.all(
          "\(columns) WHERE jobs.user = (SELECT id FROM users WHERE name = ?) \(order)", [user.rawValue, limit])
      } else {
        try db.all("\(columns) \(order)", [limit])
      }
    return try rows.map(JobRecord.init(_:))
  }

  /// When there is next something to claim, by itself: the earliest due time of a job that nothing is ahead of, or end
  /// of a lease. A device's further jobs can be claimed when the one being sent is finished. nil: nothing waits.
  public func nextDue() throws -> Timestamp? {
    let due = try db.first("SELECT due FROM jobs AS job WHERE \(Self.isClaimable) ORDER BY due LIMIT 1")
    let lease = try db.first("SELECT min(lease) FROM jobs WHERE state = 'sending'")
    let times: [Int64?] = [due?[0], lease?[0]]
    return times.compactMap { $0 }.min().map(Timestamp.init(rawValue:))
  }

  /// How many jobs there are in each state that has any.
  public func jobCounts() throws -> [JobState: Int] {
    var counts: [JobState: Int] = [:]
    for row in try db.all("SELECT state, count(*) FROM jobs GROUP BY state") { counts[try row.choice(0)] = row[1] }
    return counts
  }

  /// How many jobs are not finished, by state, and when the oldest of all was created; quick however many are finished.
  public func unfinishedJobs() throws -> (counts: [JobState: Int], oldest: Timestamp?) {
    var counts: [JobState: Int] = [:]
    var oldest: Int64?
    let rows = try db.all(
      "SELECT state, count(*), min(created) FROM jobs INDEXED BY jobs_member WHERE \(Schema.unfinished) GROUP BY state")
    for row in rows {
      counts[try row.choice(0)] = row[1]
      let created: Int64 = row[2]
      oldest = min(oldest ?? created, created)
    }
    return (counts, oldest.map(Timestamp.init(rawValue:)))
  }

  /// A condition on `job`: it can be claimed once it is due.
  static let isClaimable = """
    job.\(Schema.open) AND job.is_next AND NOT EXISTS (
      SELECT 1 FROM jobs AS other
      WHERE other.state = 'sending' AND other.user = job.user AND other.device = job.device)
    """
}

extension JobRecord {
  fileprivate init(_ row: Row) throws {
    let lease: Int64? = row[9]
    let finishedAt: Int64? = row[13]
    let reasons: String = row[12]
    self.init(
      id: row[0], room: RoomID(unchecked: row[1]), seq: row[2], user: UserID(unchecked: row[3]),
      device: DeviceID(unchecked: row[4]), platform: try row.choice(5), token: row[6], state: try row.choice(7),
      due: Timestamp(rawValue: row[8]), lease: lease.map(Timestamp.init(rawValue:)), attempts: row[10],
      created: Timestamp(rawValue: row[11]), reasons: try JSONDecoder().decode([String].self, from: Data(reasons.utf8)),
      finishedAt: finishedAt.map(Timestamp.init(rawValue:)), note: row[14])
  }
}
