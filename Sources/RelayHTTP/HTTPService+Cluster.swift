// SPDX-License-Identifier: Apache-2.0
import Dispatch
import RelayCommands
import RelayFollowers
import RelayHub
import RelayProtocol
import RelayRequests
import RelayState
import RelayStore

/// The operator's requests to a leader. A standby answers them with ``StandbyService``.
extension HTTPService {
  static let clusterRoutes: [Route] = [
    .resource("GET", "/v1/cluster", errors: clusterErrors) { http, core, request, _ in
      try await http.operate(request, .getCluster, on: core).cluster.report.response
    },
    .resource("POST", "/v1/cluster/step-down", errors: clusterErrors.union([.conflict])) { http, core, request, _ in
      let (cluster, hasEntry) = try await http.operate(request, .stepDown, on: core)
      let isStored = DispatchSemaphore(value: 0)
      // The store keeps the order of writes, so this one follows the entry of the audit log.
      if hasEntry { core.store.submit({ _ in }) { _ in isStored.signal() } }
      cluster.stepDown { if hasEntry { _ = isStored.wait(timeout: .now() + maxEntryWait) } }
      return cluster.report.response
    },
    .resource("POST", "/v1/cluster/snapshot", errors: clusterErrors) { http, core, request, _ in
      let cluster = try await http.operate(request, .publishSnapshot, on: core).cluster
      cluster.requestSnapshot()
      return cluster.report.response
    },
  ]

  /// The maximum time between the answer to a `step-down` and the end of the leadership, in which the entry of the
  /// audit log is stored. A leader that steps down writes nothing any more.
  private static let maxEntryWait = DispatchTimeInterval.seconds(1)

  private static let clusterErrors = Route.Action.callerErrors.union([.forbidden, .notFound])

  /// Authenticates the operator. In open mode, the operator must be on this machine. Throws `not_found` at a relay
  /// without a cluster.
  /// - Returns: `hasEntry` is true if the request has an entry in the audit log.
  private func operate(
    _ request: HTTPRequest, _ operation: Operation, on core: isolated Core
  ) async throws -> (cluster: any ClusterOperations, hasEntry: Bool) {
    let caller = try await admit(request, to: operation, on: core)
    if core.settings.isOpen { try request.checkLocal() }
    guard let cluster else { throw RequestError(.notFound, "this relay is not part of a cluster") }
    return (cluster, await core.relay.audit.record(operation, by: caller, from: request.address, on: core))
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
