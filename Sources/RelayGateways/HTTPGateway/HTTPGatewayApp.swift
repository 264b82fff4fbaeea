// SPDX-License-Identifier: Apache-2.0
import Crypto
import Foundation

/// An app that receives pushes through a push gateway of Matrix's kind, with the URL and secret of the gateway.
public struct HTTPGatewayApp: Sendable, Equatable {
  /// The app name that devices register with.
  public var name: String
  /// The app's ids at the gateway. Never empty. The first applies to devices that register no topic.
  public var topics: [String]
  let destination: HTTPDestination
  /// The path with the query.
  let path: String
  /// The secret that signs requests. Is `nil` when they are not signed.
  let secret: [UInt8]?

  /// The URL of a gateway.
  public struct Endpoint: Sendable, Equatable {
    let destination: HTTPDestination
    let path: String

    /// Returns `nil` unless the text is an `http` or `https` URL with a host, and without a user or a fragment.
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

  public init(name: String, topics: [String], endpoint: Endpoint, secret: [UInt8]? = nil) {
    precondition(!topics.isEmpty, "an app must have a topic")
    self.name = name
    self.topics = topics
    destination = endpoint.destination
    path = endpoint.path
    self.secret = secret
  }

  /// Returns `sha256=` and the HMAC-SHA256 of the body as hexadecimal digits (RFC 2104), or `nil` without a secret.
  func signature(of body: [UInt8]) -> String? {
    guard let secret else { return nil }
    let code = HMAC<SHA256>.authenticationCode(for: body, using: SymmetricKey(data: secret))
    return "sha256=" + code.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
  }
}
