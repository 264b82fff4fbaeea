// SPDX-License-Identifier: Apache-2.0
import Crypto
import Foundation
import RelayProtocol
import Testing

@testable import RelayGateways

@Suite struct VAPIDTests {
  private let start = ContinuousClock.now
  private let wall = Timestamp(rawValue: 1_700_000_000_999)
  private let secret = P256.Signing.PrivateKey()
  private let key: VAPIDKey
  private var tokens: VAPIDTokens

  init() throws {
    key = try VAPIDKey(pem: secret.pemRepresentation, subject: "mailto:push@example.com")
    tokens = VAPIDTokens(key: key)
  }

  /// - Parameter step: The seconds by which somebody has set the wall clock.
  private mutating func authorization(
    _ origin: String = "https://push.example.net", after minutes: Int = 0, step: Int = 0
  ) throws -> String {
    let passed = Duration.seconds(60 * minutes)
    return try tokens.authorization(for: origin, at: start + passed, wall: wall + passed + .seconds(step))
  }

  /// RFC 8292, section 2.4.
  @Test func `the token equals the RFC's example, except for its signature`() throws {
    let token =
      "eyJ0eXAiOiJKV1QiLCJhbGciOiJFUzI1NiJ9.eyJhdWQiOiJodHRwczovL3B1c2guZXhhbXBsZS5uZXQiLCJleHAiOjE0NTM1MjM3NjgsInN1YiI6Im1haWx0bzpwdXNoQGV4YW1wbGUuY29tIn0.i3CYb7t4xfxCDquptFOepC9GAu_HLGkMlMuCGSK2rpiUfnK9ojFwDXb1JrErtmysazNjjvW2L9OkSSHzvoD1oA"
    let point = try #require(
      Data(base64URL: "BA1Hxzyi1RUM1b5wjxsn7nGxAszw2u61m164i3MrAIxHF6YK5h4SDYic-dRuU_RCPCfA5aq9ojSwk5Y2EmClBPs"))
    #expect(try isGood(token, P256.Signing.PublicKey(x963Representation: point)))
    // An ES256 signature differs each time. Compare the other parts.
    let own = try key.token(audience: "https://push.example.net", expires: Timestamp(rawValue: 1_453_523_768_000))
    #expect(own.split(separator: ".").dropLast() == token.split(separator: ".").dropLast())
  }

  @Test mutating func `an authorization contains a token and the key that signed it`() throws {
    let parts = try authorization().components(separatedBy: ", k=")
    #expect(parts.count == 2 && parts[0].hasPrefix("vapid t="))
    let point = try #require(Data(base64URL: parts[1]))
    #expect(point == secret.publicKey.x963Representation)
    let token = String(parts[0].dropFirst("vapid t=".count))
    #expect(try isGood(token, P256.Signing.PublicKey(x963Representation: point)))
    let claims = try #require(Data(base64URL: token.split(separator: ".")[1]))
    let json = try #require(JSONSerialization.jsonObject(with: claims) as? [String: Any])
    #expect(json["exp"] as? Int == 1_700_000_000 + 12 * 3600)
    #expect(json["aud"] as? String == "https://push.example.net")
    #expect(json["sub"] as? String == "mailto:push@example.com")
  }

  @Test mutating func `a token is used for one hour and one origin`() throws {
    let first = try authorization()
    #expect(try authorization(after: 59) == first)
    #expect(try authorization("https://push.example.org", after: 59) != first)
    #expect(try authorization(after: 60) != first)
  }

  @Test(arguments: [-61, 61, 40 * 86_400]) mutating func `a token ends when the wall clock was set`(step: Int) throws {
    let first = try authorization(step: step)
    #expect(try authorization(after: 1, step: step > 0 ? step - 60 : step + 60) == first)
    let second = try authorization(after: 1)
    #expect(second != first)
    #expect(try authorization(after: 59) == second)
  }

  @Test(arguments: [
    "mailto:ops@example.org", "https://example.org", "https://example.org/contact?to=ops",
    "https://a.example.org:8443/",
  ])
  func `a subject with a public contact is accepted`(_ subject: String) throws {
    #expect(try VAPIDKey(pem: secret.pemRepresentation, subject: subject).subject == subject)
  }

  @Test(arguments: [
    "", "ops@example.org", "mailto:", "mailto:ops", "mailto:@example.org", "mailto:ops@localhost", "http://example.org",
    "https://", "https://localhost", "https://localhost:8443/", "https://app.localhost", "https://127.0.0.1/",
    "https://[::1]/", "https://ops@example.org/", "https://.example.org", "https://example.org.",
    "mailto:a b@example.org",
  ])
  func `a subject without a public contact is refused`(_ subject: String) {
    #expect { try VAPIDKey(pem: secret.pemRepresentation, subject: subject) } throws: {
      ($0 as? VAPIDKey.Fault)?.isOfSubject == true
    }
  }

  @Test func `a key that is not of P-256 is refused`() {
    let others = [P384.Signing.PrivateKey().pemRepresentation, secret.publicKey.pemRepresentation, "", "no key"]
    for pem in others {
      #expect(throws: VAPIDKey.Fault(isOfSubject: false, words: "is not a P-256 private key in PEM format")) {
        try VAPIDKey(pem: pem, subject: "mailto:push@example.com")
      }
    }
  }

  @Test func `a generated key can be parsed`() throws {
    let made = try VAPIDKey(pem: VAPIDKey.makePEM(), subject: key.subject)
    #expect(made != key && Data(base64URL: made.publicKey)?.count == 65)
  }
}
