// SPDX-License-Identifier: Apache-2.0
import Synchronization

/// The facts about a node that its threads collect. ``health(at:)`` is what an operator sees of them.
public struct NodeStatus: Sendable {
  /// The result of the newest look of ``LogMonitor``.
  public enum Contact: Hashable, Sendable {
    /// There was no look yet.
    case none
    case answered(ContinuousClock.Instant)
    case silent(reason: String)
  }

  public enum Role: String, Sendable, CaseIterable {
    /// The node has no complete copy of the data yet.
    case loading
    case follower, leader, alarm
  }

  public var role = Role.loading
  public var position = LogPosition()
  /// The leader of the newest term. Is `nil` if it is not known, or if its heartbeats stopped.
  public var leader: Leader?
  /// The sequence of the newest record: from the last heartbeat of the leader, or from the log.
  public private(set) var newest: UInt64 = 0
  /// The time at which ``newest`` was the newest record. Is `nil` before the first answer.
  public private(set) var newestAt: ContinuousClock.Instant?
  public var contact = Contact.none
  public var replicas: [LogStream: StreamReplicas] = [:]
  /// See ``NodeHealth/clockDifference``.
  public var clockDifference: Duration?
  /// See ``LogReader/obstacle``.
  public var readerObstacle: String?
  /// The time since which a leader has no proof that it leads.
  public var unprovedSince: ContinuousClock.Instant?
  public var alarm: Alarm?
  /// The newest failure that has not ended. See ``NodeHealth/obstacle``.
  public var failure: NodeObstacle?
  /// The number of times that this process began to lead.
  public var takeovers: UInt64 = 0
  /// The number of terms that other nodes began.
  public var leaderChanges: UInt64 = 0
  /// The number of publishes that the log rejected.
  public var rejected: UInt64 = 0
  /// The number of publishes without an answer.
  public var unknown: UInt64 = 0
  public var skipped: UInt64 = 0
  /// The number of records that did not fit the file, or that only the file had.
  public var conflicts: UInt64 = 0
  /// The number of times that the file could not be read or written.
  public var fileFailures: UInt64 = 0
  public var snapshotsLoaded: UInt64 = 0
  public var snapshotsPublished: UInt64 = 0

  public init() {}

  mutating func raise(_ alarm: Alarm) {
    role = .alarm
    self.alarm = alarm
    failure = nil
    leader = nil
  }

  /// The node goes on after an alarm.
  mutating func clearAlarm() {
    if role != .leader { role = .loading }
    alarm = nil
  }

  /// Ends a failure, if it is one of these.
  mutating func end(_ isEnded: (NodeObstacle) -> Bool) { if let failure, isEnded(failure) { self.failure = nil } }

  /// Notes the newest record of the log at this time. An older answer may arrive later.
  mutating func noteNewest(_ sequence: UInt64, at now: ContinuousClock.Instant) {
    let isOutdated = newestAt.map { now - $0 > NodeHealth.maxAge } ?? true
    newest = isOutdated ? sequence : max(newest, sequence)
    newestAt = now
  }

  /// The file contains this position, so that the log has it.
  public mutating func move(to position: LogPosition) {
    self.position = position
    newest = max(newest, position.sequence)
  }

  /// The number of records that the file lacks, compared with ``newest``.
  var missing: UInt64 { newest > position.sequence ? newest - position.sequence : 0 }
}

/// The status that the threads of a node share. Any thread.
public final class NodeStatusBoard: Sendable {
  private let status = Mutex(NodeStatus())

  public init() {}

  public var current: NodeStatus { status.withLock { $0 } }

  public func change(_ change: (inout NodeStatus) -> Void) { status.withLock { change(&$0) } }

  public func health(at now: ContinuousClock.Instant) -> NodeHealth { current.health(at: now) }
}
