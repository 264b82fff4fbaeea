// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import RelayJSON

@Suite struct UTF8Tests {
  @Test(arguments: [
    [], [0x61], [0xc3, 0xa4], [0xf0, 0x9f, 0x8d, 0xb5], [0xff], [0xc3], [0x61, 0xef, 0xbf, 0xbd], [0xed, 0xa0, 0x80],
    [0xc0, 0x80], [0xf4, 0x90, 0x80, 0x80],
  ])
  func `older systems read the same texts`(_ bytes: [UInt8]) {
    let text = String(validating: bytes, as: UTF8.self)
    #expect(String(comparedUTF8: bytes) == text)
    #expect(String(validUTF8: bytes) == text)
  }
}
