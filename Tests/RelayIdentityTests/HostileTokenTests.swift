// SPDX-License-Identifier: Apache-2.0
import RelayJSON
import RelayProtocol
import SeededRandom
import Testing

@testable import RelayIdentity

/// Tests that the relay rejects a token that somebody has changed, and that it limits the claims of every token. Each
/// test generates many tokens from its seed.
struct HostileTokenTests {
  private static let seeds = 1...8
  private static let rounds = 250

  @Test(arguments: seeds)
  func `a changed token is rejected`(seed: Int) async throws {
    var random = SeededGenerator(seed: seed)
    let key = try await TestKey(.hs256)
    let verifier = verifier(try await key.verification())
    let token = try key.token(goodClaims, header: #","kid":"a""#)
    for _ in 0..<Self.rounds {
      let damaged = String(decoding: random.damaged(Array(token.utf8)), as: UTF8.self)
      guard damaged != token else { continue }
      await #expect(throws: TokenFailure.self, "\(damaged)") { try await verifier.verify(damaged) }
    }
  }

  @Test(arguments: seeds)
  func `claims of any shape give an identity within bounds, or are rejected`(seed: Int) async throws {
    var random = SeededGenerator(seed: seed)
    let key = try await TestKey(.hs256)
    let verifier = verifier(try await key.verification())
    var accepted = 0
    let keys = ["sub", "exp", "nbf", "name", "avatar", "handle", "rooms", "watch", "match", "can"]
    for _ in 0..<Self.rounds {
      var claims = random.object(depth: 3, keys: keys)
      if !random.hits(oneIn: 4) { claims["sub"] = .string("ann") }
      if !random.hits(oneIn: 4) { claims["exp"] = .number("1800000060") }
      let token = try key.token(random.spelled(.object(claims)))
      do throws(TokenFailure) {
        let identity = try await verifier.verify(token)
        #expect(UserID(rawValue: identity.id.rawValue) != nil)
        #expect(identity.expires.map { $0 > now } == true)
        accepted += 1
        #expect((identity.user.name?.utf8.count ?? 0) <= User.maxNameLength)
      } catch {
        #expect(!error.requestError.message.isEmpty)
      }
    }
    #expect((1..<Self.rounds).contains(accepted))
  }
}
