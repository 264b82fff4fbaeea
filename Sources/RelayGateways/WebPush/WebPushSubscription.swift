// SPDX-License-Identifier: Apache-2.0
import Foundation
import RelayJSON
import RelayProtocol

/// A browser's subscription: the endpoint of its push service and the keys for encryption.
public struct WebPushSubscription: Sendable {
  let destination: HTTPDestination
  /// The path with the query.
  let path: String
  let keys: SubscriptionKeys
  /// The stored form: a JSON object like the browser's. Anybody who knows it can push to the browser, so the relay
  /// never shows or logs it.
  public let token: String

  public enum Member: String, Sendable { case endpoint, publicKey = "keys/p256dh", authentication = "keys/auth" }

  /// A subscription is invalid. `words` continue a sentence that begins with the name of the member.
  public struct Fault: Error, Equatable {
    public let member: Member
    public let words: String
  }

  public static let maxEndpointLength = 2048

  /// - Parameters:
  ///   - publicKey: `p256dh` in base64url, with or without padding.
  ///   - authentication: `auth` in base64url, with or without padding.
  public init(
    endpoint: String, publicKey: String, authentication: String, services: PushServices
  ) throws(Fault) {
    do {
      (destination, path) = try Self.parse(endpoint, services)
    } catch {
      throw Fault(member: .endpoint, words: error.words)
    }
    // The initializer checks both keys at once. Zeros replace the secret here, so that an error names the right member.
    guard let point = Self.bytes(publicKey), point.count == SubscriptionKeys.publicKeySize,
      SubscriptionKeys(
        publicKey: point, authentication: [UInt8](repeating: 0, count: SubscriptionKeys.authenticationSize)) != nil
    else {
      throw Fault(member: .publicKey, words: "must be a point of P-256: 65 bytes in base64url")
    }
    guard let secret = Self.bytes(authentication), let keys = SubscriptionKeys(publicKey: point, authentication: secret)
    else {
      throw Fault(member: .authentication, words: "must be 16 bytes in base64url")
    }
    self.keys = keys
    token = String(
      decoding: JSONWriter.object {
        $0["endpoint"] = endpoint
        $0.object("keys") {
          $0["p256dh"] = Data(point).base64URL
          $0["auth"] = Data(secret).base64URL
        }
      }, as: UTF8.self)
  }

  /// The hash of the endpoint, without the keys.
  var endpointHash: Int {
    var hasher = Hasher()
    hasher.combine(destination.origin)
    hasher.combine(path)
    return hasher.finalize()
  }

  /// Parses the stored form. Returns `nil` if it is not a subscription, or if its service is no longer allowed.
  init?(token: String, services: PushServices) {
    guard let json = JSON(reading: Array(token.utf8)), let endpoint = json["endpoint"]?.text,
      let publicKey = json["keys"]?["p256dh"]?.text, let authentication = json["keys"]?["auth"]?.text,
      let subscription = try? Self(
        endpoint: endpoint, publicKey: publicKey, authentication: authentication, services: services)
    else { return nil }
    self = subscription
  }

  private struct Refusal: Error {
    let words: String
    init(_ words: String) { self.words = words }
  }

  /// Parses an endpoint. Accepts only the subset of RFC 3986 that push services use, so that no other parser can
  /// interpret it differently.
  private static func parse(
    _ endpoint: String, _ services: PushServices
  ) throws(Refusal) -> (HTTPDestination, path: String) {
    guard endpoint.utf8.count <= maxEndpointLength else {
      throw Refusal("must be at most \(maxEndpointLength) bytes long")
    }
    guard endpoint.utf8.allSatisfy({ (0x21...0x7E).contains($0) && !#""<>\^`{|}#"#.utf8.contains($0) }) else {
      throw Refusal("has a character that is not allowed")
    }
    guard endpoint.hasPrefix("https://") else { throw Refusal("must begin with https://") }
    let rest = endpoint.dropFirst("https://".count)
    let authority = rest.prefix { !"/?".contains($0) }
    guard !authority.contains("@") else { throw Refusal("must not name a user") }
    let parts = authority.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    let host = parts[0].lowercased()
    guard PushServices.isName(host.utf8) else { throw Refusal("must name a host, not an IP address") }
    guard services.allows(host) else { throw Refusal("is not the endpoint of an allowed push service") }
    let port = parts.count == 1 ? 443 : UInt16(parts[1]).map(Int.init)
    guard let port, services.allows(host, port: port) else { throw Refusal("has a port that is not allowed") }
    let path = rest.dropFirst(authority.count)
    return (
      HTTPDestination(isSecure: true, host: host, port: port), path.hasPrefix("/") ? String(path) : "/\(path)"
    )
  }

  private static func bytes(_ text: String) -> [UInt8]? {
    guard text.utf8.count <= 128 else { return nil }
    let digits = text.utf8.reversed().drop { $0 == UInt8(ascii: "=") }.reversed()
    return [UInt8](base64URL: Array(digits))
  }
}
