// SPDX-License-Identifier: Apache-2.0

/// Converts a byte offset to a line and column for people, and a JSON pointer for programs.
///
/// Query offsets in ascending order: the count continues from the last offset. A smaller offset starts again.
struct LintMap {
  private let text: [UInt8]
  private let root: LintValue?
  private var at = 0
  private var line = 1
  private var column = 1

  init(_ text: [UInt8], root: LintValue?) {
    self.text = text
    self.root = root
  }

  mutating func location(of location: Fault.Location) -> Finding.Location {
    switch location {
    case .header(let name): return .header(name)
    case .byte(let offset):
      if offset < at { (at, line, column) = (0, 1, 1) }
      walk(to: offset)
      return .payload(pointer: pointer(to: offset), line: line, column: column)
    }
  }

  private mutating func walk(to offset: Int) {
    while at < min(offset, text.count) {
      let isBreak = text[at] == 0x0A || (text[at] == 0x0D && !(at + 1 < text.count && text[at + 1] == 0x0A))
      if isBreak { (line, column) = (line + 1, 1) } else { column += 1 }
      at += isBreak ? 1 : text.scalarLength(at: at) ?? 1
    }
  }

  /// Returns the pointer of the value or member that begins at this byte, or of the innermost one that contains it.
  private func pointer(to offset: Int) -> String {
    var path = ""
    var value = root
    while let inner = value?.child(at: offset) {
      path += "/" + inner.step.clipped.replacing("~", with: "~0").replacing("/", with: "~1")
      value = inner.value
    }
    return path
  }
}

extension LintValue {
  fileprivate func child(at offset: Int) -> (step: String, value: LintValue?)? {
    switch kind {
    case .object(let members):
      guard
        let member = members.first(where: { $0.keyRange.lowerBound <= offset && offset < $0.value.range.upperBound })
      else { return nil }
      return (member.key, offset < member.keyRange.upperBound ? nil : member.value)
    case .array(let items):
      guard let index = items.firstIndex(where: { $0.range.contains(offset) }) else { return nil }
      return (String(index), items[index])
    default: return nil
    }
  }
}

extension [UInt8] {
  /// Returns the length in bytes of the Unicode scalar at this index (RFC 3629), or `nil` if none begins here.
  func scalarLength(at index: Int) -> Int? {
    let first = self[index]
    let (length, second): (Int, ClosedRange<UInt8>)
    switch first {
    case 0...0x7F: return 1
    case 0xC2...0xDF: (length, second) = (2, 0x80...0xBF)
    case 0xE0: (length, second) = (3, 0xA0...0xBF)
    case 0xED: (length, second) = (3, 0x80...0x9F)
    case 0xE1...0xEF: (length, second) = (3, 0x80...0xBF)
    case 0xF0: (length, second) = (4, 0x90...0xBF)
    case 0xF4: (length, second) = (4, 0x80...0x8F)
    case 0xF1...0xF3: (length, second) = (4, 0x80...0xBF)
    default: return nil
    }
    guard index + length <= count, second.contains(self[index + 1]) else { return nil }
    guard self[(index + 2)..<(index + length)].allSatisfy({ (0x80...0xBF).contains($0) }) else { return nil }
    return length
  }

  /// Returns the Unicode scalar at this index and its length in bytes.
  func scalar(at index: Int) -> (scalar: Unicode.Scalar, length: Int)? {
    guard index < count, let length = scalarLength(at: index) else { return nil }
    return String(decoding: self[index..<(index + length)], as: UTF8.self).unicodeScalars.first.map { ($0, length) }
  }
}
