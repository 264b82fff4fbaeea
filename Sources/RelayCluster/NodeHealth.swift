// SPDX-License-Identifier: Apache-2.0

/// The state of a node as an operator sees it: in `/ready`, `stillwire cluster status`, the metrics and the alerts. Pure:
/// it follows from the facts in ``NodeStatus`` and from the time.
public struct NodeHealth: Hashable, Sendable {
  /// The age above which a fact counts as unknown: three intervals of ``LogMonitor``.
  public static let maxAge = LogMonitor.interval * 3

  /// True if the servers of the log have answered the newest request.
  public internal(set) var reachesLog: Bool
  /// The number of records that the file lacks. Is `nil` while the node does not know the newest record.
  public internal(set) var lag: UInt64?
  /// The replicas of each stream, as far as they are known.
  public internal(set) var replicas: [LogStream: StreamReplicas]
  /// The clock of this node minus the clock of the leader. Is `nil` if it is not known, and at the leader.
  public internal(set) var clockDifference: Duration?
  /// The time for which the leader has waited for a proof that it leads. Is 0 if it has one, and at other nodes.
  public internal(set) var unproved: Duration
  /// The reason why the node cannot follow, take over or serve now. Is `nil` if it can, and after an alarm.
  public internal(set) var obstacle: NodeObstacle?
  /// Faults that the operator should correct. The node follows or serves in spite of them.
  public internal(set) var warnings: [NodeWarning]
  /// The subjects whose state the node does not know now. ``warnings`` has none about them, although an earlier fault may
  /// continue.
  public internal(set) var unknown: Set<NodeWarning.Subject>
}

extension NodeStatus {
  public func health(at now: ContinuousClock.Instant) -> NodeHealth {
    func isRecent(_ time: ContinuousClock.Instant?) -> Bool { time.map { now - $0 <= NodeHealth.maxAge } ?? false }
    let reachesLog = if case .answered(let time) = contact { isRecent(time) } else { false }
    let unproved = role == .leader ? unprovedSince.map { max(.zero, now - $0) } : nil
    let isKnown = role == .leader ? unproved == nil : isRecent(newestAt)
    let lag: UInt64? = isKnown ? (role == .leader ? 0 : missing) : nil
    let difference = role == .leader ? nil : clockDifference
    let replicas = reachesLog ? replicas : [:]
    var warnings: [NodeWarning] = []
    for stream in LogStream.allCases {
      if let found = replicas[stream], found.current < found.configured {
        warnings.append(.lostReplicas(stream, found))
      }
    }
    if let difference, difference.magnitude > NodeClocks.tolerance, let leader {
      warnings.append(.clockDiffers(difference, leader: leader.name))
    }
    var unknown = Set(LogStream.allCases.filter { replicas[$0] == nil }.map { NodeWarning.Subject.replicas($0) })
    if role != .leader, difference == nil { unknown.insert(.clock) }
    if role == .follower, let readerObstacle { warnings.append(.noConsumer(reason: readerObstacle)) }
    return NodeHealth(
      reachesLog: reachesLog, lag: lag, replicas: replicas, clockDifference: difference, unproved: unproved ?? .zero,
      obstacle: obstacle(lag: lag, isUnproved: unproved != nil), warnings: warnings, unknown: unknown)
  }

  private func obstacle(lag: UInt64?, isUnproved: Bool) -> NodeObstacle? {
    guard alarm == nil else { return nil }
    if let failure { return failure }
    if role == .leader { return isUnproved ? .unproved : nil }
    if case .silent(let reason) = contact { return .logUnavailable(reason: reason) }
    return lag.flatMap { $0 > 0 ? .behind($0) : nil }
  }
}
