// SPDX-License-Identifier: Apache-2.0
import Crypto
import Foundation
import RelayDelivery
import RelayJSON
import RelayProtocol

/// The relay's key pair for push services of browsers, and the operator's contact address (VAPID, RFC 8292).
public struct VAPIDKey: Sendable {
  /// A `mailto:` or `https:` URI of the operator.
  public let subject: String
  private let key: P256.Signing.PrivateKey
  private let topicKey: SymmetricKey

  /// A key or a subject is invalid. `words` continue a sentence that begins with the name of the setting.
  public struct Fault: Error, Equatable {
    public let isOfSubject: Bool
    public let words: String
  }

  /// - Parameter pem: PKCS #8 or SEC 1.
  public init(pem: String, subject: String) throws(Fault) {
    guard Self.isReachable(subject) else {
      throw Fault(isOfSubject: true, words: "must be a mailto: or https: URI that push services can use, not localhost")
    }
    do {
      key = try P256.Signing.PrivateKey(pemRepresentation: pem)
    } catch {
      throw Fault(isOfSubject: false, words: "is not a P-256 private key in PEM format")
    }
    topicKey = HKDF<SHA256>.deriveKey(
      inputKeyMaterial: SymmetricKey(data: key.rawRepresentation), info: Data("topic".utf8), outputByteCount: 32)
    self.subject = subject
  }

  /// Returns a new private key in PKCS #8, PEM-encoded.
  public static func makePEM() -> String { P256.Signing.PrivateKey().pemRepresentation }

  /// The 65 bytes of the public key in base64url. Pages subscribe with it as `applicationServerKey`.
  public var publicKey: String { key.publicKey.x963Representation.base64URL }

  /// Returns a signed token for the push service of one origin (section 2).
  func token(audience: String, expires: Timestamp) throws -> String {
    let claims = JSONWriter.object {
      $0["aud"] = audience
      $0.integer("exp", expires.rawValue / 1000)
      $0["sub"] = subject
    }
    return try key.token(header: #"{"typ":"JWT","alg":"ES256"}"#, claims: String(decoding: claims, as: UTF8.self))
  }

  /// Returns 32 characters of base64url. Pushes that replace each other have the same topic (RFC 8030, section 5.4).
  /// The topic is an HMAC, because a service could guess rooms from a plain hash.
  func topic(of push: Push) -> String {
    let code = HMAC<SHA256>.authenticationCode(for: Data(push.headers.collapseID.utf8), using: topicKey)
    return Data(code.prefix(24)).base64URL
  }

  /// True if the subject is a usable contact. Push services, for example Apple's, refuse a subject such as localhost.
  private static func isReachable(_ subject: String) -> Bool {
    guard subject.utf8.count <= 1024, subject.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else { return false }
    let host: Substring
    if subject.hasPrefix("mailto:") {
      let parts = subject.dropFirst("mailto:".count).split(separator: "@", omittingEmptySubsequences: false)
      guard parts.count == 2, !parts[0].isEmpty else { return false }
      host = parts[1].prefix { $0 != "?" }
    } else if subject.hasPrefix("https://") {
      host = subject.dropFirst("https://".count).prefix { !"/?#:".contains($0) }
    } else {
      return false
    }
    let name = host.lowercased()
    return name.contains(".") && !name.hasPrefix("127.") && !name.hasSuffix(".localhost") && !name.contains("..")
      && !name.hasPrefix(".") && !name.hasSuffix(".") && !name.contains("@")
  }
}

extension VAPIDKey: Equatable {
  public static func == (a: Self, b: Self) -> Bool {
    a.subject == b.subject && a.key.rawRepresentation == b.key.rawRepresentation
  }
}
