// SPDX-License-Identifier: Apache-2.0
import RelayHub
import RelayIdentity
import RelayJSON
import RelayProtocol
import RelayStore

/// Who a session is.
extension Relay {
  /// A `hello` that is refused, and the close that follows.
  private struct Refusal: Error {
    let error: RequestError
    let close: CloseCode
  }

  /// Returns the error of a refusal, or `nil` for a welcome.
  func hello(_ request: HubRequest) async -> RequestError? {
    do {
      try await welcome(request)
      return nil
    } catch {
      hub.push(refusal(request.id, error.error), to: request.session)
      hub.close(request.session, error.close, error.error.message)
      return error.error
    }
  }

  private func welcome(_ request: HubRequest) async throws(Refusal) {
    let details: HelloDetails
    do {
      details = try HelloDetails(request.fields)
    } catch {
      throw Refusal(error: error, close: .badRequest)
    }
    let identity = try await identify(request)
    let told = identity.user
    let handle: UserHandle
    do {
      handle = try await retain(told.id)
    } catch {
      throw Refusal(error: requestError(error), close: .serverError)
    }
    defer { hub.release(handle) }
    let withdrawn: Set<RoomID>
    do {
      withdrawn = try await withdrawnRooms(identity.permissions, of: handle)
    } catch {
      throw Refusal(error: requestError(error), close: .serverError)
    }
    var user = hub.profile(of: handle) ?? told
    do {
      try hub.open(request.session, of: handle, device: details.device, acks: details.acks, activity: details.activity)
    } catch .tooMany {
      let error = RequestError(.tooLarge, "one past the limit `sessionsPerUser`")
      throw Refusal(error: error, close: .tooManySessions)
    } catch {
      return  // the client has left
    }
    admit(request.session, as: identity)
    note(identity.permissions, withdrawing: withdrawn, of: handle)
    // The time survives a crash, so that a user who was online is not shown as last seen before this session.
    saveLastSeen(hub.now, of: user.id)
    user = show(told, of: handle, cause: request.session) ?? user
    hub.finish(
      request.session,
      with: Replies.welcome(
        user, request.session, request, expires: identity.expires, limits: limits, now: hub.now))
    tellResponses(to: request.session, of: told.id)
  }

  /// What is told of a user shows; nil when nothing is.
  private func show(_ told: User, of handle: UserHandle, cause: SessionHandle) -> User? {
    guard told != User(id: told.id) else { return nil }
    var user = hub.profile(of: handle) ?? told
    user.name = told.name ?? user.name
    user.avatar = told.avatar ?? user.avatar
    // Phones alone are told of these.
    (user.handle, user.handleType) = (told.handle, told.handleType)
    user.avatarSHA256 = told.avatar == nil ? nil : told.avatarSHA256
    hub.setProfile(user, of: handle, cause: cause)
    // Who is known to the store is shown there under the new name as well; others are when they join.
    saveProfile(user)
    return user
  }

  /// A newer token for the same user: what it allows counts from now on.
  func refresh(_ request: HubRequest, _ user: UserHandle) async throws {
    guard case .tokens(let verifier) = authentication else {
      throw RequestError(.unsupported, "there are no tokens in open mode", at: "/token")
    }
    let fields = request.fields
    let token = try fields.required("token", fields.string("token", longest: .max))
    let identity: Identity
    do {
      identity = try await verifier.verify(token)
    } catch {
      throw error.requestError
    }
    guard identity.id == hub.name(of: user) else {
      throw RequestError(.forbidden, "the token is another user's", at: "/token")
    }
    let withdrawn = try await withdrawnRooms(identity.permissions, of: user)
    admit(request.session, as: identity)
    note(identity.permissions, withdrawing: withdrawn, of: user)
    withdraw(from: request.session, identity.permissions, user)
    _ = show(identity.user, of: user, cause: request.session)
    finish(request) { $0.integer("expires", identity.expires?.rawValue) }
  }

  private func identify(_ request: HubRequest) async throws(Refusal) -> Identity {
    let fields = request.fields
    switch authentication {
    case .open:
      guard !fields.has("token") || fields.isNull("token") else {
        let error = RequestError(
          .unsupported, "token is not used in open mode: say who you are with user", at: "/token")
        throw Refusal(error: error, close: .badRequest)
      }
      do {
        return Identity(user: try fields.openUser)
      } catch {
        throw Refusal(error: error, close: .badRequest)
      }
    case .tokens(let verifier):
      for key in ["user", "name", "avatar"] where fields.has(key) && !fields.isNull(key) {
        throw Refusal(error: RequestError(.forbidden, "\(key) comes from the token", at: "/\(key)"), close: .forbidden)
      }
      return try await verify(request, verifier)
    }
  }

  private func verify(_ request: HubRequest, _ verifier: TokenVerifier) async throws(Refusal) -> Identity {
    let told: String?
    do {
      told = try request.fields.string("token", longest: .max)
    } catch {
      throw Refusal(error: error, close: .badRequest)
    }
    guard let token = told ?? hub.authorization(of: request.session).flatMap(bearerToken) else {
      throw Refusal(error: RequestError(.unauthorized, "a token is needed"), close: .unauthorized)
    }
    do {
      return try await verifier.verify(token)
    } catch {
      throw Refusal(error: error.requestError, close: error.close)
    }
  }
}

/// What stands behind `Bearer` (RFC 6750).
func bearerToken(_ header: String) -> String? {
  let parts = header.split(separator: " ", maxSplits: 1)
  guard parts.count == 2, parts[0].lowercased() == "bearer" else { return nil }
  return String(parts[1].drop { $0 == " " })
}
