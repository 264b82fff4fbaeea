// SPDX-License-Identifier: Apache-2.0
import HTTPTypes
import RelayHub
import RelayJSON
import RelayProtocol

extension HTTPField.Name {
  /// The URL of the leader.
  static let stillwireLeader = HTTPField.Name("Stillwire-Leader")!
}

/// The HTTP side of a node that does not lead. It answers requests about the node itself, and sends clients to the
/// leader.
package struct StandbyService: Sendable {
  private let node: NodeService

  package init(_ node: NodeService) { self.node = node }

  package func response(to request: HTTPRequest) async -> HTTPResponse {
    let process = request.path == "/metrics" ? await ProcessFacts.current() : nil
    do throws(RequestError) {
      // A browser does not follow the redirect of a preflight.
      if request.method == "OPTIONS" {
        return .options(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"])
      }
      return try node.response(to: request, process) ?? redirect(request)
    } catch {
      return .problem(error)
    }
  }

  private func redirect(_ request: HTTPRequest) -> HTTPResponse {
    let leader = node.cluster.report.leaderURL
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
}
