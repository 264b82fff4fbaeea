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

  /// Throws `badToken` if the token does not have the three parts of a JWT (RFC 7515, section 7.1). A backend that fails
  /// may answer with the error page of a proxy. The relay would refuse it for good, so it never leaves the client.
  package func check() throws(StillwireError) {
    guard case .token(let token) = self else { return }
    let parts = token.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    guard parts.count == 3, parts.allSatisfy({ !$0.isEmpty && $0.allSatisfy(Self.isBase64URL) }) else {
      throw StillwireError(
        .badToken, "the identity is not a token: it has no three parts, separated by dots", isTemporary: true)
    }
  }

  private static func isBase64URL(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
      true
    default: false
    }
  }

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
