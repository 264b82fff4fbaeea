// SPDX-License-Identifier: Apache-2.0
import Crypto

/// An app that receives pushes through a Matrix gateway, with the URL and secret of the gateway.
public struct MatrixApp: Sendable, Equatable {
  /// The app name that devices register with.
  public var name: String
  /// The app's ids at the gateway. Never empty. The first applies to devices that register no topic.
  public var topics: [String]
  let destination: HTTPDestination
  /// The path with the query.
  let path: String
  /// The secret that signs requests. Is `nil` when they are not signed.
  let secret: [UInt8]?

  public init(name: String, topics: [String], endpoint: HTTPEndpoint, secret: [UInt8]? = nil) {
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
