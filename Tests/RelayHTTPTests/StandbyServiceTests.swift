// SPDX-License-Identifier: Apache-2.0
import Foundation
import HTTPTypes
import RelayIdentity
import RelayJSON
import Synchronization
import Testing

@testable import RelayCluster
@testable import RelayCommands
@testable import RelayHTTP
@testable import RelayHub
@testable import RelayRequests

/// The answers of a node that does not lead.
@Suite struct StandbyServiceTests {
  private final class Cluster: ClusterOperations {
    let report: ClusterReport
    let stepDowns = Mutex(0)
    init(report: ClusterReport) { self.report = report }
    func stepDown(after isReady: @escaping @Sendable () -> Void) { stepDowns.withLock { $0 += 1 } }
    func requestSnapshot() {}
  }

  private func node(isOpen: Bool = true, _ change: (inout ClusterReport) -> Void) -> (NodeService, Cluster) {
    var report = ClusterReport.test("b")
    report.status.role = .follower
    report.status.leader = Leader(name: "a", url: "http://a:8080")
    change(&report)
    let cluster = Cluster(report: report)
    return (NodeService(cluster, .init(isOpen: isOpen, isMetricsOpen: false, apiKeys: APIKeys())), cluster)
  }

  private func request(
    _ path: String, method: String = "GET", query: String = "", isLocal: Bool = true
  ) -> RelayHub.HTTPRequest {
    RelayHub.HTTPRequest(
      exchange: ExchangeHandle(rawValue: 1), method: method, path: path, query: query, isLocal: isLocal)
  }

  private func answer(
    _ path: String, method: String = "GET", query: String = "", isOpen: Bool = true, isLocal: Bool = true,
    _ change: (inout ClusterReport) -> Void = { _ in }
  ) async -> RelayHub.HTTPResponse {
    await StandbyService(node(isOpen: isOpen, change).0).response(
      to: request(path, method: method, query: query, isLocal: isLocal))
  }

  private func text(_ response: RelayHub.HTTPResponse) -> String { String(decoding: response.body, as: UTF8.self) }

  @Test func `the process is alive, but not ready`() async {
    #expect(await answer("/live").status == 200)
    let ready = await answer("/ready")
    #expect(ready.status == 503)
    #expect(text(ready) == #"{"status":"standby","leader":"http://a:8080"}"#)
    #expect(await text(answer("/ready") { $0.status.leader = nil }) == #"{"status":"standby"}"#)
    let behind = await answer("/ready") { $0.health.obstacle = .behind(7) }
    #expect(
      text(behind)
        == #"{"status":"standby","leader":"http://a:8080","reason":"behind","text":"\#(NodeObstacle.behind(7))"}"#)
    let alarm = await answer("/ready") { $0.status.alarm = .unrelatedFile }
    #expect(text(alarm) == #"{"status":"alarm","alarm":"unrelated_file","text":"\#(Alarm.unrelatedFile)"}"#)
  }

  @Test func `a handshake gets the leader's URL`() async {
    let response = await answer("/v1/connect")
    #expect(response.status == 503)
    #expect(response.headers[.stillwireLeader] == "http://a:8080")
    #expect(response.headers[.retryAfter] == "1")
    #expect(text(response).contains(#""leader":"http://a:8080""#))
  }

  @Test func `other requests are redirected with their path and query`() async {
    let response = await answer("/v1/rooms/a%20b/messages", method: "POST", query: "x=1&y=%2F")
    #expect(response.status == 307)
    #expect(response.headers[.location] == "http://a:8080/v1/rooms/a%20b/messages?x=1&y=%2F")
    #expect(response.headers[.stillwireLeader] == "http://a:8080")
  }

  @Test func `without a leader clients try again`() async {
    for path in ["/", "/v1/connect", "/v1/rooms"] {
      let response = await answer(path) { $0.status.leader = nil }
      #expect(response.status == 503)
      #expect(response.headers[.retryAfter] == "1")
      #expect(response.headers[.stillwireLeader] == nil)
    }
    // A node that has won and does not serve yet does not redirect to itself.
    let winner = await answer("/v1/rooms") { report in
      report.status.role = .leader
      report.status.leader = report.node
    }
    #expect(winner.status == 503)
  }

  @Test func `a preflight is not redirected`() async {
    #expect(await answer("/v1/rooms", method: "OPTIONS").status == 204)
  }

  @Test(arguments: [("GET", "/metrics"), ("GET", "/v1/cluster"), ("POST", "/v1/cluster/snapshot")])
  func `operators need an API key, unless the relay is in open mode`(_ method: String, _ path: String) async {
    #expect(await answer(path, method: method).status == 200)
    #expect(await answer(path, method: method, isOpen: false).status == 401)
    // In open mode nothing else identifies an operator. The metrics change nothing.
    #expect(await answer(path, method: method, isLocal: false).status == (path == "/metrics" ? 200 : 403))
  }

  @Test(arguments: [
    ("GET", "/metrics", "readMetrics"), ("GET", "/v1/cluster", "getCluster"),
    ("POST", "/v1/cluster/snapshot", "publishSnapshot"), ("POST", "/v1/cluster/step-down", "stepDown"),
  ])
  func `the scope of a key names the operations of an operator`(
    _ method: String, _ path: String, _ operation: String
  ) async throws {
    let file = NSTemporaryDirectory() + "stillwire-standby-\(UInt64.random(in: 0...UInt64.max))"
    defer { try? FileManager.default.removeItem(atPath: file) }
    let keys = try ["all", "named", "other"].map { try APIKeys.add($0, scope: $0, to: file) }
    var settings = IdentitySettings()
    settings.apiKeysFile = file
    settings.scopes = try KeyScopes(
      [
        Fields(["scope": .string("all")]),
        Fields(["scope": .string("named"), "operations": .array([.string(operation)])]),
        Fields(["scope": .string("other"), "operations": .array([.string("sendMessage")])]),
      ], operations: RelayRequests.Operation.names, groups: [:])
    let service = StandbyService(
      NodeService(
        Cluster(report: .test("b")),
        .init(isOpen: false, isMetricsOpen: false, apiKeys: try settings.readAPIKeys())))
    func status(_ key: String) async -> Int {
      await service.response(
        to: RelayHub.HTTPRequest(
          exchange: ExchangeHandle(rawValue: 1), method: method, path: path,
          fields: [.authorization: "Bearer \(key)"])
      ).status
    }
    let (all, named, other) = (await status(keys[0]), await status(keys[1]), await status(keys[2]))
    #expect(all != 401 && all != 403)
    #expect(named == all)
    #expect(other == 403)
  }

  @Test func `a standby cannot step down, and a node that has won and does not serve yet can`() async {
    #expect(await answer("/v1/cluster/step-down", method: "POST").status == 409)
    #expect(await answer("/v1/cluster/step-down", method: "POST") { $0.status.role = .leader }.status == 200)
  }

  @Test(arguments: NodeStatus.Role.allCases)
  func `only a node with a complete copy publishes a snapshot`(_ role: NodeStatus.Role) async {
    let status = await answer("/v1/cluster/snapshot", method: "POST") { $0.status.role = role }.status
    #expect(status == (role == .follower || role == .leader ? 200 : 409))
  }

  @Test func `the metrics have the role`() async {
    let metrics = await text(answer("/metrics"))
    #expect(metrics.contains("stillwire_cluster_role{role=\"follower\"} 1\n"))
    #expect(metrics.contains("stillwire_cluster_role{role=\"leader\"} 0\n"))
  }

  @Test func `what a node does not know is no number`() async {
    let unknown = await text(answer("/metrics"))
    #expect(unknown.contains("stillwire_cluster_log_reachable 0\n"))
    for name in ["lag_records", "clock_difference_seconds", "current_replicas", "configured_replicas"] {
      #expect(unknown.contains("# TYPE stillwire_cluster_\(name) gauge\n"))
      #expect(!unknown.contains("\nstillwire_cluster_\(name)"))
    }
    let report = await text(answer("/v1/cluster"))
    #expect(!report.contains("lag") && !report.contains("replicas") && report.contains(#""reachesLog":false"#))
  }

  @Test func `the replicas, the lag and the clock are in the metrics and in the report`() async {
    let warnings = [NodeWarning.noConsumer(reason: "c"), .clockDiffers(.seconds(-600), leader: "a")]
    func know(_ report: inout ClusterReport) {
      report.health.reachesLog = true
      report.health.lag = 7
      report.health.replicas = [
        .log: StreamReplicas(configured: 3, current: 2), .snapshots: StreamReplicas(configured: 3, current: 3),
      ]
      report.health.clockDifference = .seconds(-600) - .microseconds(400)
      report.health.warnings = warnings
    }
    let metrics = await text(answer("/metrics", know))
    for line in [
      "lag_records 7", "log_reachable 1", #"current_replicas{stream="log"} 2"#,
      #"configured_replicas{stream="log"} 3"#, #"current_replicas{stream="snapshots"} 3"#,
      "clock_difference_seconds -600.0004", "unproved_seconds 0.0",
    ] {
      #expect(metrics.contains("\nstillwire_cluster_\(line)\n"), "\(line)")
    }
    let report = await text(answer("/v1/cluster", know))
    #expect(
      report.hasSuffix(
        #""lag":7,"reachesLog":true,"replicas":{"log":{"current":2,"configured":3},"#
          + #""snapshots":{"current":3,"configured":3}},"clockDifference":-600,"#
          + #""leader":{"node":"a","url":"http://a:8080"},"#
          + #""warnings":[{"code":"no_consumer","text":"\#(warnings[0])"},"#
          + #"{"code":"clock_differs","text":"\#(warnings[1])"}]}"#))
  }

  // MARK: A leader that waits for a proof

  @Test(arguments: [
    ("GET", "/ready", 503), ("HEAD", "/ready", 503), ("GET", "/metrics", 200), ("GET", "/v1/cluster", 200),
    ("POST", "/v1/cluster/step-down", 200), ("POST", "/v1/cluster/snapshot", 200), ("GET", "/live", 200),
    ("GET", "/v1/rooms", 503), ("POST", "/metrics", 503), ("DELETE", "/v1/cluster", 503),
  ])
  func `a leader without a proof answers only its operator`(_ method: String, _ path: String, _ status: Int) {
    let (service, cluster) = node { report in
      report.status.role = .leader
      report.health.obstacle = .unproved
      report.health.unproved = .seconds(2.5)
    }
    let response = service.answerOfUnproved(request(path, method: method))
    #expect(response.status == status)
    #expect(cluster.stepDowns.withLock { $0 } == (path.hasSuffix("step-down") ? 1 : 0))
    switch path {
    case "/ready":
      #expect(text(response) == #"{"status":"standby","reason":"no_proof","text":"\#(NodeObstacle.unproved)"}"#)
    case "/metrics" where method == "GET":
      #expect(text(response).contains("\nstillwire_cluster_unproved_seconds 2.5\n"))
    case "/v1/cluster" where method == "GET": #expect(text(response).contains(#""obstacle":{"code":"no_proof""#))
    default: break
    }
    if status == 503, path != "/ready" { #expect(response.headers[.retryAfter] == "1") }
  }

  @Test(arguments: [("GET", "/metrics"), ("GET", "/v1/cluster"), ("POST", "/v1/cluster/step-down")])
  func `a leader without a proof authenticates its operator`(_ method: String, _ path: String) {
    let (closed, cluster) = node(isOpen: false) { $0.status.role = .leader }
    #expect(closed.answerOfUnproved(request(path, method: method)).status == 401)
    let (open, _) = node { $0.status.role = .leader }
    let away = open.answerOfUnproved(request(path, method: method, isLocal: false))
    #expect(away.status == (path == "/metrics" ? 200 : 403))
    #expect(cluster.stepDowns.withLock { $0 } == 0)
  }
}

extension ClusterReport {
  /// A node without any facts about its cluster.
  static func test(_ name: String) -> ClusterReport {
    guard let node = Leader(name: name, url: "http://\(name)") else { preconditionFailure("the name is valid") }
    return ClusterReport(node: node, status: NodeStatus(), health: NodeStatus().health(at: .now))
  }
}
