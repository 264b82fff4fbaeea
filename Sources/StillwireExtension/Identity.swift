// SPDX-License-Identifier: Apache-2.0
package import RelayJSON
public import RelayProtocol

/// The identity that an app presents to the relay.
public enum Identity: Equatable, Sendable {
  /// A JWT. The client requests one from the app at each attempt to connect, and never logs it.
  case token(String)
  /// The `reportKey` of this device's registration, for ``FocusReporter`` and ``RelayAPI/respond(to:with:text:key:)``
  /// in an extension, and to answer calls. It does not expire. The relay refuses it for a session and for other
  /// requests.
  case reportKey(String)
  /// Open mode, for development: the relay trusts this user name.
  case open(UserID, name: String? = nil, avatar: String? = nil)

  /// Adds the members for `hello`.
  package func write(to hello: inout [String: JSON]) {
    switch self {
    case .token(let token), .reportKey(let token): hello["token"] = .string(token)
    case .open(let user, let name, let avatar):
      hello["user"] = .string(user.rawValue)
      hello["name"] = name.map(JSON.string)
      hello["avatar"] = avatar.map(JSON.string)
    }
  }

  /// The header field of a request over HTTP.
  var field: (name: String, value: String) {
    switch self {
    case .token(let token), .reportKey(let token): ("Authorization", "Bearer \(token)")
    case .open(let user, _, _): ("X-Stillwire-User", user.rawValue)
    }
  }
}
