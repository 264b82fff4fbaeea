// SPDX-License-Identifier: Apache-2.0
import Foundation
import Logging
import RelayProtocol
import Testing

@testable import RelayIdentity

@Suite struct TokenVerifierTests {
  @Test(arguments: TokenAlgorithm.allCases)
  func `a token of each algorithm is accepted`(algorithm: TokenAlgorithm) async throws {
    let key = try await TestKey(algorithm)
    let identity = try await verifier(key.verification()).verify(key.token(goodClaims))
    #expect(identity.id == UserID(unchecked: "alice"))
    #expect(identity.expires == Timestamp(rawValue: 1_800_000_060_000))
    #expect(identity.permissions == Permissions(grants: nil, watch: [], claimed: nil))
  }

  @Test(arguments: [TokenAlgorithm.eddsa, .ed25519], ["EdDSA", "Ed25519"])
  func `both names of Ed25519 are accepted`(algorithm: TokenAlgorithm, name: String) async throws {
    let key = try await TestKey(algorithm)
    let identity = try await verifier(key.verification()).verify(key.token(goodClaims, header: #""alg":"\#(name)""#))
    #expect(identity.id == UserID(unchecked: "alice"))
    let other = try await TestKey(.es256)
    await #expect(throws: TokenFailure.invalid("the token is not valid")) {
      try await verifier(key.verification()).verify(other.token(goodClaims, header: #""alg":"\#(name)""#))
    }
  }

  @Test(arguments: ["ed25519", "EDDSA", "Ed448", "HS256", ""])
  func `other names are not those of Ed25519`(name: String) async throws {
    let key = try await TestKey(.eddsa)
    await #expect(throws: TokenFailure.self) {
      try await verifier(key.verification()).verify(key.token(goodClaims, header: #""alg":"\#(name)""#))
    }
  }

  @Test(arguments: TokenAlgorithm.allCases)
  func `a wrong signature is rejected`(algorithm: TokenAlgorithm) async throws {
    let key = try await TestKey(algorithm)
    var token = try key.token(goodClaims)
    token = String(token.dropLast(6)) + (token.hasSuffix("AAAAAA") ? "BBBBBB" : "AAAAAA")
    await #expect(throws: TokenFailure.invalid("the token is not valid")) {
      try await verifier(key.verification()).verify(token)
    }
  }

  @Test func `signed claims cannot be replaced`() async throws {
    let key = try await TestKey(.es256)
    let parts = try key.token(goodClaims).split(separator: ".")
    let other = Data(goodClaims.replacing("alice", with: "mallory").utf8).base64URL
    await #expect(throws: TokenFailure.invalid("the token is not valid")) {
      try await verifier(key.verification()).verify("\(parts[0]).\(other).\(parts[2])")
    }
  }

  @Test func `a token cannot select another algorithm than that of its key`() async throws {
    let es256 = try await TestKey(.es256)
    let verifier = verifier(try await es256.verification(id: "a"))
    // Signed with the text of the public key, which is not secret.
    let forged = await TokenSigner(secret: Array(es256.publicPEM.utf8), keyID: "a")
    let claims = TokenSigner.Claims(user: User(id: UserID(unchecked: "alice")), expires: now + .seconds(60))
    let confused = try await forged.sign(claims)
    await #expect(throws: TokenFailure.self) { try await verifier.verify(confused) }
    let header = Data(#"{"alg":"none"}"#.utf8).base64URL
    let unsigned = header + "." + Data(goodClaims.utf8).base64URL + "."
    await #expect(throws: TokenFailure.self) { try await verifier.verify(unsigned) }
  }

  @Test func `several keys are valid at the same time, each by its name`() async throws {
    let (old, new, nameless) = (try await TestKey(.es256), try await TestKey(.es256), try await TestKey(.es256))
    let verifier = verifier(
      try await old.verification(id: "old"), try await new.verification(id: "new"), try await nameless.verification())
    for (key, id) in [(old, "old"), (new, "new")] {
      _ = try await verifier.verify(key.token(goodClaims, header: #","kid":"\#(id)""#))
    }
    _ = try await verifier.verify(nameless.token(goodClaims, header: #","kid":"whatever""#))
    for key in [old, new, nameless] { _ = try await verifier.verify(key.token(goodClaims)) }
    let misnamed = try new.token(goodClaims, header: #","kid":"old""#)
    await #expect(throws: TokenFailure.invalid("the token is not valid")) { try await verifier.verify(misnamed) }
  }

  @Test func `a token that names no key is tried with sixteen keys`() async throws {
    let keys = try await withThrowingTaskGroup { tasks in
      for _ in 0..<17 { tasks.addTask { try await TestKey(.es256) } }
      return try await tasks.reduce(into: [TestKey]()) { $0.append($1) }
    }
    var known: [VerificationKey] = []
    for (index, key) in keys.enumerated() { known.append(try await key.verification(id: "\(index)")) }
    let verifier = TokenVerifier(keys: known, now: { now }, log: Logger(label: "test"))
    _ = try await verifier.verify(keys[15].token(goodClaims))
    await #expect(throws: TokenFailure.invalid("the token is not valid")) {
      try await verifier.verify(keys[16].token(goodClaims))
    }
    _ = try await verifier.verify(keys[16].token(goodClaims, header: #","kid":"16""#))
  }

  @Test(arguments: [
    "", ".", "..", "a.b", "a.b.c.d", "e30.e30.e30", "!!!.e30.", "e30=.e30.e30", String(repeating: "a", count: 9000),
  ])
  func `a text that is not a token is rejected`(text: String) async throws {
    let key = try await TestKey(.hs256)
    await #expect(throws: TokenFailure.self) { try await verifier(key.verification()).verify(text) }
  }

  @Test(arguments: [
    #","crit":["b64"],"b64":false"#, #","alg":"HS256""#, #","kid":7"#, #","kid":"a","kid":"b""#,
  ])
  func `an unsupported header is rejected`(header: String) async throws {
    let key = try await TestKey(.hs256)
    let token = try key.token(goodClaims, header: #""alg":"HS256""# + header)
    await #expect(throws: TokenFailure.self) { try await verifier(key.verification()).verify(token) }
  }

  @Test func `a non-canonical encoding of the same bytes is rejected`() async throws {
    let key = try await TestKey(.hs256)
    let token = try key.token(goodClaims)
    let last = try #require(token.last)
    // 32 bytes leave two unused bits in the last character.
    let letters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
    let next = letters[(try #require(letters.firstIndex(of: last)) + 1) % 64]
    await #expect(throws: TokenFailure.self) {
      try await verifier(key.verification()).verify(token.dropLast() + String(next))
    }
  }
}
