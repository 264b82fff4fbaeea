// SPDX-License-Identifier: Apache-2.0

/// Decides what became of one record: publishes it until an answer is clear. Pure: it returns the next action, and the
/// caller passes the answer to the method that the action names.
///
/// It never gives up on an unknown outcome, because a publish that timed out may be stored later. Each attempt has the
/// same gid and the same expected sequence, so that the log stores at most one of them, at one sequence.
///
/// A log that has lost its tail may reach the expected sequence again with the records of another leader. So before
/// each further attempt, and before the first one after a reconnect, it reads the record before its own.
public struct PublishResolution: Sendable {
  public enum Action: Hashable, Sendable {
    /// Publish the record after this pause; then call ``published(_:)``.
    case publish(LogRecord, after: Duration)
    /// Read this sequence after this pause; then call ``found(_:)``.
    case read(UInt64, after: Duration)
    /// Read the state of the log after this pause; then call ``inspected(_:)``.
    case inspect(after: Duration)
    case decide(Decision)
  }

  public enum Decision: Hashable, Sendable {
    /// The log contains the record at its sequence.
    case stored
    /// Another record is at its sequence. The log will never contain this one.
    case lost
    /// The log has removed its sequence. The record was stored or lost, and nobody can find out.
    case removed
    case stop(Alarm)
  }

  private enum Reading { case previous, own }

  public let record: LogRecord
  /// The position before the record, with the generation of the log.
  public private(set) var previous: LogPosition
  /// A state of another generation. The previous record shows that it is the same log, or another one.
  private var other: LogState?
  private var reading = Reading.own
  private var failures = 0
  private var check = LogCheck()
  private var attempts = 0
  /// True if an attempt had no clear answer.
  private var mayBeStored = false
  /// True if the record was published once. An answer to a repetition may be about an earlier attempt.
  public var isFirstAttempt: Bool { attempts == 1 }

  /// - Parameter previous: The position of the node's file. The record has the next sequence.
  public init(_ record: LogRecord, after previous: LogPosition) {
    precondition(record.sequence == previous.sequence + 1, "a record follows the node's position")
    self.record = record
    self.previous = previous
  }

  /// The first action.
  /// - Parameter isConnected: False if the connection was lost since the last answer of the log.
  public mutating func begin(isConnected: Bool) -> Action {
    isConnected ? .publish(record, after: .zero) : verify(after: .zero)
  }

  public mutating func published(_ outcome: PublishOutcome) -> Action {
    attempts += 1
    switch outcome {
    case .stored(record.sequence): return .decide(.stored)
    case .stored(let other): return .decide(.stop(.misplaced(expected: record.sequence, stored: other)))
    case .rejected:
      // An earlier attempt may have been stored, and then a repetition is rejected.
      reading = .own
      return .read(record.sequence, after: .zero)
    case .unknown:
      mayBeStored = true
      return verify(after: pause())
    }
  }

  /// - Parameter read: Is `nil` if there was no answer.
  public mutating func found(_ read: LogRead?) -> Action {
    switch (reading, read) {
    case (_, .invalid(let error)): return .decide(.stop(.invalidRecord(error)))
    case (_, .missing): return .inspect(after: .zero)
    case (.own, .record(let found)): return .decide(found.gid == record.gid ? .stored : .lost)
    case (.own, nil): return .read(record.sequence, after: pause())
    case (.previous, .record(let found)):
      guard found.gid == previous.gid else {
        return .decide(.stop(other.map { .recreated(previous, $0) } ?? .diverged(previous, term: found.term)))
      }
      if let other { previous.generation = other.generation }
      other = nil
      return .publish(record, after: .zero)
    case (.previous, nil): return verify(after: pause())
    }
  }

  /// - Parameter state: Is `nil` if there was no answer.
  public mutating func inspected(_ state: LogState?) -> Action {
    guard let state else { return .inspect(after: pause()) }
    if state.generation != previous.generation, state.generation != other?.generation,
      previous.sequence > 0, state.first...max(state.first, state.last) ~= previous.sequence
    {
      other = state
      return verify(after: .zero)
    }
    switch check.compare(state, with: previous) {
    case .alarm(let alarm): return .decide(.stop(alarm))
    case .again: return .inspect(after: LogCheck.pause)
    case .fits: break
    }
    // Without an unclear answer, the rejection is final.
    if state.first > record.sequence { return .decide(mayBeStored ? .removed : .lost) }
    if state.last > previous.sequence {
      // The log has stored a record since the read, or has removed the previous one.
      reading = .own
      return .read(record.sequence, after: pause())
    }
    // The log ends before the record. A server of NATS 2.10 also rejects a publish while it stores another one.
    return state.first > previous.sequence ? .publish(record, after: pause()) : verify(after: pause())
  }

  private mutating func verify(after pause: Duration) -> Action {
    guard previous.sequence > 0 else { return .publish(record, after: pause) }
    reading = .previous
    return .read(previous.sequence, after: pause)
  }

  /// 20 ms, doubled after each failure up to 640 ms.
  private mutating func pause() -> Duration {
    defer { failures += 1 }
    return .milliseconds(20 << min(failures, 5))
  }
}
