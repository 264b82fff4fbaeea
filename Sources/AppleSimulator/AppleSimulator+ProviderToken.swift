// SPDX-License-Identifier: Apache-2.0
// Keys and provider tokens: parsing and the verification of signatures, with swift-crypto.
public import Crypto
import Foundation
import RelayJSON
import RelayProtocol

extension AppleSimulator {
  /// A key that may sign provider tokens.
  public struct Key: Sendable, Codable {
    /// The key id: 10 letters and digits.
    public var id: String
    /// The team id: 10 letters and digits.
    public var team: String
    @PEM public var publicKey: P256.Signing.PublicKey
    /// The environment of the key. Is `nil` for both.
    public var environment: Environment?
    /// The bundle ids that the key may push to. Is `nil` for all of the team.
    public var topics: Set<String>?
    /// The id of a key whose tokens may be used on the same connection.
    public var related: String?

    public init(
      id: String, team: String, publicKey: P256.Signing.PublicKey, environment: Environment? = nil,
      topics: Set<String>? = nil, related: String? = nil
    ) {
      self.id = id
      self.team = team
      self.publicKey = publicKey
      self.environment = environment
      self.topics = topics
      self.related = related
    }
  }

  /// Apple's service to simulate.
  public enum Environment: String, Sendable, CaseIterable {
    case sandbox, production
  }

  /// A parsed provider token. Its signature is not verified yet.
  ///
  /// Sources: Apple's "Establishing a token-based connection to APNs", RFC 7515 and RFC 7518.
  struct ProviderToken: Equatable, Sendable {
    var keyID: String
    var team: String
    var issued: Timestamp
    /// The signature: R and S, 32 bytes each.
    var signature: [UInt8]
    /// The signed bytes.
    var signed: [UInt8]

    static let maxLength = 2048
    static let lifetime = Duration.seconds(60 * 60)

    /// Parses a JWT in the compact form. Returns `nil` if it does not have the form that Apple requires.
    init?(_ text: Substring) {
      guard text.utf8.count <= Self.maxLength else { return nil }
      let parts = text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
      guard parts.count == 3,
        let header = [UInt8](base64URL: parts[0]).flatMap({ JSON(reading: $0) }),
        let claims = [UInt8](base64URL: parts[1]).flatMap({ JSON(reading: $0) }),
        let signature = [UInt8](base64URL: parts[2]), signature.count == 64,
        header["alg"] == .string("ES256"), let keyID = header["kid"]?.text, Self.isID(keyID),
        let team = claims["iss"]?.text, Self.isID(team),
        case .number(let spelling)? = claims["iat"], let seconds = Int64(spelling),
        (0...maxInteger).contains(seconds)
      else { return nil }
      self.keyID = keyID
      self.team = team
      self.signature = signature
      issued = Timestamp(rawValue: seconds * 1000)
      signed = Array(parts[0]) + [UInt8(ascii: ".")] + Array(parts[1])
    }

    func isSigned(by key: P256.Signing.PublicKey) -> Bool {
      guard let signature = try? P256.Signing.ECDSASignature(rawRepresentation: signature) else { return false }
      return key.isValidSignature(signature, for: signed)
    }

    static func isID(_ text: String) -> Bool {
      text.utf8.count == 10
        && text.utf8.allSatisfy { byte in
          switch byte {
          case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
          default: false
          }
        }
    }
  }
}
