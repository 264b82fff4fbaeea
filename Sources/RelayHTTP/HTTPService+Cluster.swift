// SPDX-License-Identifier: Apache-2.0
import RelayCore
import RelayHub
import RelayProtocol

/// The operator's requests to a leader. A standby answers them with ``StandbyService``.
extension HTTPService {
  static let clusterRoutes: [Route] = [
    .resource("GET", "/v1/cluster", errors: clusterErrors) { http, relay, request, _ in
      try await http.cluster(request, .getCluster, on: relay).report.response
    },
    .resource("POST", "/v1/cluster/step-down", errors: clusterErrors.union([.conflict])) { http, relay, request, _ in
      let cluster = try await http.cluster(request, .stepDown, on: relay)
      cluster.stepDown()
      return cluster.report.response
    },
    .resource("POST", "/v1/cluster/snapshot", errors: clusterErrors) { http, relay, request, _ in
      let cluster = try await http.cluster(request, .publishSnapshot, on: relay)
      cluster.requestSnapshot()
      return cluster.report.response
    },
  ]

  private static let clusterErrors = Route.Action.callerErrors.union([.forbidden, .notFound])

  /// Authenticates the operator. In open mode, the operator must be on this machine. Throws `not_found` at a relay
  /// without a cluster.
  private func cluster(
    _ request: HTTPRequest, _ operation: Operation, on relay: isolated Relay
  ) async throws -> any ClusterOperations {
    let caller = try await admit(request, to: operation, on: relay)
    if relay.settings.isOpen { try request.checkLocal() }
    guard let cluster else { throw RequestError(.notFound, "this relay is not part of a cluster") }
    // A leader that steps down writes nothing any more.
    await relay.audit.record(operation, by: caller, from: request.address, on: relay)
    return cluster
  }
}

extension HTTPRequest {
  /// Throws `forbidden` if the client is on another machine. In open mode nothing else identifies an operator.
  func checkLocal() throws(RequestError) {
    guard isLocal else {
      throw RequestError(.forbidden, "in open mode, only clients on the node's own machine may control the cluster")
    }
  }
}
