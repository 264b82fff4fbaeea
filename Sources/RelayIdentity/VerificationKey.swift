// SPDX-License-Identifier: Apache-2.0
import Foundation
import JWTKit

/// The algorithms that may sign tokens.
public enum TokenAlgorithm: String, Sendable, CaseIterable {
  case hs256 = "HS256"
  case es256 = "ES256"
  case rs256 = "RS256"
  case eddsa = "EdDSA"
  /// The name that RFC 9864 gives to ``eddsa`` on its usual curve.
  case ed25519 = "Ed25519"

  /// True if a key for this algorithm verifies a token whose header has this `alg`.
  func verifies(_ name: String) -> Bool {
    self == .eddsa || self == .ed25519 ? name == Self.eddsa.rawValue || name == Self.ed25519.rawValue : name == rawValue
  }
}

/// A key together with its algorithm. The header of a token cannot select another algorithm for the key.
struct VerificationKey: Sendable {
  let id: String?
  let algorithm: TokenAlgorithm
  private let key: any JWTAlgorithm

  func verifies(_ token: CompactToken) -> Bool {
    (try? key.verify(token.signature, signs: token.signed)) ?? false
  }

  /// Makes the key of a shared secret. A secret of 32 bytes or more cannot be guessed (RFC 7518, section 3.2).
  init(secret: [UInt8], id: String? = nil) async {
    let keys = JWTKeyCollection()
    await keys.add(hmac: HMACKey(from: Data(secret)), digestAlgorithm: .sha256)
    guard let key = try? await keys.getKey() else { preconditionFailure("the key that was added is missing") }
    self.init(id: id, algorithm: .hs256, key: key)
  }

  /// Makes the key of a public key as PEM. Throws the error of the library.
  init(_ algorithm: TokenAlgorithm, pem: String, id: String?) async throws {
    let keys = JWTKeyCollection()
    switch algorithm {
    case .hs256: preconditionFailure("a shared secret is no PEM")
    case .es256: await keys.add(ecdsa: try ES256PublicKey(pem: pem))
    case .rs256: await keys.add(rsa: try Insecure.RSA.PublicKey(pem: pem), digestAlgorithm: .sha256)
    case .eddsa, .ed25519: await keys.add(eddsa: try EdDSA.PublicKey(pem: pem))
    }
    self.init(id: id, algorithm: algorithm, key: try await keys.getKey())
  }

  /// Makes the key of a member of a JWK Set, which is for this algorithm. Throws the error of the library.
  init(_ member: KeySetMember, _ algorithm: TokenAlgorithm) async throws {
    let id = JWKIdentifier(string: member.kid ?? "nameless")
    let jwk: JWK
    switch algorithm {
    case .hs256: preconditionFailure("a shared secret is no member of a set")
    case .es256: jwk = .ecdsa(.es256, identifier: id, x: member.x, y: member.y, curve: .p256)
    case .rs256: jwk = .rsa(.rs256, identifier: id, modulus: member.n, exponent: member.e)
    case .eddsa, .ed25519: jwk = .octetKeyPair(.eddsa, identifier: id, x: member.x, y: nil, curve: .ed25519)
    }
    let keys = JWTKeyCollection()
    try await keys.add(jwk: jwk)
    self.init(id: member.kid, algorithm: algorithm, key: try await keys.getKey(for: id))
  }

  private init(id: String?, algorithm: TokenAlgorithm, key: any JWTAlgorithm) {
    self.id = id
    self.algorithm = algorithm
    self.key = key
  }
}
