// SPDX-License-Identifier: Apache-2.0
import RelayHub
import RelayJSON
package import RelayProtocol

/// The state of a cluster's node, for `/ready`, the metrics and `GET /v1/cluster`.
package struct ClusterReport: Sendable {
  package enum Role: String, Sendable, CaseIterable {
    /// The node has no complete copy of the data yet.
    case loading
    case follower, leader
    /// The node has stopped. An operator must act.
    case alarm
  }

  /// A name and the URL at which clients reach the node.
  package struct Node: Sendable {
    package var name: String
    package var url: String

    package init(name: String, url: String) {
      self.name = name
      self.url = url
    }
  }

  /// The NATS servers that store a stream of the cluster.
  package struct Replicas: Sendable {
    /// `log` or `snapshots`.
    package var stream: String
    package var current: Int
    package var configured: Int

    package init(stream: String, current: Int, configured: Int) {
      self.stream = stream
      self.current = current
      self.configured = configured
    }
  }

  package var node: Node
  package var role = Role.loading
  package var term: UInt64 = 0
  /// The newest record of the log that the node's file contains.
  package var sequence: UInt64 = 0
  /// The number of records that the file lacks. Is `nil` while the node does not know the newest record.
  package var lag: UInt64?
  /// True if the servers of the log have answered the newest request.
  package var reachesLog = false
  /// The replicas of each stream, as far as they are known.
  package var replicas: [Replicas] = []
  /// The clock of this node minus the clock of the leader, in seconds. Is `nil` at the leader, and if it is not known.
  package var clockDifference: Double?
  /// The time in seconds for which a leader has waited for a proof that it leads.
  package var unproved = 0.0
  /// Is `nil` if no leader is known.
  package var leader: Node?
  /// The code and the text of the alarm. The code is safe as a label.
  package var alarm: (code: String, text: String)?
  /// The code and the text of the reason why the node cannot follow, take over or serve now. It ends by itself.
  package var obstacle: (code: String, text: String)?
  /// The codes and the texts of faults to correct, in spite of which the node follows or serves.
  package var warnings: [(code: String, text: String)] = []
  /// Counters since the start of the process, with the help of their metrics.
  package var counters: [(name: String, help: String, value: UInt64)] = []
  /// The time from a publish to the answer of the log.
  package var publishes = Histogram.seconds

  package init(node: Node) { self.node = node }
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
      $0["node"] = node.name
      $0["url"] = node.url
      $0["role"] = role.rawValue
      $0.integer("term", Int64(clamping: term))
      $0.integer("sequence", Int64(clamping: sequence))
      $0.integer("lag", lag.map { Int64(clamping: $0) })
      $0.bool("reachesLog", reachesLog)
      if !replicas.isEmpty {
        $0.object("replicas") {
          for stream in replicas {
            $0.object(stream.stream) {
              $0.integer("current", stream.current)
              $0.integer("configured", stream.configured)
            }
          }
        }
      }
      $0.decimal("clockDifference", clockDifference.map { ($0 * 1_000).rounded() / 1_000 })
      if let leader {
        $0.object("leader") {
          $0["node"] = leader.name
          $0["url"] = leader.url
        }
      }
      for (key, state) in [("alarm", alarm), ("obstacle", obstacle)] {
        guard let state else { continue }
        $0.object(key) {
          $0["code"] = state.code
          $0["text"] = state.text
        }
      }
      write(warnings: &$0)
    }
  }

  /// Writes the warnings, if there are any.
  func write(warnings object: inout JSONWriter.Object) {
    guard !warnings.isEmpty else { return }
    object.array("warnings") { list in
      for warning in warnings {
        list.object {
          $0["code"] = warning.code
          $0["text"] = warning.text
        }
      }
    }
  }

  func write(to text: inout MetricsText) {
    text.family(
      "stillwire_cluster_role", "1 for the role of this node.", .gauge, by: "role",
      Role.allCases.map { ($0.rawValue, $0 == role ? 1 : 0) })
    text.gauge("stillwire_cluster_term", "Term of the newest leader that this node knows.", term)
    text.gauge("stillwire_cluster_sequence", "Newest record of the log in this node's file.", sequence)
    text.gauge(
      "stillwire_cluster_lag_records", "Records of the log that this node's file lacks. No sample: unknown.", lag)
    text.gauge(
      "stillwire_cluster_log_reachable", "1 if the servers of the log have answered the newest request of this node.",
      reachesLog ? 1 : 0)
    text.family(
      "stillwire_cluster_current_replicas", "NATS servers that run and have all records of a stream.", .gauge,
      by: "stream", replicas.map { ($0.stream, $0.current) })
    text.family(
      "stillwire_cluster_configured_replicas", "NATS servers that should have all records of a stream.", .gauge,
      by: "stream", replicas.map { ($0.stream, $0.configured) })
    text.gauge(
      "stillwire_cluster_clock_difference_seconds",
      "Clock of this node minus the clock of the leader. No sample: unknown, or this node leads.",
      seconds: clockDifference)
    text.gauge(
      "stillwire_cluster_unproved_seconds",
      "Seconds for which this node has led without a proof by the log. It serves nobody. 0 with a proof.",
      seconds: unproved)
    for counter in counters { text.counter("stillwire_cluster_\(counter.name)_total", counter.help, counter.value) }
    text.histogram(
      "stillwire_cluster_publish_seconds", "Time from a publish to the answer of the log.", publishes)
  }
}
