// SPDX-License-Identifier: Apache-2.0

// A parser of JSON text. It depends on no C code and not on Foundation, because the Swift client uses it, too.

extension JSON {
  /// Parses a text of RFC 8259.
  ///
  /// Returns `nil` in these cases:
  /// - the text is not JSON
  /// - an object has a name twice
  /// - the nesting is deeper than `maxDepth`
  public init?(reading bytes: some Collection<UInt8>, maxDepth: Int = 32) {
    let value = bytes.withContiguousStorageIfAvailable { bytes in
      var reader = JSONReader(bytes: bytes, maxDepth: maxDepth)
      return reader.text()
    }
    guard let value = value ?? JSON(reading: Array(bytes), maxDepth: maxDepth) else { return nil }
    self = value
  }

  /// A member of an object. Is `nil` for every other value.
  public subscript(key: String) -> JSON? {
    guard case .object(let members) = self else { return nil }
    return members[key]
  }

  public var text: String? {
    guard case .string(let text) = self else { return nil }
    return text
  }
}

/// Parses one value, and stops at the first error.
///
/// It is hand-written, because it is stricter than Foundation's decoder and keeps more: it rejects a name that occurs
/// twice, limits the nesting, and keeps the spelling of numbers.
private struct JSONReader {
  let bytes: UnsafeBufferPointer<UInt8>
  let maxDepth: Int
  private var position = 0

  init(bytes: UnsafeBufferPointer<UInt8>, maxDepth: Int) {
    self.bytes = bytes
    self.maxDepth = maxDepth
  }

  mutating func text() -> JSON? {
    guard let value = value(depth: 0) else { return nil }
    skipSpace()
    return position == bytes.count ? value : nil
  }

  private mutating func value(depth: Int) -> JSON? {
    skipSpace()
    guard depth <= maxDepth, position < bytes.count else { return nil }
    switch bytes[position] {
    case UInt8(ascii: "{"): return object(depth: depth)
    case UInt8(ascii: "["): return array(depth: depth)
    case UInt8(ascii: "\""): return string().map(JSON.string)
    case UInt8(ascii: "t"): return skip("true") ? .bool(true) : nil
    case UInt8(ascii: "f"): return skip("false") ? .bool(false) : nil
    case UInt8(ascii: "n"): return skip("null") ? .null : nil
    default: return number()
    }
  }

  private mutating func object(depth: Int) -> JSON? {
    position += 1
    var members: [String: JSON] = [:]
    if skipMark("}") { return .object(members) }
    repeat {
      skipSpace()
      guard let name = string(), skipMark(":"), let value = value(depth: depth + 1),
        members.updateValue(value, forKey: name) == nil
      else { return nil }
    } while skipMark(",")
    return skipMark("}") ? .object(members) : nil
  }

  private mutating func array(depth: Int) -> JSON? {
    position += 1
    var items: [JSON] = []
    if skipMark("]") { return .array(items) }
    repeat {
      guard let value = value(depth: depth + 1) else { return nil }
      items.append(value)
    } while skipMark(",")
    return skipMark("]") ? .array(items) : nil
  }

  private mutating func string() -> String? {
    guard position < bytes.count, bytes[position] == UInt8(ascii: "\"") else { return nil }
    position += 1
    let start = position
    while position < bytes.count {
      switch bytes[position] {
      case UInt8(ascii: "\""):
        defer { position += 1 }
        return String(validUTF8: bytes[start..<position])
      case UInt8(ascii: "\\"): return escapedString(from: start)
      case 0..<0x20: return nil
      default: position += 1
      }
    }
    return nil
  }

  private mutating func escapedString(from start: Int) -> String? {
    var text = Array(bytes[start..<position])
    while position < bytes.count {
      let byte = bytes[position]
      position += 1
      switch byte {
      case UInt8(ascii: "\""): return String(validUTF8: text)
      case UInt8(ascii: "\\"):
        guard let scalar = escape() else { return nil }
        text.append(contentsOf: String(scalar).utf8)
      case 0..<0x20: return nil
      default: text.append(byte)
      }
    }
    return nil
  }

  private mutating func escape() -> Unicode.Scalar? {
    guard position < bytes.count else { return nil }
    defer { position += 1 }
    switch bytes[position] {
    case UInt8(ascii: "\""): return "\""
    case UInt8(ascii: "\\"): return "\\"
    case UInt8(ascii: "/"): return "/"
    case UInt8(ascii: "b"): return "\u{8}"
    case UInt8(ascii: "f"): return "\u{c}"
    case UInt8(ascii: "n"): return "\n"
    case UInt8(ascii: "r"): return "\r"
    case UInt8(ascii: "t"): return "\t"
    case UInt8(ascii: "u"): return unicodeEscape()
    default: return nil
    }
  }

  /// Parses from the `u` to the last digit.
  private mutating func unicodeEscape() -> Unicode.Scalar? {
    guard let first = digits() else { return nil }
    guard first & 0xFC00 == 0xD800 else { return Unicode.Scalar(first) }
    guard position + 2 < bytes.count, bytes[position + 1] == UInt8(ascii: "\\"),
      bytes[position + 2] == UInt8(ascii: "u")
    else {
      return nil
    }
    position += 2
    guard let second = digits(), second & 0xFC00 == 0xDC00 else { return nil }
    return Unicode.Scalar(0x10000 + (first & 0x3FF) << 10 + (second & 0x3FF))
  }

  private mutating func digits() -> UInt32? {
    guard position + 4 < bytes.count else { return nil }
    var number: UInt32 = 0
    for _ in 0..<4 {
      position += 1
      guard let digit = Character(Unicode.Scalar(bytes[position])).hexDigitValue, bytes[position] < 0x80 else {
        return nil
      }
      number = number << 4 | UInt32(digit)
    }
    return number
  }

  private mutating func number() -> JSON? {
    let start = position
    if peek() == UInt8(ascii: "-") { position += 1 }
    if peek() == UInt8(ascii: "0") {
      position += 1
    } else {
      guard skipDigits() else { return nil }
    }
    if peek() == UInt8(ascii: ".") {
      position += 1
      guard skipDigits() else { return nil }
    }
    if let mark = peek(), mark | 0x20 == UInt8(ascii: "e") {
      position += 1
      if let sign = peek(), sign == UInt8(ascii: "+") || sign == UInt8(ascii: "-") { position += 1 }
      guard skipDigits() else { return nil }
    }
    return .number(String(decoding: bytes[start..<position], as: UTF8.self))
  }

  /// Returns `false` if there is no digit.
  private mutating func skipDigits() -> Bool {
    let start = position
    while let byte = peek(), (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) { position += 1 }
    return position > start
  }

  private func peek() -> UInt8? { position < bytes.count ? bytes[position] : nil }

  private mutating func skip(_ word: StaticString) -> Bool {
    let end = position + word.utf8CodeUnitCount
    guard end <= bytes.count else { return false }
    for index in 0..<word.utf8CodeUnitCount where bytes[position + index] != word.utf8Start[index] { return false }
    position = end
    return true
  }

  private mutating func skipMark(_ mark: Unicode.Scalar) -> Bool {
    skipSpace()
    guard peek() == UInt8(ascii: mark) else { return false }
    position += 1
    return true
  }

  private mutating func skipSpace() {
    while let byte = peek(), byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 { position += 1 }
  }
}
