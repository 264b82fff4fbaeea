// SPDX-License-Identifier: Apache-2.0
import Foundation

/// Reads JSON in order, which Foundation's readers do not. A fault has the line.
struct JSONReader {
  private let file: String
  private let bytes: [UInt8]
  private var position = 0

  static func value(of text: String, file: String) throws(Faults) -> JSON {
    var reader = JSONReader(file: file, bytes: Array(text.utf8))
    let value = try reader.value(depth: 0)
    reader.skipSpace()
    guard reader.position == reader.bytes.count else { throw reader.fault("something is behind the end") }
    return value
  }

  private init(file: String, bytes: [UInt8]) {
    self.file = file
    self.bytes = bytes
  }

  /// Deeper than a document is nested, and less than a stack holds.
  private static let deepest = 64

  private mutating func value(depth: Int) throws(Faults) -> JSON {
    guard depth < Self.deepest else { throw fault("is nested too deeply") }
    skipSpace()
    switch next {
    case UInt8(ascii: "{"):
      var members: [JSON.Member] = []
      try list(until: UInt8(ascii: "}")) { (reader) throws(Faults) in
        let name = try reader.string()
        guard !members.contains(where: { $0.name == name }) else { throw reader.fault("“\(name)” is given twice") }
        reader.skipSpace()
        guard reader.take(UInt8(ascii: ":")) else { throw reader.fault("a colon is missing") }
        members.append(JSON.Member(name: name, value: try reader.value(depth: depth + 1)))
      }
      return .object(members)
    case UInt8(ascii: "["):
      var items: [JSON] = []
      try list(until: UInt8(ascii: "]")) { (reader) throws(Faults) in items.append(try reader.value(depth: depth + 1)) }
      return .array(items)
    case UInt8(ascii: "\""): return .string(try string())
    default: return try word()
    }
  }

  private mutating func list(
    until end: UInt8, _ item: (inout JSONReader) throws(Faults) -> Void
  ) throws(Faults) {
    position += 1
    skipSpace()
    if take(end) { return }
    repeat {
      skipSpace()
      try item(&self)
      skipSpace()
    } while take(UInt8(ascii: ","))
    guard take(end) else { throw fault("a comma or the end is missing") }
  }

  private mutating func string() throws(Faults) -> String {
    let start = position
    guard take(UInt8(ascii: "\"")) else { throw fault("a name in quotation marks is missing") }
    while let byte = next, byte != UInt8(ascii: "\"") { position += byte == UInt8(ascii: "\\") ? 2 : 1 }
    guard take(UInt8(ascii: "\"")) else { throw fault("a text does not end") }
    // Escapes are Foundation's business.
    guard let text = try? JSONDecoder().decode(String.self, from: Data(bytes[start..<position])) else {
      throw fault("this text is not JSON")
    }
    return text
  }

  private mutating func word() throws(Faults) -> JSON {
    let start = position
    while let byte = next, !" \t\r\n,]}".utf8.contains(byte) { position += 1 }
    let word = String(decoding: bytes[start..<position], as: UTF8.self)
    switch word {
    case "null": return .null
    case "true": return .bool(true)
    case "false": return .bool(false)
    default:
      guard word.wholeMatch(of: /-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+\-]?[0-9]+)?/) != nil else {
        throw fault("“\(word)” is no value")
      }
      return .number(word)
    }
  }

  private var next: UInt8? { position < bytes.count ? bytes[position] : nil }

  private mutating func take(_ byte: UInt8) -> Bool {
    guard next == byte else { return false }
    position += 1
    return true
  }

  private mutating func skipSpace() {
    while let byte = next, " \t\r\n".utf8.contains(byte) { position += 1 }
  }

  private func fault(_ words: String) -> Faults {
    let line = bytes.prefix(position).count { $0 == UInt8(ascii: "\n") } + 1
    return Faults(Place(file: file, line: line), words)
  }
}
