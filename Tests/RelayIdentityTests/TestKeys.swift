// SPDX-License-Identifier: Apache-2.0
import Foundation
import JWTKit
import Logging
import RelayProtocol
import Synchronization

@testable import RelayIdentity

/// A pair of keys, and tokens of any shape that they sign.
struct TestKey {
  let algorithm: TokenAlgorithm
  let publicPEM: String
  private let signer: any JWTAlgorithm
  private let jwk: [String: String]

  static let secret = Array("a secret of thirty-two bytes or so".utf8)

  init(_ algorithm: TokenAlgorithm) async throws {
    self.algorithm = algorithm
    let keys = JWTKeyCollection()
    switch algorithm {
    case .hs256:
      publicPEM = ""
      jwk = [:]
      await keys.add(hmac: HMACKey(from: Data(Self.secret)), digestAlgorithm: .sha256)
    case .es256:
      let key = ES256PrivateKey()
      publicPEM = key.publicKey.pemRepresentation
      let parameters = key.publicKey.parameters
      jwk = [
        "kty": "EC", "crv": "P-256", "x": parameters?.x.base64URLText ?? "", "y": parameters?.y.base64URLText ?? "",
      ]
      await keys.add(ecdsa: key)
    case .rs256:
      let key = try Insecure.RSA.PrivateKey(pem: rsaPEM)
      publicPEM = key.publicKey.pemRepresentation
      // A key of 2,048 bits with the usual exponent has both values at fixed positions (RFC 8017, appendix A.1.1; RFC
      // 5280).
      let lines = publicPEM.split(separator: "\n").filter { !$0.hasPrefix("-") }
      let der = Data(base64Encoded: lines.joined()) ?? Data()
      jwk = ["kty": "RSA", "n": der[33..<289].base64URL, "e": der.suffix(3).base64URL]
      await keys.add(rsa: key, digestAlgorithm: .sha256)
    case .eddsa, .ed25519:
      let key = try EdDSA.PrivateKey()
      publicPEM = key.publicKey.pemRepresentation
      jwk = ["kty": "OKP", "crv": "Ed25519", "x": key.publicKey.rawRepresentation.base64URL]
      await keys.add(eddsa: key)
    }
    signer = try await keys.getKey()
  }

  /// The key for the verification of tokens.
  func verification(id: String? = nil) async throws -> VerificationKey {
    guard algorithm != .hs256 else { return await VerificationKey(secret: Self.secret, id: id) }
    return try await VerificationKey(algorithm, pem: publicPEM, id: id)
  }

  /// The key as a member of a JWK Set.
  func jwk(id: String? = nil, _ others: [String: String] = [:]) -> [String: String] {
    jwk.merging(id.map { ["kid": $0] } ?? [:]) { $1 }.merging(others) { $1 }
  }

  /// - Parameters:
  ///   - header: Members besides `alg`; the whole header when it has `alg`.
  ///   - claims: JSON.
  func token(_ claims: String, header: String = "") throws -> String {
    let whole = header.contains("\"alg\"") ? "{\(header)}" : "{\"alg\":\"\(algorithm.rawValue)\"\(header)}"
    let signed = Data(whole.utf8).base64URL + "." + Data(claims.utf8).base64URL
    return signed + "." + Data(try signer.sign(Data(signed.utf8))).base64URL
  }
}

extension String {
  /// JWTKit writes base64 where a JWK has base64url.
  fileprivate var base64URLText: String {
    replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
  }
}

/// The relay's time in these tests, in milliseconds since 1970.
let now = Timestamp(rawValue: 1_800_000_000_000)
/// Valid claims.
let goodClaims = #"{"sub":"alice","exp":1800000060}"#

/// The two clocks of a verifier, which stand still until a test moves them.
final class TestClocks: Sendable {
  private let start = ContinuousClock.now
  private let state = Mutex((time: now, elapsed: Duration.zero))

  var time: Timestamp { state.withLock { $0.time } }
  var instant: ContinuousClock.Instant { start + state.withLock { $0.elapsed } }

  func pass(_ duration: Duration) {
    state.withLock { ($0.time, $0.elapsed) = ($0.time + duration, $0.elapsed + duration) }
  }

  /// Sets the wall clock.
  func set(by step: Duration) { state.withLock { $0.time = $0.time + step } }
}

func verifier(_ keys: VerificationKey..., file: KeySetFile? = nil, policy: TokenPolicy = TokenPolicy()) -> TokenVerifier
{
  TokenVerifier(keys: keys, file: file, policy: policy, now: { now }, log: Logger(label: "test"))
}

/// Generated once for these tests, because the generation is slow.
private let rsaPEM = """
  -----BEGIN PRIVATE KEY-----
  MIIEuwIBADANBgkqhkiG9w0BAQEFAASCBKUwggShAgEAAoIBAQDiZBJ1zZnlTQRS
  Y+l8KtvxEHgRQ/6fsso5NeiIhmExgjq/5okjrVH5W4tLqSnHdgqV9d+eeuSqJZQ+
  3liwBeWo8y6kwIVe2vScU39u8MsDRs4dWjdBj4RvmgbVGaW/wOkFEDTfSuF0+Pok
  FVRtd8ftORbdTGPZnAh3VMAvH1PGK/4UahrhC3C2BrSJl0QNpUYiTIXeK+RN67WC
  O6VNRxLjbKGyrzMEzrzMEKnm32XbHXeqWNojUJjsrfqSbENLOgaOA1I/yRgNH466
  p74yWJH47i2fRJSXzrflcHcGFSHs7fiW9LOs3A8K/nYdaB5tFtfsGSNiGmkk4XnW
  sGxBu131AgMBAAECgf9woA8hQswWEChNHdUccH8fN0kWcmG5x9z3UBEn2kSkk4CC
  G/dm2pvbFi+2GM15NncNtcQJuBmcQqf9ejI3Fm7O+Zm6ylVGNqdVsDRZ6nDLi+3+
  Pof1lac6uXf11QNpdA8K9c4zR7Hh2taWZgYab2o9h4Shk0z0vk/BDeiOGxntjgVd
  dkS8RJpviSHBSCwNbwhy/HMx0scBPAOh+kaKs6UpiiCF+lDgIx9PPscOfnQ+muQy
  6lXZth6qRQYLK8kuzg+zUsAbAl16u8aLxKsbCci7V/j5uFMF/YebVeQ0b7htF1VZ
  FLmVf9bm7H3ApxrUqtkpNpPpFEY5lgwTsXP5LYcCgYEA/UCwi98YlhX90kNhIVW5
  uODoOy6q+5yfjtSk1o/Q/CDwwObnvTVIkMLXz9dLItjUymLFa82GMqmpoLjV/eE6
  ZFPdkEVMWH52frIyNvjbRioY+rh0UaU4w3QabK2YLNG8tGpxuErsh+nvcHqiKlK1
  DJ0WZ6xfvU9VdcT1podIIkMCgYEA5NjIy+swoTcWPpXIlqG9b1bj2S69H+KFZoze
  ozJhLm+y3IF7Zk/Vbnno/aLGfh1NJETy/Dr9t3z1Lt1cCK/h2lr4xdrPE9xIEMN0
  F6F0na3XFdTo7b9FKDkJhE5aXJ2CcM41lx7dTcCehxN63JbkO+6LzR8WVVzvQXrr
  h14nR2cCgYEArLSx8SEabjffGcYTdh01A4x1Mu73cZF1Cn2fUCdRmK+KH7MYNGMi
  8n29mSK0PbZrHv3Orl7BdslXQaDrZjBzlrnOrjVkBDFx86LoNa7uMmJBGLIzuP4Y
  wMnrv1N/JIl/y/WPSePmfCWfwTAQaRZwG4MBJYBa5go1OJQyBffZzGsCgYAP3fgO
  K4BzrR4duMTvrMc1sRCbPmJek5YsRhgpuJSEY7pDD7c+oMprnohJDcA1flKa8Szn
  0C9HSaK2XSLEd21xdl1JWqKA/gUBJIwoF0m+pQ8EtH5x/ZEN+OZwBf697S3eJG4S
  zFEL0w8qzm72XH/2p9OJpV4nDQqJv7wU5rJSgQKBgALvGCXOpJXl6kJ5jJ+beJtP
  Hv38i/U1HTajDfrOOZNc05N5wr1VPjtZcd8HyraBouzNX2cq0xPtO36V3MbMZqly
  vNvZZ9dywq8A+VEeQ+1xyMv0XxQMLwzLKgfwzcbVf5WKbj4u/Bg7FWgWURewEFd3
  YyBN6CbSZ7QcTHjhoybK
  -----END PRIVATE KEY-----
  """
