// SPDX-License-Identifier: Apache-2.0

/// Encodes and decodes base64url without padding (RFC 4648, section 5).

extension [UInt8] {
  /// Decodes a text. Returns `nil` if the text has a character outside the alphabet, has padding, or is not the
  /// canonical encoding of its value (RFC 4648, section 3.5).
  public init?(base64URL text: some Collection<UInt8>) {
    guard text.count % 4 != 1 else { return nil }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(text.count * 3 / 4)
    var bits: UInt32 = 0
    var count: UInt32 = 0
    for byte in text {
      guard let value = Self.value(ofBase64URL: byte) else { return nil }
      bits = bits << 6 | UInt32(value)
      count += 6
      if count >= 8 {
        count -= 8
        bytes.append(UInt8(truncatingIfNeeded: bits >> count))
      }
    }
    guard bits & (1 << count - 1) == 0 else { return nil }
    self = bytes
  }

  private static func value(ofBase64URL byte: UInt8) -> UInt8? {
    switch byte {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"): byte - UInt8(ascii: "A")
    case UInt8(ascii: "a")...UInt8(ascii: "z"): byte - UInt8(ascii: "a") + 26
    case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0") + 52
    case UInt8(ascii: "-"): 62
    case UInt8(ascii: "_"): 63
    default: nil
    }
  }
}

extension Collection<UInt8> {
  /// The bytes as base64url, without padding.
  public var base64URL: String {
    let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
    var text: [UInt8] = []
    text.reserveCapacity((count * 4 + 2) / 3)
    var bits: UInt32 = 0
    var left: UInt32 = 0
    for byte in self {
      bits = bits << 8 | UInt32(byte)
      left += 8
      while left >= 6 {
        left -= 6
        text.append(alphabet[Int(bits >> left & 63)])
      }
    }
    if left > 0 { text.append(alphabet[Int(bits << (6 - left) & 63)]) }
    return String(decoding: text, as: UTF8.self)
  }
}
