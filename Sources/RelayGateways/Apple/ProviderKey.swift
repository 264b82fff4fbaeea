// SPDX-License-Identifier: Apache-2.0
import Crypto
import Foundation
import RelayProtocol

/// The private key with which a team authenticates to Apple's service.
///
/// Source: Apple's "Establishing a token-based connection to APNs".
public struct ProviderKey: Sendable {
  /// The key id that Apple assigned, 10 characters.
  public let id: String
  /// The team's id, 10 characters.
  public let team: String
  private let key: P256.Signing.PrivateKey

  /// A key is invalid. `words` continue a sentence that begins with the name of the key.
  public struct Fault: Error, Equatable {
    public let words: String
  }

  static let lengthOfNames = 10

  /// - Parameter pem: PKCS #8, the format of Apple's key files.
  public init(pem: String, id: String, team: String) throws(Fault) {
    guard Self.isName(id) else { throw Fault(words: "has an id that is not 10 letters and digits") }
    guard Self.isName(team) else { throw Fault(words: "has a team that is not 10 letters and digits") }
    do {
      key = try P256.Signing.PrivateKey(pemRepresentation: pem)
    } catch {
      throw Fault(words: "is not a P-256 private key in PEM format")
    }
    self.id = id
    self.team = team
  }

  func token(issued: Timestamp) throws -> String {
    try key.token(
      header: #"{"alg":"ES256","kid":"\#(id)"}"#,
      claims: #"{"iss":"\#(team)","iat":\#(issued.rawValue / 1000)}"#)
  }

  private static func isName(_ text: String) -> Bool {
    text.utf8.count == lengthOfNames
      && text.utf8.allSatisfy { byte in
        (48...57).contains(byte) || (65...90).contains(byte) || (97...122).contains(byte)
      }
  }
}

extension ProviderKey: Equatable {
  public static func == (a: Self, b: Self) -> Bool {
    a.id == b.id && a.team == b.team && a.key.rawRepresentation == b.key.rawRepresentation
  }
}
