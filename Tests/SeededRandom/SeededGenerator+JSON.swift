// SPDX-License-Identifier: Apache-2.0
public import RelayJSON

/// Random JSON values and texts.
extension SeededGenerator {
  public mutating func text() -> String {
    let ranges: [ClosedRange<UInt32>] = [
      0x20...0x7e, 0x00...0x1f, 0x80...0x7ff, 0x800...0xd7ff, 0xe000...0xffff, 0x10000...0x10ffff,
    ]
    var scalars = String.UnicodeScalarView()
    for _ in 0..<below(8) {
      let code = UInt32.random(in: one(of: ranges), using: &self)
      scalars.append(Unicode.Scalar(code) ?? "?")
    }
    return String(scalars)
  }

  public mutating func number() -> String {
    one(of: [
      "0", "-0", "1", "-1", "1.5", "1e3", "1E-400", "-1e400", "9007199254740991", "9007199254740992",
      "9223372036854775808", "-9223372036854775809", "\(below(1000))", String(repeating: "9", count: 1 + below(400)),
    ])
  }

  /// - Parameter depth: The maximum nesting of arrays and objects.
  public mutating func json(depth: Int, keys: [String] = []) -> JSON {
    switch below(depth > 0 ? 7 : 5) {
    case 0: return .null
    case 1: return .bool(hits(oneIn: 2))
    case 2: return .number(number())
    case 3: return .string(text())
    case 4: return .string(one(of: keys + ["ann", "active", "*", "simulator", "me", ".."]))
    case 5: return .array((0..<below(5)).map { _ in json(depth: depth - 1, keys: keys) })
    default: return .object(object(depth: depth - 1, keys: keys))
    }
  }

  public mutating func object(depth: Int, keys: [String] = []) -> [String: JSON] {
    var members: [String: JSON] = [:]
    for _ in 0..<below(6) {
      let key = keys.isEmpty || hits(oneIn: 4) ? text() : one(of: keys)
      members[key] = json(depth: depth, keys: keys)
    }
    return members
  }

  /// The value as JSON text, in one of many spellings.
  public mutating func spelled(_ value: JSON) -> String {
    let text: String
    switch value {
    case .null: text = "null"
    case .bool(let flag): text = flag ? "true" : "false"
    case .number(let spelling): text = spelling
    case .string(let string): text = quoted(string)
    case .array(let items): text = "[" + items.map { spelled($0) }.joined(separator: ",") + space() + "]"
    case .object(let members):
      text =
        "{" + members.map { space() + quoted($0) + space() + ":" + spelled($1) }.joined(separator: ",") + space() + "}"
    case .raw(let bytes): text = String(decoding: bytes, as: UTF8.self)
    }
    return space() + text + space()
  }

  private mutating func space() -> String { hits(oneIn: 4) ? one(of: [" ", "\t", "\n", "\r", "  "]) : "" }

  private mutating func quoted(_ string: String) -> String {
    var quoted = "\""
    for scalar in string.unicodeScalars {
      if scalar.value < 0x20 || scalar == "\"" || scalar == "\\" || hits(oneIn: 4) {
        for unit in String(scalar).utf16 {
          let digits = String(unit, radix: 16, uppercase: hits(oneIn: 2))
          quoted += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
        }
      } else {
        quoted.unicodeScalars.append(scalar)
      }
    }
    return quoted + "\""
  }

  /// The bytes with some of them changed, removed, inserted or repeated.
  public mutating func damaged(_ bytes: [UInt8]) -> [UInt8] {
    var bytes = bytes
    for _ in 0...below(3) where !bytes.isEmpty {
      let at = below(bytes.count)
      switch below(4) {
      case 0: bytes[at] ^= 1 << below(8)
      case 1: bytes.remove(at: at)
      case 2: bytes.insert(one(of: Array("\"\\{}[],:.-e0 \u{0}=/%".utf8) + [0x80, 0xed, 0xff]), at: at)
      default: bytes.insert(contentsOf: bytes[at..<min(bytes.count, at + 1 + below(16))], at: below(bytes.count))
      }
    }
    return bytes
  }
}
