// SPDX-License-Identifier: Apache-2.0
import Crypto
import Foundation

/// An app whose devices are reached through a push gateway of Matrix's kind.
public struct HTTPGatewayApp: Sendable, Equatable {
  /// As its devices name it.
  public var name: String
  /// What the gateway knows it by; the first is that of devices that say none. Never empty.
  public var topics: [String]
  let destination: HTTPDestination
  /// With the query.
  let path: String
  /// Signs what is sent; nil: nothing does.
  let secret: [UInt8]?

  /// Where the gateway is reached.
  public struct Place: Sendable, Equatable {
    let destination: HTTPDestination
    let path: String

    /// nil: no `http` or `https` URL with a host, or one with a user or a fragment.
    public init?(_ text: String) {
      guard text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }), let parts = URLComponents(string: text),
        let scheme = parts.scheme?.lowercased(), ["http", "https"].contains(scheme),
        let host = parts.host?.lowercased(), !host.isEmpty, parts.user == nil, parts.password == nil,
        parts.fragment == nil, parts.port.map({ (1...65_535).contains($0) }) ?? true
      else { return nil }
      let isSecure = scheme == "https"
      let query = parts.percentEncodedQuery.map { "?\($0)" } ?? ""
      destination = HTTPDestination(
        isSecure: isSecure, host: host.trimmingCharacters(in: ["[", "]"]), port: parts.port ?? (isSecure ? 443 : 80))
      path = (parts.percentEncodedPath.isEmpty ? "/" : parts.percentEncodedPath) + query
    }
  }

  public init(name: String, topics: [String], place: Place, secret: [UInt8]? = nil) {
    precondition(!topics.isEmpty, "an app has a topic")
    self.name = name
    self.topics = topics
    destination = place.destination
    path = place.path
    self.secret = secret
  }

  /// `sha256=` and the digits of the HMAC of a body (RFC 2104).
  func signature(of body: [UInt8]) -> String? {
    guard let secret else { return nil }
    let code = HMAC<SHA256>.authenticationCode(for: body, using: SymmetricKey(data: secret))
    return "sha256=" + code.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
  }
}
