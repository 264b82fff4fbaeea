// SPDX-License-Identifier: Apache-2.0
import Crypto
import Foundation
import RelayProtocol
import Testing

@testable import RelayGateways

@Suite struct ProviderTokensTests {
  private let start = ContinuousClock.now
  private let wall = Timestamp(rawValue: 1_700_000_000_999)
  private let secret: P256.Signing.PrivateKey
  private var tokens: ProviderTokens

  init() throws {
    secret = P256.Signing.PrivateKey()
    tokens = ProviderTokens(key: try providerKey(secret))
  }

  /// - Parameter step: The seconds by which somebody has set the wall clock.
  private mutating func token(after minutes: Int, step: Int = 0) throws -> ProviderTokens.Token {
    let passed = Duration.seconds(60 * minutes)
    return try tokens.current(at: start + passed, wall: wall + passed + .seconds(step))
  }

  @Test mutating func `a token is renewed after 40 minutes`() throws {
    let first = try token(after: 0)
    #expect(try token(after: 39) == first)
    let second = try token(after: 40)
    #expect(second != first)
    #expect(try token(after: 79) == second)
  }

  @Test(arguments: [-61, 61, 40 * 86_400]) mutating func `a token ends when the wall clock was set`(step: Int) throws {
    let first = try token(after: 0, step: step)
    // A smaller step ends no token.
    #expect(try token(after: 1, step: step > 0 ? step - 60 : step + 60) == first)
    let second = try token(after: 1)
    #expect(second != first)
    #expect(second.issued == wall + .seconds(60))
    #expect(try token(after: 40) == second)
    // A refusal of the token with the wrong time keeps the newer one.
    #expect(tokens.expired(first, at: start + .seconds(41 * 60)) == true)
    #expect(try token(after: 40) == second)
  }

  @Test mutating func `an expired token is replaced when it is 20 minutes old`() throws {
    let first = try token(after: 0)
    #expect(tokens.expired(first, at: start + .seconds(19 * 60)) == false)
    #expect(try token(after: 19) == first)
    #expect(tokens.expired(first, at: start + .seconds(20 * 60)) == true)
    let second = try token(after: 20)
    #expect(second.made == start + .seconds(20 * 60))
  }

  @Test mutating func `a refusal of an older token keeps the newer one`() throws {
    let first = try token(after: 0)
    let second = try token(after: 41)
    #expect(tokens.expired(first, at: start + .seconds(42 * 60)) == true)
    #expect(try token(after: 42) == second)
  }

  @Test mutating func `a token that changed too often is kept for less than an hour`() throws {
    let first = try token(after: 0)
    tokens.changedTooOften(at: start + .seconds(30 * 60))
    #expect(try token(after: 49) == first)
    let second = try token(after: 50)
    #expect(second != first)
    tokens.changedTooOften(at: start + .seconds(89 * 60))
    #expect(try token(after: 50 + 57) == second)
    #expect(try token(after: 50 + 58) != second)
  }

  @Test(arguments: [-61, 61, 40 * 86_400])
  mutating func `a token that changed too often is kept for 20 minutes when the wall clock is set`(step: Int) throws {
    let first = try token(after: 0)
    let second = try token(after: 1, step: step)
    #expect(second != first)
    tokens.changedTooOften(at: start + .seconds(2 * 60))
    // The clock is set again.
    #expect(try token(after: 3) == second)
    #expect(try token(after: 21) == second)
    let third = try token(after: 22)
    #expect(third != second)
    #expect(third.issued == wall + .seconds(22 * 60))
    // The next step ends a token as before.
    #expect(try token(after: 23, step: step) != third)
  }

  @Test mutating func `a token has the form of RFC 7519 and Apple's claims`() throws {
    let parts = try token(after: 0).text.split(separator: ".").map { try #require(Data(base64URL: $0)) }
    try #require(parts.count == 3)
    let header = try #require(JSONSerialization.jsonObject(with: parts[0]) as? [String: String])
    #expect(header == ["alg": "ES256", "kid": "ABCDE12345"])
    let claims = try #require(JSONSerialization.jsonObject(with: parts[1]) as? [String: Any])
    #expect(claims["iss"] as? String == "TEAM123456")
    #expect(claims["iat"] as? Int == 1_700_000_000)
    #expect(claims.count == 2)
    #expect(parts[2].count == 64)
    #expect(try isGood(try token(after: 0).text, secret.publicKey))
  }

  /// RFC 7515, appendix A.3. Shows that the verification in these tests agrees with other implementations.
  @Test func `the signature in the example of RFC 7515 is valid for its text only`() throws {
    let x = try #require(Data(base64URL: "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU"))
    let y = try #require(Data(base64URL: "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"))
    let key = try P256.Signing.PublicKey(rawRepresentation: x + y)
    let signed =
      "eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ"
    let signature = "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q"
    #expect(try isGood(signed + "." + signature, key))
    #expect(try !isGood(signed + "x." + signature, key))
  }

  @Test(arguments: [("ABC", "TEAM123456"), ("ABCDE12345", "TEAM-23456"), ("", ""), ("ABCDE123456", "TEAM123456")])
  func `ids that are not 10 letters and digits are refused`(_ id: String, _ team: String) {
    #expect(throws: ProviderKey.Fault.self) {
      try ProviderKey(pem: P256.Signing.PrivateKey().pemRepresentation, id: id, team: team)
    }
  }

  @Test func `a key that is not of P-256 is refused`() {
    let others = [P384.Signing.PrivateKey().pemRepresentation, secret.publicKey.pemRepresentation, "", "no key"]
    for pem in others {
      #expect(throws: ProviderKey.Fault(words: "is not a P-256 private key in PEM format")) {
        try ProviderKey(pem: pem, id: "ABCDE12345", team: "TEAM123456")
      }
    }
  }
}

func providerKey(_ secret: P256.Signing.PrivateKey = .init(), id: String = "ABCDE12345") throws -> ProviderKey {
  try ProviderKey(pem: secret.pemRepresentation, id: id, team: "TEAM123456")
}

/// True if the last part of a token is a valid ES256 signature of the other parts.
func isGood(_ token: String, _ key: P256.Signing.PublicKey) throws -> Bool {
  let parts = token.split(separator: ".")
  let signature = try #require(Data(base64URL: parts[2]))
  return key.isValidSignature(
    try P256.Signing.ECDSASignature(rawRepresentation: signature), for: Data("\(parts[0]).\(parts[1])".utf8))
}

extension Data {
  init?(base64URL text: some StringProtocol) {
    guard let bytes = [UInt8](base64URL: text.utf8) else { return nil }
    self.init(bytes)
  }
}
