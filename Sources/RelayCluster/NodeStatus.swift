// SPDX-License-Identifier: Apache-2.0
import Synchronization

/// The state of a node, for `/ready`, the metrics and `stillwire cluster status`.
public struct NodeStatus: Sendable {
  public enum Role: String, Sendable, CaseIterable {
    /// The node has no complete copy of the data yet.
    case loading
    case follower, leader, alarm
  }

  public var role = Role.loading
  public var position = LogPosition()
  /// The leader of the newest term. Is `nil` if it is not known, or if its heartbeats stopped.
  public var leader: Leader?
  /// The sequence of the leader's newest record, from its last heartbeat.
  public var newest: UInt64 = 0
  public var alarm: Alarm?
  /// The newest failure that has not ended. See ``obstacle``.
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

  /// The reason why the node cannot follow or take over now. Is `nil` if it can, and after an alarm.
  public var obstacle: NodeObstacle? {
    guard alarm == nil else { return nil }
    return failure ?? (lag > 0 && role != .leader ? .behind(lag) : nil)
  }

  /// Ends a failure, if it is one of these.
  mutating func end(_ isEnded: (NodeObstacle) -> Bool) { if let failure, isEnded(failure) { self.failure = nil } }

  /// The number of records that the file lacks.
  public var lag: UInt64 { newest > position.sequence ? newest - position.sequence : 0 }
}

/// The status that the threads of a node share. Any thread.
public final class NodeStatusBoard: Sendable {
  private let status = Mutex(NodeStatus())

  public init() {}

  public var current: NodeStatus { status.withLock { $0 } }

  public func change(_ change: (inout NodeStatus) -> Void) { status.withLock { change(&$0) } }
}
