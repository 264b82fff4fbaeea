// SPDX-License-Identifier: Apache-2.0
import Crypto
import Foundation
import RelayProtocol
import Testing

@testable import RelayGateways

/// Tests the encryption with the examples of RFC 8188.
@Suite struct ContentKeyTests {
  /// Section 3.1.
  @Test func `the encrypted record equals the RFC's example`() throws {
    let secret = try #require(Data(base64URL: "yqdlZ-tYemfogSmv7Ws5PQ"))
    let salt = try #require(Data(base64URL: "I1BsxtFttlv3u_Oo94xnmw"))
    let key = ContentKey(secret: SymmetricKey(data: secret), salt: salt)
    #expect(
      Data(try key.seal(Data("I am the walrus".utf8), keyID: Data())).base64URL
        == "I1BsxtFttlv3u_Oo94xnmwAAEAAA-NAVub2qFgBEuQKRapoZu-IxkIva3MEB1PD-ly8Thjg")
  }

  /// Section 3.2. The relay sends only one record, but derives the key and the nonce in the same way.
  @Test func `the RFC's example with two records can be decrypted`() throws {
    let secret = try #require(Data(base64URL: "BO3ZVPxUlnLORbVGMpbT1Q"))
    let body = try #require(
      Data(
        base64URL: "uNCkWiNYzKTnBN9ji3-qWAAAABkCYTHOG8chz_gnvgOqdGYovxyjuqRyJFjEDyoF1Fvkj6hQPdPHI51OEUKEpgz3SsLWIqS_uA")
    )
    #expect(try String(decoding: opened(body, SymmetricKey(data: secret)), as: UTF8.self) == "I am the walrus")
  }

  @Test(arguments: [0, 1, 4078, 4079]) func `an encrypted text can be decrypted`(_ count: Int) throws {
    let secret = SymmetricKey(size: .bits128)
    let text = Data.random(count + 1).dropFirst()
    let sealed = try ContentKey(secret: secret, salt: .random(16)).seal(text, keyID: Data("a1".utf8))
    #expect(try opened(Data(sealed), secret) == text)
    #expect(sealed.count == 16 + 4 + 1 + 2 + count + 17)
  }
}

/// Decrypts a body as a receiver does (RFC 8188, section 2): any number of records, with any padding.
func opened(_ body: Data, _ secret: SymmetricKey) throws -> Data {
  let key = ContentKey(secret: secret, salt: body.prefix(16))
  let size = body[16..<20].reduce(0) { $0 << 8 | Int($1) }
  var rest = body.dropFirst(21 + Int(body[20]))
  var text = Data()
  var number: UInt8 = 0
  while !rest.isEmpty {
    let record = rest.prefix(size)
    rest = rest.dropFirst(size)
    var nonce = key.nonce
    nonce[11] ^= number
    let box = try AES.GCM.SealedBox(
      nonce: AES.GCM.Nonce(data: nonce), ciphertext: record.dropLast(16), tag: record.suffix(16))
    let padded = try AES.GCM.open(box, using: key.key)
    let end = try #require(padded.lastIndex { $0 != 0 })
    #expect(padded[end] == (rest.isEmpty ? 2 : 1))
    text += padded[..<end]
    number += 1
  }
  return text
}
