// SPDX-License-Identifier: Apache-2.0
import GRDB
public import RelayProtocol

/// The position of a job in the order of creation.
public struct JobPosition: Sendable {
  let number: Int64
}

extension QueueReader {
  /// A page of jobs, the newest first. Without conditions, the jobs of all users in all states.
  /// - Parameters:
  ///   - note: The note of the job. Without a user or a state, SQLite may read all jobs for it.
  ///   - position: The position of the last job of the previous page. Is `nil` for the first page.
  public func jobs(
    of user: UserID? = nil, in state: JobState? = nil, note: String? = nil, after position: JobPosition? = nil,
    limit: Int
  ) throws -> [JobRecord] {
    var conditions = ["jobs.kind = 'push'"]
    var arguments: StatementArguments = []
    if let user {
      conditions.append("jobs.user = (SELECT id FROM users WHERE name = ?)")
      arguments += [user.rawValue]
    }
    if let state {
      conditions.append(Self.condition(on: state, isOfOne: user != nil))
      arguments += [state.rawValue]
    }
    if let note {
      conditions.append("jobs.note = ?")
      arguments += [note]
    }
    if let position {
      conditions.append("jobs.number < ?")
      arguments += [position.number]
    }
    let condition = "WHERE \(conditions.joined(separator: " AND "))"
    return try db.all(
      "\(JobRecord.query) \(condition) ORDER BY jobs.number DESC LIMIT ?", arguments + [limit], JobRecord.init(_:))
  }

  /// The position of a job among all jobs. Is `nil` when the job does not exist.
  public func position(of job: String) throws -> JobPosition? {
    try db.first("SELECT number FROM jobs WHERE id = ? AND kind = 'push'", [job]).map { JobPosition(number: $0[0]) }
  }

  /// Chooses an index that has the jobs of the state in their order, so that SQLite reads only one page. Most jobs are
  /// sent.
  private static func condition(on state: JobState, isOfOne: Bool) -> String {
    isOfOne || state == .sent ? "state = ?" : "\(Schema.unsent) AND state = ?"
  }
}
