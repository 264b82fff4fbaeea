// SPDX-License-Identifier: Apache-2.0

/// The decisions of a leader for each group of its writer, from the open transaction to its end. Pure: it returns the
/// next action, and the writer's thread performs it.
///
/// One publish is in flight at most. With two of them, the log rejects the first one after a change of the leader, and
/// may accept the second one.
public struct LeaderStep: Sendable {
  public enum Action: Hashable, Sendable {
    case publish(LogRecord, after: Duration)
    case read(UInt64, after: Duration)
    case inspect(after: Duration)
    /// Write this position and run COMMIT. Then call ``committed()``, and only then run the completions. If COMMIT
    /// fails, call ``commitFailed()``.
    case commit(LogPosition)
    /// Run ROLLBACK and fail the works. The next run of the process follows the log.
    case rollBack(LossReason)
    /// End this run of the process, and follow the log in the next one. The log contains the group, so the works have an
    /// unknown result until this node has applied it.
    case reopen
    /// Run ROLLBACK, fail the works, and stop.
    case stop(Alarm)
  }

  public enum LossReason: Hashable, Sendable {
    /// Another node has written to the log.
    case deposed
    /// Nobody knows whether the log contained the group. The clients must send their requests again with the same
    /// idempotency keys.
    case unknown
  }

  private enum Phase: Hashable, Sendable { case idle, publishing, committing, ended }

  /// The position after the last group that is decided and committed.
  public private(set) var position: LogPosition
  private var phase = Phase.idle
  private var resolution: PublishResolution?
  private var isConnected = true
  /// True if the log stored the last group at the first attempt. This node was then the leader when it published
  /// the group. The answer to a repetition proves nothing: another node may lead since the first attempt.
  public private(set) var provesLeadership = false

  /// - Parameter position: The position after the record that began the term.
  public init(position: LogPosition) { self.position = position }

  /// True if a group may begin. False during a group, and after the end of the leadership.
  public var isIdle: Bool { phase == .idle }
  /// True if this node leads no more.
  public var hasEnded: Bool { phase == .ended }

  /// The connection to the log was lost. The next group first checks that the log has kept its records.
  public mutating func disconnected() { isConnected = false }

  /// Begins a group whose transaction is open. A group without changed rows needs no record.
  /// - Parameter time: See ``LogRecord/time``.
  public mutating func begin(_ content: LogRecord.Content, gid: String, time: Duration) -> Action {
    precondition(isIdle, "a leader has at most one publish in flight")
    phase = .publishing
    let record = LogRecord(
      sequence: position.sequence + 1, term: position.term, gid: gid, time: time, content: content)
    var resolution = PublishResolution(record, after: position)
    let action = resolution.begin(isConnected: isConnected)
    self.resolution = resolution
    isConnected = true
    return perform(action)
  }

  public mutating func published(_ outcome: PublishOutcome) -> Action { resolve { $0.published(outcome) } }

  /// - Parameter read: Is `nil` if there was no answer.
  public mutating func found(_ read: LogRead?) -> Action { resolve { $0.found(read) } }

  /// - Parameter state: Is `nil` if there was no answer.
  public mutating func inspected(_ state: LogState?) -> Action { resolve { $0.inspected(state) } }

  /// The file contains the group.
  public mutating func committed() {
    precondition(phase == .committing, "the log decides a group before its commit")
    phase = .idle
    position = next
    provesLeadership = resolution?.isFirstAttempt == true
    resolution = nil
  }

  /// COMMIT failed, although the log contains the group.
  public mutating func commitFailed() -> Action {
    precondition(phase == .committing, "the log decides a group before its commit")
    phase = .ended
    return .reopen
  }

  private mutating func resolve(_ next: (inout PublishResolution) -> PublishResolution.Action) -> Action {
    guard phase == .publishing, var resolution else { preconditionFailure("no publish is in flight") }
    let action = next(&resolution)
    self.resolution = resolution
    return perform(action)
  }

  private mutating func perform(_ action: PublishResolution.Action) -> Action {
    switch action {
    case .publish(let record, let pause): return .publish(record, after: pause)
    case .read(let sequence, let pause): return .read(sequence, after: pause)
    case .inspect(let pause): return .inspect(after: pause)
    case .decide(.stored):
      phase = .committing
      return .commit(next)
    case .decide(.lost): return end(.rollBack(.deposed))
    case .decide(.removed): return end(.rollBack(.unknown))
    case .decide(.stop(let alarm)): return end(.stop(alarm))
    }
  }

  /// The position after the group.
  private var next: LogPosition {
    guard let resolution else { preconditionFailure("no group has begun") }
    let record = resolution.record
    return LogPosition(
      generation: resolution.previous.generation, term: position.term, sequence: record.sequence, gid: record.gid)
  }

  private mutating func end(_ action: Action) -> Action {
    phase = .ended
    return action
  }
}
