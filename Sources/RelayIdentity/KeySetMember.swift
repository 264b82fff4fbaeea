// SPDX-License-Identifier: Apache-2.0

/// A member of a JWK Set: a key, and the use that its issuer permits (RFC 7517, section 4).
struct KeySetMember: Decodable {
  let kty, crv, alg, use, kid: String?
  let keyOperations: [String]?
  /// The parameters of a public key, as base64url.
  let n, e, x, y: String?

  private enum CodingKeys: String, CodingKey {
    case kty, crv, alg, use, kid, n, e, x, y
    case keyOperations = "key_ops"
  }

  enum Purpose: Equatable {
    case verifies(TokenAlgorithm)
    /// The key verifies no tokens, because it has this member.
    case other(String)
  }

  /// The tokens that the key verifies. Checks no parameter of the key.
  var purpose: Purpose {
    let algorithm: TokenAlgorithm
    switch (kty, crv) {
    case ("EC", "P-256"): algorithm = .es256
    case ("RSA", _): algorithm = .rs256
    case ("OKP", "Ed25519"): algorithm = .eddsa
    case ("EC", _), ("OKP", _): return .other("crv \(crv ?? "none")")
    default: return .other("kty \(kty ?? "none")")
    }
    if let alg, !algorithm.verifies(alg) { return .other("alg \(alg)") }
    // A key for encryption must not verify tokens, because its private half may be in other hands.
    if let use, use != "sig" { return .other("use \(use)") }
    if let keyOperations, !keyOperations.contains("verify") { return .other("key_ops without verify") }
    return .verifies(algorithm)
  }
}
