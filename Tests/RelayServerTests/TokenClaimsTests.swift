// SPDX-License-Identifier: Apache-2.0
import RelayProtocol
import Testing

@testable import RelayServer

@Suite struct TokenClaimsTests {
  private func identity(_ claims: String, _ policy: TokenPolicy = TokenPolicy()) async throws -> Identity {
    let key = try await TestKey(.hs256)
    return try await verifier(key.verification(), policy: policy).verify(key.token(claims))
  }

  /// The good claims with others.
  private func with(_ others: String) -> String { goodClaims.dropLast() + "," + others + "}" }

  @Test(arguments: [
    (#"{"exp":1800000060}"#, "sub of the token is no user name"),
    (#"{"sub":"a b","exp":1800000060}"#, "sub of the token is no user name"),
    (#"{"sub":"me","exp":1800000060}"#, "sub of the token is no user name"),
    (#"{"sub":"a"}"#, "the token has no exp"),
    (#"{"sub":"a","exp":"soon"}"#, "exp of the token is no time"),
    (#"{"sub":"a","exp":null}"#, "exp of the token is no time"),
    (#"{"sub":"a","exp":1800000060,"nbf":1800000001}"#, "the token is not valid yet"),
    (#"{"sub":"a","sub":"b","exp":1800000060}"#, "the token is no JWT"),
    (#"[]"#, "the token is no JWT"),
  ])
  func `wrong claims are refused in words`(claims: String, why: String) async {
    await #expect(throws: TokenFailure.invalid(why)) { try await identity(claims) }
  }

  @Test(arguments: ["1800000000", "1799999999.9", "0", "-1", "1e9"])
  func `a token that has ended is refused as such`(exp: String) async {
    await #expect(throws: TokenFailure.expired) { try await identity(#"{"sub":"a","exp":\#(exp)}"#) }
  }

  @Test(arguments: ["1800000000.001", "1.8e9001", "99999999999999999999"])
  func `times may have fractions and be far away`(exp: String) async throws {
    let claims = #"{"sub":"a","exp":\#(exp),"nbf":1800000000}"#
    if exp.contains("e9001") {
      await #expect(throws: TokenFailure.self) { try await identity(claims) }
    } else {
      #expect(try await identity(claims).expires.map { $0 > now } == true)
    }
  }

  @Test func `without exp a token is good for ever, where that is allowed`() async throws {
    var policy = TokenPolicy()
    policy.requiresExpiry = false
    #expect(try await identity(#"{"sub":"a"}"#, policy).expires == nil)
  }

  @Test(arguments: [
    (#""aud":"chat""#, true), (#""aud":["x","chat"]"#, true), (#""aud":["x"]"#, false), (#""aud":7"#, false),
    (#""x":1"#, false),
  ])
  func `the audience is one of those of the token`(claim: String, isMeant: Bool) async throws {
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

  @Test func `the issuer is the one that is expected`() async throws {
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
    #""watch":"b""#, #""watch":["?"]"#, #""name":7"#, #""handle":{}"#,
    #""watch":["# + Array(repeating: "\"a\"", count: 101).joined(separator: ",") + "]",
  ])
  func `claims of a wrong form are refused`(claim: String) async {
    await #expect(throws: TokenFailure.self) { try await identity(with(claim)) }
  }
}
