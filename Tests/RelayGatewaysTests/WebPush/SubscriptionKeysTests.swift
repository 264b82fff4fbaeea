// SPDX-License-Identifier: Apache-2.0
import Crypto
import Foundation
import RelayProtocol
import Testing

@testable import RelayGateways

/// Tests the encryption with the examples of RFC 8291, section 5 and appendix A.
@Suite struct SubscriptionKeysTests {
  private let sender: P256.KeyAgreement.PrivateKey
  private let keys: SubscriptionKeys
  private let salt: Data

  init() throws {
    let scalar = try #require(Data(base64URL: "yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw"))
    sender = try P256.KeyAgreement.PrivateKey(rawRepresentation: scalar)
    salt = try #require(Data(base64URL: "DGv6ra1nlYgDCS1FRnbzlw"))
    let point = try #require(
      Data(base64URL: "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"))
    let authentication = try #require(Data(base64URL: "BTBZMqHH6r4Tts7J_aSIgg"))
    keys = try #require(SubscriptionKeys(publicKey: [UInt8](point), authentication: [UInt8](authentication)))
  }

  @Test func `the body equals the example of section 5`() throws {
    let body = try keys.seal(Data("When I grow up, I want to be a watermelon".utf8), sender: sender, salt: salt)
    #expect(
      Data(body).base64URL
        == "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN"
    )
  }

  @Test func `the derived keys equal those of appendix A`() throws {
    let secret = try keys.secret(sharedWith: sender)
    #expect(bytes(secret) == "S4lYMb_L0FxCeq0WhDx813KgSYqU26kOyzWUdsXYyrg")
    let key = ContentKey(secret: secret, salt: salt)
    #expect(bytes(key.key) == "oIhVW04MRdy2XN9CiKLxTg")
    #expect(key.nonce.base64URL == "4h_95klXJ5E_qnoN")
    #expect(
      sender.publicKey.x963Representation.base64URL
        == "BP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A8")
  }

  @Test func `each push has its own key and salt`() throws {
    let bodies = try (0..<2).map { _ in try keys.seal(Data("hi".utf8)) }
    #expect(bodies[0].prefix(16) != bodies[1].prefix(16))
    #expect(bodies[0][21..<86] != bodies[1][21..<86])
  }

  @Test func `the longest text makes a body of 4096 bytes, which every service accepts`() throws {
    #expect(try keys.seal(Data(count: SubscriptionKeys.maxTextLength)).count == 4096)
  }

  private static let point = [UInt8](P256.KeyAgreement.PrivateKey().publicKey.x963Representation)

  /// Invalid public keys.
  private static let strangers: [[UInt8]] = [
    [], point.dropLast(), point + [0], [UInt8](repeating: 0, count: 65), [4] + [UInt8](repeating: 1, count: 64),
    [6] + point.dropFirst(), [UInt8](P256.KeyAgreement.PrivateKey().publicKey.compressedRepresentation),
  ]

  @Test(arguments: strangers.map { ($0, 16) } + [(point, 15), (point, 17), (point, 0)])
  func `invalid keys are refused`(_ publicKey: [UInt8], _ authentication: Int) {
    #expect(
      SubscriptionKeys(publicKey: publicKey, authentication: [UInt8](repeating: 7, count: authentication)) == nil)
  }

  private func bytes(_ key: SymmetricKey) -> String { key.withUnsafeBytes { Data($0) }.base64URL }
}
