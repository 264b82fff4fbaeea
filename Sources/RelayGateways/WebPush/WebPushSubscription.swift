// SPDX-License-Identifier: Apache-2.0
import Foundation
import RelayJSON
import RelayProtocol

/// A browser's subscription: where its push service takes pushes for it, and with what they are encrypted.
public struct WebPushSubscription: Sendable {
  let destination: HTTPDestination
  /// With the query.
  let path: String
  let keys: SubscriptionKeys
  /// As it is stored: a JSON object like that of the browser. Lets others push to it, so it is never shown or logged.
  public let token: String

  public enum Member: String, Sendable { case endpoint, publicKey = "keys/p256dh", authentication = "keys/auth" }

  /// What is wrong with a subscription: which member, and words that follow its name.
  public struct Fault: Error, Equatable {
    public let member: Member
    public let words: String
  }

  public static let longestEndpoint = 2048

  /// - Parameters:
  ///   - publicKey: `p256dh` in base64url, with or without padding.
  ///   - authentication: `auth`, likewise.
  public init(
    endpoint: String, publicKey: String, authentication: String, services: PushServices
  ) throws(Fault) {
    do {
      (destination, path) = try Self.place(endpoint, services)
    } catch {
      throw Fault(member: .endpoint, words: error.words)
    }
    // One key stands for the other where that one is looked at alone.
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

  /// As it was stored; nil: it is none, or its service is not allowed any more.
  init?(token: String, services: PushServices) {
    guard let told = JSON(reading: Array(token.utf8)), let endpoint = told["endpoint"]?.text,
      let publicKey = told["keys"]?["p256dh"]?.text, let authentication = told["keys"]?["auth"]?.text,
      let subscription = try? Self(
        endpoint: endpoint, publicKey: publicKey, authentication: authentication, services: services)
    else { return nil }
    self = subscription
  }

  private struct Refusal: Error {
    let words: String
    init(_ words: String) { self.words = words }
  }

  /// Reads no more of RFC 3986 than push services use, so that nobody reads it otherwise.
  private static func place(
    _ endpoint: String, _ services: PushServices
  ) throws(Refusal) -> (HTTPDestination, path: String) {
    guard endpoint.utf8.count <= longestEndpoint else { throw Refusal("must be at most \(longestEndpoint) bytes long") }
    guard endpoint.utf8.allSatisfy({ (0x21...0x7E).contains($0) && !#""<>\^`{|}#"#.utf8.contains($0) }) else {
      throw Refusal("has a character that an endpoint has not")
    }
    guard endpoint.hasPrefix("https://") else { throw Refusal("must begin with https://") }
    let rest = endpoint.dropFirst("https://".count)
    let authority = rest.prefix { !"/?".contains($0) }
    guard !authority.contains("@") else { throw Refusal("must not name a user") }
    let parts = authority.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    let host = parts[0].lowercased()
    guard PushServices.isName(host.utf8) else { throw Refusal("must name a host, and not by its address") }
    guard services.allows(host) else { throw Refusal("is not of a push service that is allowed here") }
    let port = parts.count == 1 ? 443 : UInt16(parts[1]).map(Int.init)
    guard let port, services.allows(host, port: port) else { throw Refusal("must not be on another port than 443") }
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
