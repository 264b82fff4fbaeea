// SPDX-License-Identifier: Apache-2.0
import Logging
import RelayHub
import RelayIdentity
import RelayJSON
import RelayProtocol
import RelayStore

/// Who makes an HTTP request.
enum Caller: Sendable {
  /// A backend, which may act for any user. `acting` is whom it names as itself.
  case backend(acting: UserID?)
  case user(Identity)
  /// An extension of an app on one device.
  case reporter(ReportKeyOwner)

  /// The only user whom the caller may act for. Is `nil` for a backend, which may act for any user.
  var owner: UserID? {
    switch self {
    case .backend: nil
    case .user(let identity): identity.id
    case .reporter(let reporter): reporter.user
    }
  }

  /// The `me` of paths.
  var me: UserID {
    get throws(RequestError) {
      switch self {
      case .user(let user): return user.id
      case .reporter(let reporter): return reporter.user
      case .backend(.some(let user)): return user
      case .backend(nil): throw RequestError(.badRequest, "me is nobody without X-Stillwire-User", at: "/path/user")
      }
    }
  }
}

extension Relay {
  func caller(_ request: HTTPRequest) async throws -> Caller {
    if let reporter = try await reporter(request) { return .reporter(reporter) }
    switch authentication {
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
        guard let name = apiKeys.name(of: token) else {
          throw RequestError(.unauthorized, "the API key is not known")
        }
        log.debug("a backend calls", metadata: ["key": "\(name)"])
        return .backend(acting: nil)
      }
      do {
        return .user(try await verifier.verify(token))
      } catch {
        throw error.requestError
      }
    }
  }

  /// True if the caller may read what `/metrics` shows.
  func mayReadOperations(_ request: HTTPRequest) async -> Bool {
    if isMetricsOpen { return true }
    if case .backend = try? await caller(request) { return true }
    return false
  }

  /// Throws unless a backend asks.
  func backendOnly(_ request: HTTPRequest) async throws {
    guard case .backend = try await caller(request) else { throw RequestError(.forbidden, "this needs an API key") }
  }
}
