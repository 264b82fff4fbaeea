// SPDX-License-Identifier: Apache-2.0
import RelayHub
import RelayProtocol
import RelayStore

/// Who a session is.
extension Relay {
  /// A `hello` that is refused, and the close that follows.
  private struct Refusal: Error {
    let error: RequestError
    let close: CloseCode
  }

  func hello(_ request: HubRequest) async {
    do {
      try await welcome(request)
    } catch {
      hub.push(Replies.error(request.id, error.error), to: request.session)
      hub.close(request.session, error.close, error.error.message)
    }
  }

  private func welcome(_ request: HubRequest) async throws(Refusal) {
    let details: HelloDetails
    do {
      details = try HelloDetails(request.fields)
    } catch {
      throw Refusal(error: error, close: .badRequest)
    }
    let told = try await identify(request)
    let handle: UserHandle
    do {
      handle = try await retain(told.id)
    } catch {
      throw Refusal(error: requestError(error), close: .serverError)
    }
    defer { hub.release(handle) }
    var user = hub.profile(of: handle) ?? told
    do {
      try hub.open(request.session, of: handle, device: details.device, acks: details.acks, activity: details.activity)
    } catch .tooMany {
      let error = RequestError(.tooLarge, "one past the limit `sessionsPerUser`")
      throw Refusal(error: error, close: .tooManySessions)
    } catch {
      return  // the client has left
    }
    if told.name != nil || told.avatar != nil {
      user.name = told.name ?? user.name
      user.avatar = told.avatar ?? user.avatar
      hub.setProfile(user, of: handle, cause: request.session)
      // Who is known to the store is shown there under the new name as well; others are when they join.
      store.submit({ [user] in try $0.rename(user) }) { _ in }
    }
    hub.finish(
      request.session, with: Replies.welcome(user, request.session, request, limits: limits, now: hub.now))
  }

  private func identify(_ request: HubRequest) async throws(Refusal) -> User {
    let fields = request.fields
    switch authentication {
    case .open:
      guard !fields.has("token") else {
        let error = RequestError(
          .unsupported, "token is not used in open mode: say who you are with user", at: "/token")
        throw Refusal(error: error, close: .badRequest)
      }
      do {
        return try fields.openUser
      } catch {
        throw Refusal(error: error, close: .badRequest)
      }
    case .tokens(let verifier):
      for key in ["user", "name", "avatar"] where fields.has(key) {
        throw Refusal(error: RequestError(.forbidden, "\(key) comes from the token", at: "/\(key)"), close: .forbidden)
      }
      return try await verify(request, verifier)
    }
  }

  private func verify(_ request: HubRequest, _ verifier: TokenVerifier) async throws(Refusal) -> User {
    let told: String?
    do {
      told = try request.fields.string("token", longest: TokenVerifier.longest)
    } catch {
      throw Refusal(error: error, close: .badRequest)
    }
    guard let token = told ?? hub.authorization(of: request.session).flatMap(bearerToken) else {
      throw Refusal(error: RequestError(.unauthorized, "a token is needed"), close: .unauthorized)
    }
    do {
      return try await verifier.verify(token)
    } catch {
      throw Refusal(error: error.requestError, close: error == .expired ? .tokenExpired : .unauthorized)
    }
  }
}

/// What stands behind `Bearer` (RFC 6750).
func bearerToken(_ header: String) -> String? {
  let parts = header.split(separator: " ", maxSplits: 1)
  guard parts.count == 2, parts[0].lowercased() == "bearer" else { return nil }
  return String(parts[1].drop { $0 == " " })
}
