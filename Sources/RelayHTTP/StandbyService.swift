// SPDX-License-Identifier: Apache-2.0
import HTTPTypes
import RelayCore
import RelayHub
package import RelayIdentity
import RelayJSON
import RelayProtocol

extension HTTPField.Name {
  /// The URL of the leader.
  static let stillwireLeader = HTTPField.Name("Stillwire-Leader")!
}

/// The HTTP side of a node that does not lead. It answers requests about the node itself, and sends clients to the
/// leader.
package struct StandbyService: Sendable {
  private let cluster: any ClusterOperations
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

  package init(_ cluster: any ClusterOperations, _ access: Access) {
    self.cluster = cluster
    self.access = access
  }

  package func response(to request: HTTPRequest) async -> HTTPResponse {
    do throws(RequestError) {
      return try await own(request) ?? redirect(request)
    } catch {
      return .problem(error)
    }
  }

  /// Answers a request about this node. Returns `nil` for all other requests.
  private func own(_ request: HTTPRequest) async throws(RequestError) -> HTTPResponse? {
    let method = request.method == "HEAD" ? "GET" : request.method
    switch (method, request.path) {
    case ("GET", "/live"): return .json(200) { $0["status"] = "live" }
    case ("GET", "/ready"): return ready
    case ("GET", "/metrics"):
      if !access.isMetricsOpen, !access.isOpen { try checkKey(request, .readMetrics) }
      var text = MetricsText()
      cluster.report.write(to: &text)
      await ProcessFacts.current().write(to: &text)
      return .metrics(text)
    case ("GET", "/v1/cluster"):
      try checkOperator(request, .getCluster)
      return cluster.report.response
    case ("POST", "/v1/cluster/step-down"):
      try checkOperator(request, .stepDown)
      throw RequestError(.conflict, "this node does not lead")
    case ("POST", "/v1/cluster/snapshot"):
      try checkOperator(request, .publishSnapshot)
      let report = cluster.report
      guard [.follower, .leader].contains(report.role) else {
        throw RequestError(.conflict, "this node has no complete copy of the data: its role is \(report.role.rawValue)")
      }
      cluster.requestSnapshot()
      return report.response
    // A browser does not follow the redirect of a preflight.
    case ("OPTIONS", _): return .options(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"])
    default: return nil
    }
  }

  private func checkOperator(_ request: HTTPRequest, _ operation: RelayCore.Operation) throws(RequestError) {
    if access.isOpen { try request.checkLocal() } else { try checkKey(request, operation) }
  }

  private func checkKey(_ request: HTTPRequest, _ operation: RelayCore.Operation) throws(RequestError) {
    guard let token = request.authorization.flatMap(bearerToken) else {
      throw RequestError(.unauthorized, "an API key is needed: Authorization: Bearer")
    }
    guard let key = access.apiKeys.key(token) else { throw RequestError(.unauthorized, "the API key is unknown") }
    try key.check(operation, Fields([:]), acting: nil)
  }

  private var ready: HTTPResponse {
    let report = cluster.report
    return .json(503) {
      guard let alarm = report.alarm else {
        $0["status"] = "standby"
        $0["leader"] = leader(report)
        $0["reason"] = report.obstacle?.code
        $0["text"] = report.obstacle?.text
        return
      }
      $0["status"] = "alarm"
      $0["alarm"] = alarm.code
      $0["text"] = alarm.text
    }
  }

  /// The URL of the leader. Is `nil` if there is none, or if this node has won and does not serve yet.
  private func leader(_ report: ClusterReport) -> String? { report.role == .leader ? nil : report.leader?.url }

  private func redirect(_ request: HTTPRequest) -> HTTPResponse {
    let leader = leader(cluster.report)
    guard let leader, request.path != "/v1/connect", request.path.hasPrefix("/") else {
      return .unavailable(leader: leader)
    }
    let query = request.query.isEmpty ? "" : "?\(request.query)"
    return HTTPResponse(
      status: 307,
      headers: [.location: leader + request.path + query, .stillwireLeader: leader, .cacheControl: "no-store"])
  }
}

extension HTTPResponse {
  /// Sends the client to the leader, or lets it try again.
  fileprivate static func unavailable(leader: String?) -> HTTPResponse {
    let text = leader == nil ? "the cluster has no leader now" : "this node does not lead: connect to the leader"
    return .problem(RequestError(.unavailable, text, retryAfter: .seconds(1)), leader: leader)
  }

  static func metrics(_ text: MetricsText) -> HTTPResponse {
    HTTPResponse(
      status: 200, headers: [.contentType: MetricsText.contentType, .cacheControl: "no-store"],
      body: Array(text.text.utf8))
  }
}
