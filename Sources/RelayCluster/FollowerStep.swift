// SPDX-License-Identifier: Apache-2.0

/// The decisions of a follower for each record. Pure: the follower's thread performs them.
public struct FollowerStep: Sendable {
  /// The result of one record.
  public enum Decision: Hashable, Sendable {
    /// Apply these rows, and write the position. If they conflict with the file, roll back and call
    /// ``FollowerStep/conflicted(at:earlier:)``.
    case apply([UInt8])
    /// Commit the open transaction. Run this migration, then write the position.
    case migrate(String)
    /// Only write the position. A new term has this leader.
    case follow(Leader)
    /// Only write the position.
    case advance
    /// Only write the position: a deposed leader wrote the record.
    case skip
    /// The file contains the record already. Do nothing.
    case ignore
    /// The file is not a copy of the leader's, or records are missing. Load the newest snapshot, and begin with a new
    /// step at its position.
    case loadSnapshot
    /// The log has another record, of this term, at the position of the file. Keep the file for the operator, and load
    /// the newest snapshot.
    case diverged(term: UInt64)
    /// The record does not follow the newest one of the file. Call ``FollowerStep/check(_:newest:)``. If the log
    /// confirms the file, pass its record at ``Doubt/sequence`` to ``Doubt/decide(_:)``.
    case doubt(Doubt)
    case stop(Alarm)
    /// Report that the log lacks records of the file, and call ``FollowerStep/check(_:newest:)`` again after half a
    /// second: the alarm ends if the log has them again. If `elects` is true, do the same as for `elect`.
    case raise(Alarm, elects: Bool)
    /// Call ``FollowerStep/check(_:newest:)`` again after half a second. The log lacks records of the file, perhaps
    /// only for a moment.
    case wait
    /// Ask the servers for another leader of the log, at random times. Then the same as `wait`.
    case elect
  }

  /// The position of the file.
  public private(set) var position: LogPosition
  /// The leader of the newest term. Is `nil` until a record of kind `term` arrives.
  public private(set) var leader: Leader?
  /// The time of the newest record of the file, see ``LogRecord/time``. Is `nil` until the log has delivered a record.
  public private(set) var time: Duration?
  private var logCheck = LogCheck()
  /// The alarm that ends if the log has the record of the position again.
  private var raised: Alarm?
  /// The migrations that this version knows.
  private let schemas: Set<String>

  public init(position: LogPosition, schemas: Set<String> = []) {
    self.position = position
    self.schemas = schemas
  }

  /// Compares the file with the log, at the start and after each reconnect.
  /// - Parameter newest: The record at the position of the file, if the log still has it.
  ///
  /// Takes the log's generation if the log has the record at the position.
  /// - Returns: `.advance` if the follower may read from `position.sequence` + 1.
  public mutating func check(_ state: LogState, newest: LogRead?) -> Decision {
    if position == LogPosition(), state.generation != 0 { position.generation = state.generation }
    if state.generation != 0, case .record(let record) = newest, record.gid == position.gid {
      position.generation = state.generation
    }
    switch logCheck.compare(state, with: position) {
    case .alarm(.lostTail(let position, let state)):
      let alarm = raised ?? .lostTail(position, state)
      raised = alarm
      return .raise(alarm, elects: true)
    case .alarm(let alarm): return .stop(alarm)
    case .again: return logCheck.needsElection && state.generation != 0 ? .elect : .wait
    case .fits: break
    }
    if let raised {
      // If another node has continued, the operator decides which records stay. The log needs no other leader.
      guard case .record(let record) = newest, record.gid == position.gid else { return .raise(raised, elects: false) }
      self.raised = nil
    }
    if case .record(let record) = newest {
      guard record.gid == position.gid else { return .diverged(term: record.term) }
      note(record.time)
    }
    return state.first > position.sequence + 1 ? .loadSnapshot : .advance
  }

  /// Decides the next record, and moves the position past it. The caller commits the rows and the position together.
  public mutating func received(_ read: LogRead) -> Decision {
    switch read {
    case .missing: return .loadSnapshot
    case .invalid(let error):
      return error.sequence <= position.sequence ? .ignore : .stop(.invalidRecord(error))
    case .record(let record):
      guard record.sequence > position.sequence else { return .ignore }
      guard record.sequence == position.sequence + 1 else { return .loadSnapshot }
      let decision = decide(record)
      switch decision {
      case .stop, .doubt: return decision
      case .apply, .migrate, .follow, .advance, .skip, .ignore, .loadSnapshot, .diverged, .wait, .elect, .raise: break
      }
      position.sequence = record.sequence
      position.gid = record.gid
      note(record.time)
      if case .follow(let leader) = decision {
        position.term = record.term
        self.leader = leader
      }
      return decision
    }
  }

  /// The clock for keys never goes back.
  private mutating func note(_ time: Duration) { self.time = max(self.time ?? time, time) }

  private func decide(_ record: LogRecord) -> Decision {
    guard record.term >= position.term else { return .skip }
    let isNext = record.kind == .term && record.term == position.term + 1
    guard isNext || (record.kind != .term && record.term == position.term) else {
      return .doubt(
        Doubt(
          sequence: record.sequence, gid: record.gid,
          alarm: .unexpectedTerm(record.term, sequence: record.sequence)))
    }
    return switch record.content {
    case .term(let leader): .follow(leader)
    case .rows(let body): .apply(body)
    case .schema(let name):
      schemas.contains(name) ? .migrate(name) : .stop(.unknownSchema(name, sequence: record.sequence))
    case .noop: .advance
    }
  }

  /// The rows of a record do not fit the file. The node replaces its file once. If the same record does not fit the
  /// snapshot either, the log itself is wrong.
  /// - Parameters:
  ///   - sequence: The record.
  ///   - earlier: The record of the conflict before, if the node has loaded a snapshot since.
  public static func conflicted(at sequence: UInt64, earlier: UInt64?) -> Decision {
    sequence == earlier ? .stop(.conflict(sequence)) : .loadSnapshot
  }
}
