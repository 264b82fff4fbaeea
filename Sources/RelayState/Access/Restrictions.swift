// SPDX-License-Identifier: Apache-2.0
import RelayHub
package import RelayIdentity
package import RelayProtocol
import RelayRequests
import RelayStore

/// The users whom backends have restricted: suspensions, and revoked tokens.
///
/// The state is private. The relay creates one object, and the methods run on the hub's thread.
package final class Restrictions: Follower {
  /// All users with a restriction, also those who are not in memory, so that a check reads no store.
  private var users: [UserID: UserAccess] = [:]

  private let access: Access

  package init(_ access: Access) { self.access = access }

  /// Loads the restrictions at the start.
  package func load(on core: isolated Core) async throws {
    users = try await core.store.read { try $0.people.access() }
  }

  package func access(of user: UserID) -> UserAccess { users[user] ?? UserAccess() }

  package func follow(_ change: Change, on core: isolated Core) {
    if case .erasing(let user) = change { users[user] = nil }
  }

  /// Returns a refusal if a user is suspended, or if the user's token is revoked.
  package func refusal(of identity: Identity, on core: isolated Core) -> AccessRefusal? {
    // Open mode has no tokens.
    let revokes = !core.settings.isOpen && access(of: identity.id).revokes(tokenIssued: identity.issued)
    return suspension(of: identity.id, on: core) ?? (revokes ? .revoked : nil)
  }

  /// Returns a refusal if a user is suspended.
  package func suspension(of user: UserID, on core: isolated Core) -> AccessRefusal? {
    guard let suspension = access(of: user).suspension, suspension.isOn(at: core.hub.now) else { return nil }
    return .suspended(suspension)
  }

  /// Stores the restrictions of a user, and applies them to the user's sessions, pushes and calls. Two changes of one
  /// user apply in the order in which they are stored.
  /// - Returns: The number of closed sessions.
  package func set(_ access: UserAccess, of user: UserID, on core: isolated Core) async throws -> Int {
    let isSuspended = access.suspension?.isOn(at: core.hub.now) == true
    let handover = Handover<Result<Int, StoreError>>()
    core.submit {
      try $0.people.save(access, of: user)
      // If the relay stops before it has applied them, the next start decides the user's pushes again.
      if try $0.reader.people.user(user) != nil { try $0.people.noteChange(of: user) }
      return try isSuspended ? $0.calls.exclude(user) : []
    } then: { [self] result in
      handover.give(
        result.map { calls in
          core.publish(.exclusions(of: user, from: calls))
          return apply(access, to: user, on: core)
        })
    }
    return try await handover.value().get()
  }

  private func apply(_ access: UserAccess, to user: UserID, on core: isolated Core) -> Int {
    users[user] = access.isEmpty ? nil : access
    let closed = core.hub.user(user).map { closeSessions(of: $0, access, on: core) } ?? 0
    core.publish([.userAccess(of: user), .person(user)])
    return closed
  }

  private func closeSessions(of user: UserHandle, _ access: UserAccess, on core: isolated Core) -> Int {
    if let suspension = access.suspension, suspension.isOn(at: core.hub.now) {
      return core.hub.closeSessions(of: user, .suspended, suspension.text)
    }
    guard !core.settings.isOpen else { return 0 }
    let revoked = core.hub.sessions(of: user).filter {
      access.revokes(tokenIssued: self.access.issued(to: $0))
    }
    for session in revoked { core.hub.close(session, .tokenExpired, AccessRefusal.revoked.requestError.message) }
    return revoked.count
  }
}

/// The reason why the relay refuses a user with a valid token.
package enum AccessRefusal: Error, Equatable {
  case suspended(UserAccess.Suspension)
  case revoked

  package var requestError: RequestError {
    switch self {
    case .suspended(let suspension): RequestError(.forbidden, suspension.text)
    case .revoked: RequestError(.unauthorized, "the token was revoked")
    }
  }

  /// The code that closes a session whose `hello` had the token. After a revocation a client gets a new token, as after
  /// an expiry.
  package var close: CloseCode {
    switch self {
    case .suspended: .suspended
    case .revoked: .tokenExpired
    }
  }
}
