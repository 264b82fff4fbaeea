// SPDX-License-Identifier: Apache-2.0

/// Returns a random UUID (RFC 9562, version 4) in lower case.
package func makeUUID(using generator: inout some RandomNumberGenerator) -> String {
  var high = UInt64.random(in: .min ... .max, using: &generator)
  var low = UInt64.random(in: .min ... .max, using: &generator)
  high = high & 0xFFFF_FFFF_FFFF_0FFF | 0x4000
  low = low & 0x3FFF_FFFF_FFFF_FFFF | 0x8000_0000_0000_0000
  return String(unsafeUninitializedCapacity: 36) { text in
    var position = 0
    for index in 0..<32 {
      if index == 8 || index == 12 || index == 16 || index == 20 {
        text[position] = UInt8(ascii: "-")
        position += 1
      }
      let word = index < 16 ? high : low
      let digit = UInt8(word >> UInt64(60 - 4 * (index % 16)) & 15)
      text[position] = digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10
      position += 1
    }
    return position
  }
}
