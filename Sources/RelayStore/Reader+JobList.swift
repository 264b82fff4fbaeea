// SPDX-License-Identifier: Apache-2.0
import GRDB
public import RelayProtocol

/// Where a job stands in the order in which they were made.
public struct JobPlace: Sendable {
  let row: Int64
}

extension Reader {
  /// The newest jobs, newest first; without conditions, of everybody in every state.
  /// - Parameter place: Of the last one of the page before; nil: from the newest.
  public func jobs(
    of user: UserID? = nil, in state: JobState? = nil, after place: JobPlace? = nil, limit: Int
  ) throws -> [JobRecord] {
    var conditions: [String] = []
    var arguments: StatementArguments = []
    if let user {
      conditions.append("jobs.user = (SELECT id FROM users WHERE name = ?)")
      arguments += [user.rawValue]
    }
    if let state {
      conditions.append(Self.condition(on: state, isOfOne: user != nil))
      arguments += [state.rawValue]
    }
    if let place {
      conditions.append("jobs.rowid < ?")
      arguments += [place.row]
    }
    let condition = conditions.isEmpty ? "" : "WHERE \(conditions.joined(separator: " AND "))"
    return try db.all("\(JobRecord.query) \(condition) ORDER BY jobs.rowid DESC LIMIT ?", arguments + [limit])
      .map(JobRecord.init(_:))
  }

  /// Where a job stands among all; nil when there is no such job, or not any more.
  public func place(of job: String) throws -> JobPlace? {
    try db.first("SELECT rowid FROM jobs WHERE id = ?", [job]).map { JobPlace(row: $0[0]) }
  }

  /// Has the index serve that has each state's jobs in their order: a page is read, and no more. Most jobs are sent.
  private static func condition(on state: JobState, isOfOne: Bool) -> String {
    isOfOne || state == .sent ? "state = ?" : "\(Schema.unsent) AND state = ?"
  }
}
