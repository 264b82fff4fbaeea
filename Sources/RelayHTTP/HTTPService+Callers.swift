// SPDX-License-Identifier: Apache-2.0
import Logging
import RelayCommands
import RelayHub
import RelayIdentity
import RelayJSON
import RelayProtocol
package import RelayRequests
package import RelayState
package import RelayStore

/// Authentication of callers.
extension HTTPService {
  /// Returns the caller of a request: the owner of a report key, a user, or a backend.
  ///
  /// - Parameter admitsSuspendedKeys: True if the user of a report key may be suspended.
  /// - Throws: `unauthorized` without a valid token or API key, if tokens are required. `rate_limited` above the rate
  ///   of the API key. In open mode, `bad_request` for an invalid user name.
  package func caller(
    _ request: HTTPRequest, admitsSuspendedKeys: Bool = false, on core: isolated Core
  ) async throws -> Caller {
    if let reporter = try await Self.reporter(request, admitsSuspended: admitsSuspendedKeys, on: core) {
      return .reporter(reporter)
    }
    switch core.settings.authentication {
    case .open:
      guard let name = request.user else { return .backend(acting: nil) }
      guard let user = UserID(rawValue: name) else {
        throw RequestError(
          .badRequest, "X-Stillwire-User \(Fields.badName(UserID.self))", at: "/headers/x-stillwire-user")
      }
      return .backend(acting: user)
    case .tokens(let verifier):
      guard request.user == nil else {
        throw RequestError(.forbidden, "X-Stillwire-User is for open mode; send a token")
      }
      guard let token = request.authorization.flatMap(bearerToken) else {
        throw RequestError(.unauthorized, "a token or an API key is needed: Authorization: Bearer")
      }
      if token.hasPrefix(APIKeys.prefix) {
        guard let key = core.settings.apiKeys.key(token) else {
          throw RequestError(.unauthorized, "the API key is unknown")
        }
        core.diagnostics.log.debug("a backend calls", metadata: ["key": "\(key.name)"])
        try core.relay.backends.admit(key)
        return .backend(acting: nil, key: key)
      }
      let identity: Identity
      do {
        identity = try await verifier.verify(token)
      } catch {
        throw error.requestError
      }
      if let refusal = core.relay.restrictions.refusal(of: identity, on: core) { throw refusal.requestError }
      core.relay.people.noteToken(of: identity.id, on: core)
      return .user(identity)
    }
  }

  /// Returns the owner of the report key in a request. Returns `nil` if the request has another credential or none.
  /// Report keys are also valid in open mode. Throws `unauthorized` if the key is unknown or revoked, and `forbidden` if
  /// its user is suspended.
  /// - Parameter admitsSuspended: True if the user may be suspended.
  package static func reporter(
    _ request: HTTPRequest, admitsSuspended: Bool = false, on core: isolated Core
  ) async throws -> ReportKeyOwner? {
    guard let token = request.authorization.flatMap(bearerToken), token.hasPrefix(ReportKey.prefix) else { return nil }
    guard let key = ReportKey(token),
      let owner = try await core.store.read({ try $0.people.ownerOfReportKey(hash: key.hash) })
    else { throw RequestError(.unauthorized, "the report key is unknown or was revoked: register the device again") }
    guard request.user == nil else {
      throw RequestError(.badRequest, "the report key sets the user", at: "/headers/x-stillwire-user")
    }
    if !admitsSuspended, let refusal = core.relay.restrictions.suspension(of: owner.user, on: core) {
      throw refusal.requestError
    }
    return owner
  }

  /// True if the caller may read the metrics and the details of `/ready`. A request without this right does
  /// not count as outside of the scope.
  func mayReadOperations(_ request: HTTPRequest, on core: isolated Core) async -> Bool {
    if core.settings.isMetricsOpen { return true }
    guard let caller = try? await self.caller(request, on: core), case .backend(_, let key) = caller else {
      return false
    }
    return key.map { (try? $0.check(.readMetrics, Fields([:]), acting: nil)) != nil } ?? true
  }

  /// Throws unless the caller is a backend, or `metrics.open` is set.
  func checkMayReadOperations(_ request: HTTPRequest, on core: isolated Core) async throws {
    guard !core.settings.isMetricsOpen else { return }
    let caller = try await self.caller(request, on: core)
    guard case .backend = caller else { throw RequestError(.forbidden, "this needs an API key") }
    try core.relay.backends.check(.readMetrics, Fields([:]), by: caller)
  }
}
