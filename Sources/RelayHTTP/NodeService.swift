// SPDX-License-Identifier: Apache-2.0
import HTTPTypes
import RelayCluster
import RelayCommands
import RelayHub
package import RelayIdentity
import RelayJSON
import RelayProtocol
import RelayRequests
import RelayState

/// Answers the requests about a node of a cluster without the relay: at a node that does not lead, and at a leader that
/// waits for a proof that it leads. Blocks only to read files of `/proc`.
package struct NodeService: Sendable {
  let cluster: any ClusterOperations
  private let access: Access

  /// The rule for the operator's requests.
  package struct Access: Sendable {
    package var isOpen: Bool
    package var isMetricsOpen: Bool
    package var apiKeys: APIKeys

    package init(isOpen: Bool, isMetricsOpen: Bool, apiKeys: APIKeys) {
      self.isOpen = isOpen
      self.isMetricsOpen = isMetricsOpen
      self.apiKeys = apiKeys
    }
  }

  /// The paths of these requests, except `/live`, which a hub answers itself while it is held.
  package static let paths = ["/ready", "/metrics", "/v1/cluster", "/v1/cluster/step-down", "/v1/cluster/snapshot"]

  package init(_ cluster: any ClusterOperations, _ access: Access) {
    self.cluster = cluster
    self.access = access
  }

  /// The answer of a leader that waits for a proof. Clients may not get anything else from it.
  package func answerOfUnproved(_ request: HTTPRequest) -> HTTPResponse {
    do throws(RequestError) {
      if let response = try response(to: request) { return response }
      throw RequestError(.unavailable, "the node waits for a proof that it leads", retryAfter: .seconds(1))
    } catch {
      return .problem(error)
    }
  }

  /// Answers a request about this node. Returns `nil` for all other requests.
  /// - Parameter process: The resources of the process for `/metrics`. If `nil`, this reads them.
  func response(to request: HTTPRequest, _ process: ProcessFacts? = nil) throws(RequestError) -> HTTPResponse? {
    let method = request.method == "HEAD" ? "GET" : request.method
    switch (method, request.path) {
    case ("GET", "/live"): return .json(200) { $0["status"] = "live" }
    case ("GET", "/ready"): return ready
    case ("GET", "/metrics"):
      if !access.isMetricsOpen, !access.isOpen { try checkKey(request, .readMetrics) }
      var text = MetricsText()
      cluster.report.write(to: &text)
      (process ?? .read()).write(to: &text)
      return .metrics(text)
    case ("GET", "/v1/cluster"):
      try checkOperator(request, .getCluster)
      return cluster.report.response
    case ("POST", "/v1/cluster/step-down"):
      try checkOperator(request, .stepDown)
      guard cluster.report.status.role == .leader else { throw RequestError(.conflict, "this node does not lead") }
      // There is no entry in the audit log: the log of the cluster stores nothing now.
      cluster.stepDown {}
      return cluster.report.response
    case ("POST", "/v1/cluster/snapshot"):
      try checkOperator(request, .publishSnapshot)
      let report = cluster.report
      let role = report.status.role
      guard [.follower, .leader].contains(role) else {
        throw RequestError(.conflict, "this node has no complete copy of the data: its role is \(role.rawValue)")
      }
      cluster.requestSnapshot()
      return report.response
    default: return nil
    }
  }

  private func checkOperator(_ request: HTTPRequest, _ operation: RelayRequests.Operation) throws(RequestError) {
    if access.isOpen { try request.checkLocal() } else { try checkKey(request, operation) }
  }

  private func checkKey(_ request: HTTPRequest, _ operation: RelayRequests.Operation) throws(RequestError) {
    guard let token = request.authorization.flatMap(bearerToken) else {
      throw RequestError(.unauthorized, "an API key is needed: Authorization: Bearer")
    }
    guard let key = access.apiKeys.key(token) else { throw RequestError(.unauthorized, "the API key is unknown") }
    try key.check(operation, Fields([:]), acting: nil)
  }

  private var ready: HTTPResponse {
    let report = cluster.report
    return .json(503) {
      if let alarm = report.status.alarm {
        $0["status"] = "alarm"
        $0["alarm"] = alarm.code
        $0["text"] = alarm.description
      } else {
        // A node that has won and does not serve yet is a standby for a proxy, too.
        $0["status"] = "standby"
        $0["leader"] = report.leaderURL
        $0["reason"] = report.health.obstacle?.code
        $0["text"] = report.health.obstacle?.description
      }
    }
  }
}

extension ClusterReport {
  /// The URL of another node that leads. Is `nil` if there is none, or if this node has won and does not serve yet.
  var leaderURL: String? { status.role == .leader ? nil : status.leader?.url }
}

extension HTTPResponse {
  static func metrics(_ text: MetricsText) -> HTTPResponse {
    HTTPResponse(
      status: 200, headers: [.contentType: MetricsText.contentType, .cacheControl: "no-store"],
      body: Array(text.text.utf8))
  }
}
