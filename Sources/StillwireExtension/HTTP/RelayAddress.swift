// SPDX-License-Identifier: Apache-2.0
import Foundation

/// The header in which a standby node of a cluster names the URL of its leader.
package let leaderHeader = "Stillwire-Leader"

/// The URL of a relay: `https://relay.example.org`, or `http://localhost:8080/below/a/path`.
public struct RelayAddress: Hashable, Sendable, CustomStringConvertible {
  public let host: String
  public let port: Int
  public let isSecure: Bool
  /// The path before `/v1`. It is empty, or begins with `/` and does not end with `/`.
  let path: String

  /// Parses a URL with the scheme `http`, `https`, `ws` or `wss`. Returns `nil` if it has no host, or if it has a user,
  /// a password, a query or a fragment.
  public init?(_ text: String) {
    guard let parts = URLComponents(string: text), let host = parts.host, !host.isEmpty, parts.user == nil,
      parts.password == nil, parts.query == nil, parts.fragment == nil
    else { return nil }
    switch parts.scheme?.lowercased() {
    case "http", "ws": isSecure = false
    case "https", "wss": isSecure = true
    default: return nil
    }
    let port = parts.port ?? (isSecure ? 443 : 80)
    guard (1...65_535).contains(port) else { return nil }
    self.port = port
    // A URL has brackets around an IPv6 address.
    self.host = (host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : host).lowercased()
    var path = Substring(parts.percentEncodedPath)
    while path.hasSuffix("/") { path.removeLast() }
    if path.hasSuffix(Self.connect) { path.removeLast(Self.connect.count) }
    self.path = String(path)
  }

  static let connect = "/v1/connect"

  /// The path in the request line of the handshake.
  package var socketPath: String { path + Self.connect }

  /// The value of the header `Host`.
  package var authority: String {
    let name = host.contains(":") ? "[\(host)]" : host
    return port == (isSecure ? 443 : 80) ? name : "\(name):\(port)"
  }

  public var description: String { "\(isSecure ? "https" : "http")://\(authority)\(path)" }

  /// The URL of a resource of the HTTP API.
  /// - Parameter path: A path that begins with `/v1` and needs no escapes.
  func url(_ path: String) -> URL {
    guard let url = URL(string: description + path) else {
      preconditionFailure("the parts of a parsed address form a URL")
    }
    return url
  }
}
