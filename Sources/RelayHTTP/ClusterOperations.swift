// SPDX-License-Identifier: Apache-2.0
package import RelayCluster
import RelayHub
import RelayJSON
package import RelayProtocol

/// The state of a cluster's node, for `/ready`, the metrics and `GET /v1/cluster`.
package struct ClusterReport: Sendable {
  package var node: Leader
  package var status: NodeStatus
  package var health: NodeHealth
  /// The time from a publish to the answer of the log.
  package var publishes: Histogram

  package init(node: Leader, status: NodeStatus, health: NodeHealth, publishes: Histogram = .seconds) {
    self.node = node
    self.status = status
    self.health = health
    self.publishes = publishes
  }
}

/// The cluster that a relay belongs to. Any thread.
package protocol ClusterOperations: Sendable {
  var report: ClusterReport { get }
  /// Ends the leadership of this node. Does nothing at a node that does not lead.
  /// - Parameter isReady: Returns when the leadership may end. Blocks for a bounded time, so it must not run on the
  ///   caller's thread.
  func stepDown(after isReady: @escaping @Sendable () -> Void)
  /// Requests a snapshot from this node.
  func requestSnapshot()
}

extension ClusterReport {
  /// The answer to `GET /v1/cluster`.
  var response: HTTPResponse {
    .json(200) {
      write(node, to: &$0)
      $0["role"] = status.role.rawValue
      $0.integer("term", Int64(clamping: status.position.term))
      $0.integer("sequence", Int64(clamping: status.position.sequence))
      $0.integer("lag", health.lag.map { Int64(clamping: $0) })
      $0.bool("reachesLog", health.reachesLog)
      if !health.replicas.isEmpty {
        $0.object("replicas") {
          for (stream, replicas) in replicas {
            $0.object(stream) {
              $0.integer("current", replicas.current)
              $0.integer("configured", replicas.configured)
            }
          }
        }
      }
      $0.decimal("clockDifference", health.clockDifference.map { ($0.seconds * 1_000).rounded() / 1_000 })
      if let leader = status.leader { $0.object("leader") { write(leader, to: &$0) } }
      if let alarm = status.alarm { $0.object("alarm") { write(alarm.code, alarm, to: &$0) } }
      if let obstacle = health.obstacle { $0.object("obstacle") { write(obstacle.code, obstacle, to: &$0) } }
      write(warnings: &$0)
    }
  }

  /// The replicas of each stream, as far as they are known.
  private var replicas: [(stream: String, StreamReplicas)] {
    LogStream.allCases.compactMap { stream in health.replicas[stream].map { (stream.rawValue, $0) } }
  }

  private func write(_ node: Leader, to object: inout JSONWriter.Object) {
    object["node"] = node.name
    object["url"] = node.url
  }

  /// - Parameter state: An alarm, an obstacle or a warning.
  private func write(_ code: String, _ state: some CustomStringConvertible, to object: inout JSONWriter.Object) {
    object["code"] = code
    object["text"] = state.description
  }

  /// Writes the warnings, if there are any.
  func write(warnings object: inout JSONWriter.Object) {
    guard !health.warnings.isEmpty else { return }
    object.array("warnings") { list in
      for warning in health.warnings { list.object { write(warning.code, warning, to: &$0) } }
    }
  }

  func write(to text: inout MetricsText) {
    text.family(
      "stillwire_cluster_role", "1 for the role of this node.", .gauge, by: "role",
      NodeStatus.Role.allCases.map { ($0.rawValue, $0 == status.role ? 1 : 0) })
    text.gauge("stillwire_cluster_term", "Term of the newest leader that this node knows.", status.position.term)
    text.gauge("stillwire_cluster_sequence", "Newest record of the log in this node's file.", status.position.sequence)
    text.gauge(
      "stillwire_cluster_lag_records", "Records of the log that this node's file lacks. No sample: unknown.", health.lag
    )
    text.gauge(
      "stillwire_cluster_log_reachable", "1 if the servers of the log have answered the newest request of this node.",
      health.reachesLog ? 1 : 0)
    text.family(
      "stillwire_cluster_current_replicas", "NATS servers that run and have all records of a stream.", .gauge,
      by: "stream", replicas.map { ($0, $1.current) })
    text.family(
      "stillwire_cluster_configured_replicas", "NATS servers that should have all records of a stream.", .gauge,
      by: "stream", replicas.map { ($0, $1.configured) })
    text.gauge(
      "stillwire_cluster_clock_difference_seconds",
      "Clock of this node minus the clock of the leader. No sample: unknown, or this node leads.",
      seconds: health.clockDifference?.seconds)
    text.gauge(
      "stillwire_cluster_unproved_seconds",
      "Seconds for which this node has led without a proof by the log. It serves nobody. 0 with a proof.",
      seconds: health.unproved.seconds)
    for (name, help, value) in [
      ("failovers", "Terms that began while this process ran.", status.takeovers + status.leaderChanges),
      ("rejected_publishes", "Records that the log rejected, because another node has written to it.", status.rejected),
      ("unknown_publishes", "Publishes without an answer of the log.", status.unknown),
      ("skipped_records", "Records of deposed leaders that this node skipped.", status.skipped),
      ("conflicts", "Records that did not fit this node's file, or that only the file had.", status.conflicts),
      ("file_failures", "Failures to read or write this node's file.", status.fileFailures),
      ("snapshots_loaded", "Snapshots that replaced this node's file.", status.snapshotsLoaded),
      ("snapshots_published", "Snapshots that this node published.", status.snapshotsPublished),
    ] {
      text.counter("stillwire_cluster_\(name)_total", help, value)
    }
    text.histogram(
      "stillwire_cluster_publish_seconds", "Time from a publish to the answer of the log.", publishes)
  }
}
