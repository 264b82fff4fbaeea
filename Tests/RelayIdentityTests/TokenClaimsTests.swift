// SPDX-License-Identifier: Apache-2.0
import RelayProtocol
import Testing

@testable import RelayIdentity

@Suite struct TokenClaimsTests {
  private func identity(_ claims: String, _ policy: TokenPolicy = TokenPolicy()) async throws -> Identity {
    let key = try await TestKey(.hs256)
    return try await verifier(key.verification(), policy: policy).verify(key.token(claims))
  }

  /// The valid claims, with other ones added.
  private func with(_ others: String) -> String { goodClaims.dropLast() + "," + others + "}" }

  @Test(arguments: [
    (#"{"exp":1800000060}"#, "sub of the token is no user name"),
    (#"{"sub":"a b","exp":1800000060}"#, "sub of the token is no user name"),
    (#"{"sub":"me","exp":1800000060}"#, "sub of the token is no user name"),
    (#"{"sub":"a"}"#, "the token has no exp"),
    (#"{"sub":"a","exp":"soon"}"#, "exp of the token is no time"),
    (#"{"sub":"a","exp":null}"#, "exp of the token is no time"),
    (#"{"sub":"a","sub":"b","exp":1800000060}"#, "the token is no JWT"),
    (#"[]"#, "the token is no JWT"),
    (#"{"sub":"a","exp":1800000060,"name":"a\nb"}"#, "in the token, name \(String.mustBeLine)"),
    (#"{"sub":"a","exp":1800000060,"name":"\u202ea"}"#, "in the token, name \(String.mustBeLine)"),
    (#"{"sub":"a","exp":1800000060,"handle":"1\u0007"}"#, "in the token, handle \(String.mustBeLine)"),
    (
      #"{"sub":"a","exp":1800000060,"handle":"1","handleType":"\u2066"}"#,
      "in the token, handleType \(String.mustBeLine)"
    ),
  ])
  func `an invalid claim is rejected with its error`(claims: String, why: String) async {
    await #expect(throws: TokenFailure.invalid(why)) { try await identity(claims) }
  }

  @Test(arguments: ["1800000000", "1799999999.9", "0", "-1", "1e9"])
  func `an expired token is rejected as expired`(exp: String) async {
    await #expect(throws: TokenFailure.expired) { try await identity(#"{"sub":"a","exp":\#(exp)}"#) }
  }

  @Test func `times may have fractions`() async throws {
    let identity = try await identity(#"{"sub":"a","exp":1800000000.001,"nbf":1799999999.5}"#)
    #expect(identity.expires.map { $0 > now } == true)
  }

  @Test(arguments: ["1831622461", "9223372036854775808", "99999999999999999999", "1e300", "1.8e9001"])
  func `a token beyond the maximum lifetime is rejected`(exp: String) async throws {
    await #expect { try await identity(#"{"sub":"a","exp":\#(exp)}"#) } throws: {
      if case TokenFailure.invalid = $0 { true } else { false }
    }
  }

  @Test func `the maximum lifetime is 366 days by default, and a setting changes it`() async throws {
    #expect(try await identity(#"{"sub":"a","exp":1831622400}"#).id == UserID(unchecked: "a"))
    var policy = TokenPolicy()
    policy.maxLifetime = .seconds(3600)
    await #expect(
      throws: TokenFailure.invalid("exp of the token is more than 3600 s ahead, the maximum lifetime of tokens here")
    ) { try await identity(#"{"sub":"a","exp":1800003661}"#, policy) }
    _ = try await identity(#"{"sub":"a","exp":1800003660}"#, policy)
  }

  @Test(arguments: [("1800000060", true), ("1800000060.001", false), ("1800003600", false), ("1e300", false)])
  func `nbf may be a minute ahead`(nbf: String, isAccepted: Bool) async throws {
    let claims = #"{"sub":"a","exp":1800007200,"nbf":\#(nbf)}"#
    guard !isAccepted else { return _ = try await identity(claims) }
    await #expect(throws: TokenFailure.early) { try await identity(claims) }
  }

  static let accounts: [(String, AccountRights)] = [
    (#""rooms":[{"match":"a","can":["join"]}]"#, .all), (#""rooms":[]"#, []), (#""x":1"#, []),
    (#""rooms":[{"match":"a","can":[]}]"#, []), (#""account":["devices"]"#, .devices),
    (#""rooms":[{"match":"a","can":["join"]}],"account":[]"#, []), (#""account":null"#, []),
  ]

  @Test(arguments: accounts)
  func `the rights to the account are the claimed ones, or all if the token gives rights in rooms`(
    claim: String, rights: AccountRights
  ) async throws {
    #expect(try await identity(with(claim)).permissions.account == rights)
  }

  @Test func `a token without exp never expires, if the setting allows it`() async throws {
    var policy = TokenPolicy()
    policy.requiresExpiry = false
    #expect(try await identity(#"{"sub":"a"}"#, policy).expires == nil)
  }

  @Test(arguments: [
    (#""aud":"chat""#, true), (#""aud":["x","chat"]"#, true), (#""aud":["x"]"#, false), (#""aud":7"#, false),
    (#""x":1"#, false),
  ])
  func `the token must contain the configured audience`(claim: String, isMeant: Bool) async throws {
    var policy = TokenPolicy()
    policy.audience = "chat"
    if isMeant {
      _ = try await identity(with(claim), policy)
    } else {
      await #expect(throws: TokenFailure.invalid("the token is for another audience")) {
        try await identity(with(claim), policy)
      }
    }
  }

  @Test func `the token must have the configured issuer`() async throws {
    var policy = TokenPolicy()
    policy.issuer = "login"
    _ = try await identity(with(#""iss":"login""#), policy)
    await #expect(throws: TokenFailure.invalid("the token is of another issuer")) {
      try await identity(with(#""iss":"other""#), policy)
    }
    await #expect(throws: TokenFailure.invalid("the token is of another issuer")) {
      try await identity(goodClaims, policy)
    }
  }

  @Test func `rooms and watch become permissions`() async throws {
    let identity = try await identity(
      with(#""name":"Alice","rooms":[{"match":"team.*","can":["join","send"]}],"watch":["b*"],"handle":"+1""#))
    #expect(identity.user.name == "Alice")
    #expect(identity.permissions.grants?.rights(in: RoomID(unchecked: "team.a")) == [.join, .send])
    #expect(identity.permissions.grants?.rights(in: RoomID(unchecked: "x")) == [])
    #expect(identity.permissions.mayWatch(UserID(unchecked: "bob")))
    #expect(!identity.permissions.mayWatch(UserID(unchecked: "carol")))
  }

  @Test(arguments: [
    #""rooms":{}"#, #""rooms":[7]"#, #""rooms":[{"match":"a b","can":[]}]"#, #""rooms":[{"can":[]}]"#,
    #""rooms":[{"match":"a"}]"#, #""rooms":[{"match":"a","can":["fly"]}]"#, #""rooms":[{"match":"a","can":"join"}]"#,
    #""account":["fly"]"#, #""account":"devices"#, #""account":[1]"#, #""watch":"b""#, #""watch":["?"]"#, #""name":7"#,
    #""handle":{}"#,
    #""watch":["# + Array(repeating: "\"a\"", count: 101).joined(separator: ",") + "]",
  ])
  func `claims of a wrong type are rejected`(claim: String) async {
    await #expect(throws: TokenFailure.self) { try await identity(with(claim)) }
  }
}
