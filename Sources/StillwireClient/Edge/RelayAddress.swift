// SPDX-License-Identifier: Apache-2.0
import Foundation

/// Where a relay is: `https://relay.example.org`, or `http://localhost:8080/below/a/path`.
public struct RelayAddress: Hashable, Sendable, CustomStringConvertible {
  public let host: String
  public let port: Int
  public let isSecure: Bool
  /// Before `/v1`; empty, or begins with `/` and ends without one.
  let path: String

  /// nil unless it is an address of `http`, `https`, `ws` or `wss` with a host, without a user, query or fragment.
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
    // Brackets are the URL's way to write an address of IPv6.
    self.host = host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : host
    var path = Substring(parts.percentEncodedPath)
    while path.hasSuffix("/") { path.removeLast() }
    if path.hasSuffix(Self.connect) { path.removeLast(Self.connect.count) }
    self.path = String(path)
  }

  static let connect = "/v1/connect"

  /// What a request line of the handshake has.
  var socketPath: String { path + Self.connect }

  /// `Host` of a request.
  var authority: String {
    let name = host.contains(":") ? "[\(host)]" : host
    return port == (isSecure ? 443 : 80) ? name : "\(name):\(port)"
  }

  public var description: String { "\(isSecure ? "https" : "http")://\(authority)\(path)" }

  /// A resource of the HTTP API.
  /// - Parameter path: Of names, which need no escape: it begins with `/v1`.
  func url(_ path: String) -> URL {
    guard let url = URL(string: description + path) else {
      preconditionFailure("an address that was taken apart can be put together")
    }
    return url
  }
}
