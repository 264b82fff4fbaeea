// SPDX-License-Identifier: Apache-2.0
import Foundation
import JWTKit
public import RelayProtocol

/// Makes tokens, for tests and for `stillwire token`.
public struct TokenSigner: Sendable {
  private let keys: JWTKeyCollection
  private let header: JWTHeader

  /// Signs with a shared secret (HS256).
  public init(secret: [UInt8], keyID: String? = nil) async {
    keys = JWTKeyCollection()
    header = Self.header(.hs256, keyID)
    await keys.add(hmac: HMACKey(from: Data(secret)), digestAlgorithm: .sha256)
  }

  /// Signs with a private key as PEM. Throws ``StartupError``.
  public init(_ algorithm: TokenAlgorithm, pem: String, keyID: String? = nil) async throws(StartupError) {
    keys = JWTKeyCollection()
    header = Self.header(algorithm, keyID)
    do {
      switch algorithm {
      case .hs256: throw StartupError("HS256 needs a secret, not a key")
      case .es256: await keys.add(ecdsa: try ES256PrivateKey(pem: pem))
      case .rs256: await keys.add(rsa: try Insecure.RSA.PrivateKey(pem: pem), digestAlgorithm: .sha256)
      case .eddsa, .ed25519: await keys.add(eddsa: try EdDSA.PrivateKey(pem: pem))
      }
    } catch let error as StartupError {
      throw error
    } catch {
      throw StartupError("the key is no private key for \(algorithm.rawValue) as PEM")
    }
  }

  /// The claims of a token to sign. Their names on the wire are those of the protocol and of RFC 7519.
  public struct Claims: Sendable {
    public var user: User
    public var expires: Timestamp
    public var issued: Timestamp?
    public var audience: String?
    public var issuer: String?
    public var grants: [Grant]?
    public var watch: [Glob]?
    public var account: AccountRights?

    public init(user: User, expires: Timestamp) {
      self.user = user
      self.expires = expires
    }
  }

  public func sign(_ claims: Claims) async throws -> String {
    try await keys.sign(
      Payload(
        sub: claims.user.id.rawValue, exp: Double(claims.expires.rawValue / 1000),
        iat: claims.issued.map { Double($0.rawValue / 1000) }, name: claims.user.name,
        avatar: claims.user.avatar, handle: claims.user.handle, handleType: claims.user.handleType,
        aud: claims.audience, iss: claims.issuer,
        rooms: claims.grants?.map { Payload.Room(match: $0.match.description, can: $0.can.names) },
        watch: claims.watch?.map(\.description), account: claims.account?.names),
      header: header)
  }

  private static func header(_ algorithm: TokenAlgorithm, _ keyID: String?) -> JWTHeader {
    // The library knows EdDSA only by its older name.
    var header: JWTHeader = ["alg": .string(algorithm.rawValue)]
    if let keyID { header.kid = keyID }
    return header
  }

  private struct Payload: JWTPayload {
    let sub: String
    let exp: Double
    let iat: Double?
    let name: String?
    let avatar: String?
    let handle: String?
    let handleType: String?
    let aud: String?
    let iss: String?
    let rooms: [Room]?
    let watch: [String]?
    let account: [String]?

    struct Room: Codable, Sendable {
      let match: String
      let can: [String]
    }

    func verify(using _: some JWTAlgorithm) {}
  }
}
