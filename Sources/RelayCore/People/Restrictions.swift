// SPDX-License-Identifier: Apache-2.0
import RelayDelivery
import RelayHub
package import RelayIdentity
package import RelayProtocol
import RelayStore

/// The users whom backends have restricted: suspensions, and revoked tokens.
///
/// The state is private. The relay creates one object, and the methods run on the hub's thread.
package final class Restrictions: Follower {
  /// All users with a restriction, also those who are not in memory, so that a check reads no store.
  private var users: [UserID: UserAccess] = [:]

  /// Loads the restrictions at the start.
  func load(on relay: isolated Relay) async throws { users = try await relay.store.read { try $0.people.access() } }

  package func access(of user: UserID) -> UserAccess { users[user] ?? UserAccess() }

  func follow(_ change: Change, on relay: isolated Relay) {
    if case .erasing(let user) = change { users[user] = nil }
  }

  /// Returns a refusal if a user is suspended, or if the user's token is revoked.
  package func refusal(of identity: Identity, on relay: isolated Relay) -> AccessRefusal? {
    // Open mode has no tokens.
    let revokes = !relay.settings.isOpen && access(of: identity.id).revokes(tokenIssued: identity.issued)
    return suspension(of: identity.id, on: relay) ?? (revokes ? .revoked : nil)
  }

  /// Returns a refusal if a user is suspended.
  package func suspension(of user: UserID, on relay: isolated Relay) -> AccessRefusal? {
    guard let suspension = access(of: user).suspension, suspension.isOn(at: relay.hub.now) else { return nil }
    return .suspended(suspension)
  }

  /// Stores the restrictions of a user, and applies them to the user's sessions, pushes and calls. Two changes of one
  /// user apply in the order in which they are stored.
  /// - Returns: The number of closed sessions.
  func set(_ access: UserAccess, of user: UserID, on relay: isolated Relay) async throws -> Int {
    let isSuspended = access.suspension?.isOn(at: relay.hub.now) == true
    let handover = Handover<Result<Int, StoreError>>()
    relay.store.submit({
      try $0.people.save(access, of: user)
      // If the relay stops before it has applied them, the next start decides the user's pushes again.
      if try $0.reader.people.user(user) != nil { try $0.people.noteChange(of: user) }
      return try isSuspended ? $0.calls.exclude(user) : []
    }) { [relay] result in
      relay.assumeIsolated { relay in
        handover.give(
          result.map { calls in
            relay.follow(.exclusions(of: user, from: calls))
            return relay.restrictions.apply(access, to: user, on: relay)
          })
      }
    }
    return try await handover.value().get()
  }

  private func apply(_ access: UserAccess, to user: UserID, on relay: isolated Relay) -> Int {
    users[user] = access.isEmpty ? nil : access
    relay.people.noteChange(of: user)
    guard let handle = relay.hub.user(user) else {
      relay.follow(.person(user))
      return 0
    }
    let closed = closeSessions(of: handle, access, on: relay)
    var recipient = relay.people.recipient(handle)
    recipient.suspension = access.suspension
    relay.people.show(recipient, of: handle, on: relay)
    relay.follow(.person(user))
    return closed
  }

  private func closeSessions(of user: UserHandle, _ access: UserAccess, on relay: isolated Relay) -> Int {
    if let suspension = access.suspension, suspension.isOn(at: relay.hub.now) {
      return relay.hub.closeSessions(of: user, .suspended, suspension.text)
    }
    guard !relay.settings.isOpen else { return 0 }
    let revoked = relay.hub.sessions(of: user).filter {
      access.revokes(tokenIssued: relay.access.issued(to: $0))
    }
    for session in revoked { relay.hub.close(session, .tokenExpired, AccessRefusal.revoked.requestError.message) }
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
