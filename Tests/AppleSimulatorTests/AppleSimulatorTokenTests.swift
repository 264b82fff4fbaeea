// SPDX-License-Identifier: Apache-2.0
import Crypto
import Foundation
import RelayProtocol
import Testing

@testable import AppleSimulator

@Suite struct AppleSimulatorTokenTests {
  let signer = P256.Signing.PrivateKey()
  let now = Timestamp(rawValue: 1_800_000_000_000)
  var settings = AppleSimulator.Settings()

  init() { settings.add(.init(id: "KEY4567890", team: "TEAM567890", publicKey: signer.publicKey)) }

  /// Returns `bearer` and a token of the given age.
  func bearer(
    _ age: Duration = .zero, header: String = #"{"alg":"ES256","kid":"KEY4567890"}"#, claims: String? = nil,
    signer: P256.Signing.PrivateKey? = nil, isDER: Bool = false
  ) throws -> String {
    let claims = claims ?? #"{"iss":"TEAM567890","iat":\#((now - age).rawValue / 1000)}"#
    let signed = base64URL(Data(header.utf8)) + "." + base64URL(Data(claims.utf8))
    let signature = try (signer ?? self.signer).signature(for: Data(signed.utf8))
    return "bearer \(signed).\(base64URL(isDER ? signature.derRepresentation : signature.rawRepresentation))"
  }

  func base64URL(_ data: Data) -> String {
    data.base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
  }

  func check(
    _ authorization: String?, with credential: inout AppleSimulator.Credential,
    settings: AppleSimulator.Settings? = nil,
    later: Duration = .zero
  ) -> AppleSimulator.Reason? {
    do throws(AppleSimulator.Reason) {
      _ = try credential.check(authorization, settings: settings ?? self.settings, now: now + later) { _, _ in true }
      return nil
    } catch {
      return error
    }
  }

  func check(_ authorization: String?) -> AppleSimulator.Reason? {
    var credential = AppleSimulator.Credential()
    return check(authorization, with: &credential)
  }

  @Test func `a token is verified once for each connection`() throws {
    var credential = AppleSimulator.Credential()
    let bearer = try bearer()
    for _ in 0..<3 { #expect(check(bearer, with: &credential) == nil) }
    #expect(credential.verifications == 1)
    credential.forgetVerified()
    #expect(check(bearer, with: &credential) == nil)
    #expect(credential.verifications == 2)
  }

  @Test(arguments: [nil, "", "bearer", "bearer ", "basic YTpi"])
  func `a request without a token is refused`(authorization: String?) {
    #expect(check(authorization) == .missingProviderToken)
  }

  @Test(arguments: [
    #"{"kid":"KEY4567890"}"#, #"{"alg":"HS256","kid":"KEY4567890"}"#, #"{"alg":"none","kid":"KEY4567890"}"#,
    #"{"alg":"ES256"}"#, #"{"alg":"ES256","kid":"KEY456789"}"#, #"{"alg":"ES256","kid":"KEY45678901"}"#,
    #"{"alg":"ES256","kid":"KEY456789ä"}"#, #"{"alg":"ES256","kid":"OTHER67890"}"#, "[]",
  ])
  func `the header of a token needs ES256 and a known key id of ten characters`(header: String) throws {
    #expect(check(try bearer(header: header)) == .invalidProviderToken)
  }

  @Test(arguments: [
    #"{"iss":"TEAM567890"}"#, #"{"iat":1800000000}"#, #"{"iss":"TEAM567890","iat":"1800000000"}"#,
    #"{"iss":"TEAM567890","iat":"1800000000000"}"#, #"{"iss":"TEAM567890","iat":1800000000.5}"#,
    #"{"iss":"TEAM567890","iat":-1}"#, #"{"iss":"TEAM56789","iat":1800000000}"#,
    #"{"iss":"OTHER67890","iat":1800000000}"#,
  ])
  func `the claims of a token need the key's team and whole seconds`(claims: String) throws {
    #expect(check(try bearer(claims: claims)) == .invalidProviderToken)
  }

  @Test func `the signature of a token is R and S of the known key`() throws {
    #expect(check(try bearer(isDER: true)) == .invalidProviderToken)
    #expect(check(try bearer(signer: P256.Signing.PrivateKey())) == .invalidProviderToken)
    #expect(check(try bearer() + "A") == .invalidProviderToken)
    #expect(check(String(try bearer().dropLast(2))) == .invalidProviderToken)
    #expect(check("bearer a.b") == .invalidProviderToken)
  }

  @Test func `a token of an unknown key is accepted if any key is allowed and its form is valid`() throws {
    var open = AppleSimulator.Settings()
    open.acceptsAnyKey = true
    var credential = AppleSimulator.Credential()
    #expect(check(try bearer(), with: &credential, settings: open) == nil)
    credential = .init()
    #expect(check(try bearer(isDER: true), with: &credential, settings: open) == .invalidProviderToken)
  }

  @Test func `a token is valid for 60 minutes, and at most one minute before its time of issue`() throws {
    #expect(check(try bearer(.seconds(3600))) == nil)
    #expect(check(try bearer(.seconds(3601))) == .expiredProviderToken)
    #expect(check(try bearer(.seconds(-60))) == nil)
    #expect(check(try bearer(.seconds(-61))) == .expiredProviderToken)
    let milliseconds = #"{"iss":"TEAM567890","iat":1800000000000}"#
    #expect(check(try bearer(claims: milliseconds)) == .expiredProviderToken)
  }

  @Test func `a verified token still expires`() throws {
    var credential = AppleSimulator.Credential()
    let bearer = try bearer()
    #expect(check(bearer, with: &credential) == nil)
    #expect(check(bearer, with: &credential, later: .seconds(3600)) == nil)
    #expect(check(bearer, with: &credential, later: .seconds(3601)) == .expiredProviderToken)
  }

  @Test func `a new token is accepted 20 minutes after the previous one`() throws {
    var credential = AppleSimulator.Credential()
    let first = try bearer(.seconds(2400))
    #expect(check(first, with: &credential) == nil)
    #expect(check(try bearer(.seconds(1201)), with: &credential) == .tooManyProviderTokenUpdates)
    #expect(check(try bearer(.seconds(2400)), with: &credential) == .tooManyProviderTokenUpdates)
    #expect(check(first, with: &credential) == nil)
    let second = try bearer(.seconds(1200))
    #expect(check(second, with: &credential) == nil)
    // A request with the old token is not an update.
    #expect(check(first, with: &credential) == nil)
    #expect(check(second, with: &credential) == nil)
    #expect(check(try bearer(), with: &credential) == nil)
  }

  @Test func `a connection accepts one key and its related keys`() throws {
    let other = P256.Signing.PrivateKey()
    var settings = settings
    settings.add(.init(id: "OTHER67890", team: "TEAM567890", publicKey: other.publicKey))
    let header = #"{"alg":"ES256","kid":"OTHER67890"}"#
    var credential = AppleSimulator.Credential()
    #expect(check(try bearer(), with: &credential, settings: settings) == nil)
    let others = try bearer(header: header, signer: other)
    #expect(check(others, with: &credential, settings: settings) == .unrelatedKeyIDInToken)
    settings.keys[1].related = "KEY4567890"
    #expect(check(others, with: &credential, settings: settings) == nil)
  }

  @Test func `a key is valid in its environment only`() throws {
    var settings = settings
    settings.keys[0].environment = .production
    var credential = AppleSimulator.Credential()
    #expect(check(try bearer(), with: &credential, settings: settings) == .badEnvironmentKeyIDInToken)
    settings.environment = .production
    #expect(check(try bearer(), with: &credential, settings: settings) == nil)
  }

  @Test func `the service can count the tokens of a key across connections`() throws {
    settingsOfService(counting: true, expected: .tooManyProviderTokenUpdates)
    settingsOfService(counting: false, expected: nil)
  }

  func settingsOfService(counting: Bool, expected: AppleSimulator.Reason?) {
    var settings = settings
    settings.countsUpdatesAcrossConnections = counting
    let service = AppleSimulator.Service(settings) { [now] in now }
    for (age, expected) in [(Duration.seconds(60), nil), (.zero, expected)] {
      var credential = AppleSimulator.Credential()
      var head = head()
      head.authorization = try? bearer(age)
      let decision = service.decide(
        head, body: Array(alert.utf8), credential: &credential, settings: settings, now: now,
        newID: { "00000000-0000-4000-8000-000000000007" })
      #expect(decision.outcome == expected.map { .refused(.init($0)) } ?? .shown)
    }
  }
}
