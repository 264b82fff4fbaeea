// SPDX-License-Identifier: Apache-2.0
import Foundation
import JWTKit

/// The algorithms that may sign tokens.
public enum TokenAlgorithm: String, Sendable, CaseIterable {
  case hs256 = "HS256"
  case es256 = "ES256"
  case rs256 = "RS256"
  case eddsa = "EdDSA"
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
    case .eddsa: await keys.add(eddsa: try EdDSA.PublicKey(pem: pem))
    }
    self.init(id: id, algorithm: algorithm, key: try await keys.getKey())
  }

  /// Makes the key of a JWK. Returns `nil` for a type that the relay does not use, and for a key of another algorithm
  /// (RFC 7517, section 5).
  init?(_ jwk: JWK) async throws {
    let algorithm: TokenAlgorithm
    switch (jwk.keyType, jwk.curve) {
    case (.ecdsa, .some(.ecdsa(.p256))): algorithm = .es256
    case (.rsa, _): algorithm = .rs256
    case (.octetKeyPair, .some(.eddsa(.ed25519))): algorithm = .eddsa
    default: return nil
    }
    if let claimed = jwk.algorithm, claimed.rawValue != algorithm.rawValue { return nil }
    let keys = JWTKeyCollection()
    var named = jwk
    named.keyIdentifier = jwk.keyIdentifier ?? "nameless"
    try await keys.add(jwk: named)
    let key = try await keys.getKey(for: named.keyIdentifier, alg: algorithm.rawValue)
    self.init(id: jwk.keyIdentifier?.string, algorithm: algorithm, key: key)
  }

  private init(id: String?, algorithm: TokenAlgorithm, key: any JWTAlgorithm) {
    self.id = id
    self.algorithm = algorithm
    self.key = key
  }
}
