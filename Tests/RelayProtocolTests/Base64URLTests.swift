// SPDX-License-Identifier: Apache-2.0
import Foundation
import RelayProtocol
import Testing

@Suite struct Base64URLTests {
  @Test(arguments: 0...67) func `encoded bytes have no padding and decode to the same bytes`(count: Int) throws {
    let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 37 &+ 200) }
    let text = bytes.base64URL
    #expect(!text.contains("="))
    #expect([UInt8](base64URL: text.utf8) == bytes)
    let padded = text + String(repeating: "=", count: (4 - text.utf8.count % 4) % 4)
    let foundation = padded.replacing("-", with: "+").replacing("_", with: "/")
    #expect(Data(base64Encoded: foundation) == Data(bytes))
  }

  @Test(arguments: ["A", "AAAAA", "AA==", "A+8A", "A/8A", "AB CD", "AB", "AAB", "\u{e9}AAA"])
  func `a text that is not canonical base64url is rejected`(text: String) {
    #expect([UInt8](base64URL: text.utf8) == nil)
  }
}
