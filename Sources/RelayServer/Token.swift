// SPDX-License-Identifier: Apache-2.0
import Foundation
import JWTKit
public import RelayProtocol

/// What a token says (RFC 7519).
struct TokenClaims: JWTPayload {
  var sub: String
  var exp: Double?
  var nbf: Double?
  var name: String?
  var avatar: String?

  /// The times are judged by ``TokenVerifier``, which tells an expired token from a wrong one.
  func verify(using _: some JWTAlgorithm) {}
}

/// Why a token is not accepted.
enum TokenFailure: Error, Equatable {
  case invalid(String)
  case expired

  var requestError: RequestError {
    switch self {
    case .expired: RequestError(.unauthorized, "the token has expired")
    case .invalid(let why): RequestError(.unauthorized, why)
    }
  }
}

/// Judges tokens by one shared secret (HS256).
public struct TokenVerifier: Sendable {
  private let keys = JWTKeyCollection()
  private let now: @Sendable () -> Timestamp

  /// - Parameter secret: Not empty; 32 bytes or more make guessing hopeless (RFC 7518, section 3.2).
  public init(secret: [UInt8], now: @escaping @Sendable () -> Timestamp) async {
    self.now = now
    await keys.add(hmac: HMACKey(from: Data(secret)), digestAlgorithm: .sha256)
  }

  func verify(_ token: String) async throws(TokenFailure) -> User {
    guard token.utf8.count <= Self.longest else { throw .invalid("the token is too long") }
    let claims: TokenClaims
    do {
      claims = try await keys.verify(token, as: TokenClaims.self)
    } catch {
      throw .invalid("the token is not valid")
    }
    guard let user = UserID(rawValue: claims.sub) else { throw .invalid("sub of the token is no user name") }
    guard let expires = claims.exp else { throw .invalid("the token has no exp") }
    guard claims.name?.utf8.count ?? 0 <= User.longestName, claims.avatar?.utf8.count ?? 0 <= User.longestAvatar else {
      throw .invalid("name or avatar of the token is too long")
    }
    let seconds = Double(now().rawValue) / 1000
    guard expires > seconds else { throw .expired }
    guard claims.nbf ?? 0 <= seconds else { throw .invalid("the token is not valid yet") }
    return User(id: user, name: claims.name, avatar: claims.avatar)
  }

  static let longest = 8192
}

/// Makes tokens, for development and for `stillwire token`.
public enum TokenSigner {
  public static func sign(_ user: User, secret: [UInt8], expires: Timestamp) async throws -> String {
    let keys = JWTKeyCollection()
    await keys.add(hmac: HMACKey(from: Data(secret)), digestAlgorithm: .sha256)
    return try await keys.sign(
      TokenClaims(
        sub: user.id.rawValue, exp: Double(expires.rawValue / 1000), nbf: nil, name: user.name, avatar: user.avatar))
  }
}

/// A file with a secret.
public struct SecretFile: Sendable {
  public let secret: [UInt8]

  /// A line feed at the end does not count. Throws ``StartupError``.
  public init(path: String) throws(StartupError) {
    guard let data = FileManager.default.contents(atPath: path) else {
      throw StartupError("the secret file \(path) cannot be read")
    }
    var bytes = [UInt8](data)
    while bytes.last == 0x0A || bytes.last == 0x0D { bytes.removeLast() }
    guard !bytes.isEmpty else { throw StartupError("the secret file \(path) is empty") }
    secret = bytes
  }
}

/// Why the server cannot start, in one line for an operator.
public struct StartupError: Error, CustomStringConvertible {
  public let description: String
  public init(_ description: String) { self.description = description }
}
