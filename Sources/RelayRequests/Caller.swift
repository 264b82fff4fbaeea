// SPDX-License-Identifier: Apache-2.0
package import RelayHub
package import RelayIdentity
package import RelayProtocol
package import RelayStore

/// The sender of a request.
package enum Caller: Sendable {
  case session(SessionCaller)
  /// A backend, which may act for any user, or for the users in the scope of its key. `acting` is the user that the
  /// header `X-Stillwire-User` names. `key` is `nil` in open mode.
  case backend(acting: UserID?, key: BackendKey? = nil)
  /// A user who authenticates an HTTP request with a token.
  case user(Identity)
  /// An extension of an app on one device.
  case reporter(ReportKeyOwner)

  /// The only user that the caller may act for. Is `nil` for a backend, which may act for any user.
  package var owner: UserID? {
    switch self {
    case .session(let session): session.name
    case .backend: nil
    case .user(let identity): identity.id
    case .reporter(let reporter): reporter.user
    }
  }

  /// The user that `me` in a path means.
  package var me: UserID {
    get throws(RequestError) {
      if let owner { return owner }
      guard case .backend(.some(let user), _) = self else {
        throw RequestError(.badRequest, "`me` requires the header X-Stillwire-User", at: "/path/user")
      }
      return user
    }
  }

  package var session: SessionHandle? { if case .session(let caller) = self { caller.session } else { nil } }

  /// The device of the session or of the report key.
  package var device: DeviceID? {
    switch self {
    case .session(let session): session.device
    case .reporter(let reporter): reporter.device
    case .backend, .user: nil
    }
  }

  /// Throws `forbidden` if a report key is used for another device than its own.
  package func check(_ device: DeviceID, at pointer: String = "/device") throws(RequestError) {
    if case .reporter(let reporter) = self, reporter.device != device {
      throw RequestError(.forbidden, "the report key belongs to the device \(reporter.device)", at: pointer)
    }
  }

  /// The user behind the caller. The request counts against the rates of this user, and the blocks of this user apply.
  /// Is `nil` for a backend.
  package func viewer(_ hub: Hub) throws(HubRefusal) -> UserHandle? {
    if case .session(let session) = self { return session.user }
    guard let owner else { return nil }
    guard let user = hub.user(owner) else { throw .gone }
    return user
  }
}

/// A session that has sent a frame, and its user.
package struct SessionCaller: Sendable {
  package let session: SessionHandle
  package let user: UserHandle
  package let name: UserID
  package let device: DeviceID?

  package init(session: SessionHandle, user: UserHandle, name: UserID, device: DeviceID?) {
    (self.session, self.user, self.name, self.device) = (session, user, name, device)
  }
}
