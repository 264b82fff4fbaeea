// SPDX-License-Identifier: Apache-2.0
import RelayProtocol

/// A UUID of version 7 (RFC 9562). It begins with the time, so that new rows are near each other in an index; 74 bits
/// are random.
enum TimeOrderedID {
  static func text(at time: Timestamp) -> String {
    var generator = SystemRandomNumberGenerator()
    let first = UInt64(bitPattern: time.rawValue) << 16 | 0x7000 | generator.next() & 0xFFF
    let second = 0x8000_0000_0000_0000 | generator.next() >> 2
    return String(unsafeUninitializedCapacity: 36) { text in
      var (index, digit) = (0, 0)
      while digit < 32 {
        if index == 8 || index == 13 || index == 18 || index == 23 {
          text[index] = UInt8(ascii: "-")
        } else {
          let half = digit < 16 ? first : second
          let value = UInt8(truncatingIfNeeded: half >> (60 - 4 * UInt64(digit % 16))) & 15
          text[index] = value + (value < 10 ? UInt8(ascii: "0") : UInt8(ascii: "a") - 10)
          digit += 1
        }
        index += 1
      }
      return 36
    }
  }
}
