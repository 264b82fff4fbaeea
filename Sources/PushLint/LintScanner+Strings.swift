// SPDX-License-Identifier: Apache-2.0
// Strings: straight and typographic quotation marks, missing ends, escapes and invalid bytes.

extension LintScanner {
  /// Parses a string in any kind of quotation marks. Returns `nil` if no string begins here.
  mutating func string(isKey: Bool) -> String? {
    guard at < bytes.count else { return nil }
    if bytes[at] == UInt8(ascii: "\"") { return straight(isKey: isKey) }
    guard let opening = bytes.scalar(at: at), let kind = QuoteKind(opening.scalar) else { return nil }
    return pretty(opening.scalar, opening.length, kind)
  }

  // MARK: Straight quotation marks

  private mutating func straight(isKey: Bool) -> String {
    let start = at
    switch straightEnd() {
    case .closed(let end):
      if let last = endOfLost(from: start + 1, before: end, isKey: isKey) { return lost(start, endingAt: last) }
      at = end + 1
      if !isKey, let inner = endOfUnescaped(after: end) {
        faults.reportText(
          .unescapedQuote, at: end, "this quotation mark ends the text before its end",
          mend: #"write \" in the text"#, replacement: #"\""#)
        at = inner + 1
        return decoded((start + 1)..<inner)
      }
      return decoded((start + 1)..<end)
    case .pretty(let end, let mark):
      faults.reportText(
        .typographicQuote, at: end, "the text is closed by \(mark.scalar.named), which is not a quotation mark in JSON",
        mend: #"write ""#, replacement: "\"", isMended: true)
      at = end + mark.length
      return decoded((start + 1)..<end)
    case .lost(let end): return lost(start, endingAt: end)
    }
  }

  private mutating func lost(_ start: Int, endingAt end: Int) -> String {
    faults.reportText(
      .unterminatedString, at: start, "this text has no closing quotation mark", mend: #"write " at its end"#)
    if end < bytes.count { losePart() } else { stop() }
    at = end
    return decoded((start + 1)..<end)
  }

  /// Returns the end of a string whose closing quotation mark is missing, so that the opening mark of the next string
  /// seems to close it. A key ends before its colon, as in `"badge: "1"`. A value ends before its comma, as in
  /// `"Hi, "badge": 1`.
  private func endOfLost(from start: Int, before end: Int, isKey: Bool) -> Int? {
    guard end + 1 < bytes.count, bytes[end + 1].isLetter || bytes[end + 1].isDigit else { return nil }
    var last = end
    while last > start, isBlank(bytes[last - 1]) { last -= 1 }
    if isKey { return last > start && bytes[last - 1] == UInt8(ascii: ":") ? last - 1 : nil }
    guard last > start, bytes[last - 1] == UInt8(ascii: ","), isKeyQuoted(at: end) else { return nil }
    while last > start,
      isBlank(bytes[last - 1]) || (isStructure(bytes[last - 1]) && bytes[last - 1] != UInt8(ascii: ":"))
    {
      last -= 1
    }
    return last
  }

  /// True if a short name in quotation marks and a colon follow.
  private func isKeyQuoted(at start: Int) -> Bool {
    let name = bytes[(start + 1)...].prefix(64)
    guard let end = name.firstIndex(of: UInt8(ascii: "\"")) else { return false }
    return bytes[(end + 1)...].first { !isBlank($0) } == UInt8(ascii: ":")
  }

  private enum StraightEnd {
    case closed(Int)
    case pretty(Int, (scalar: Unicode.Scalar, length: Int))
    case lost(Int)
  }

  /// Finds the end of a string: the next straight quotation mark. If no JSON structure follows that mark, the string
  /// ended earlier: at the end of a line, or at a typographic mark.
  private func straightEnd() -> StraightEnd {
    var earlier: StraightEnd?
    var index = at + 1
    while index < bytes.count {
      switch bytes[index] {
      case UInt8(ascii: "\\"): index += 1
      case UInt8(ascii: "\""):
        if let earlier, !isFollowedByStructure(index + 1) { return earlier }
        return .closed(index)
      case 0x0A, 0x0D:
        earlier = earlier ?? .lost(lineEnd(before: index))
      case 0xE2, 0xC2, 0xE3, 0xEF:
        if earlier == nil, let mark = bytes.scalar(at: index), QuoteKind(mark.scalar) == .double,
          isFollowedByStructure(index + mark.length)
        {
          earlier = .pretty(index, mark)
        }
      default: break
      }
      index += 1
    }
    return earlier ?? .lost(bytes.count)
  }

  /// Returns the end of a string without a closing mark on its line. A comma at the end of the line is not part of it.
  private func lineEnd(before end: Int) -> Int {
    var last = end
    while last > at + 1, isBlank(bytes[last - 1]) { last -= 1 }
    return last > at + 1 && bytes[last - 1] == UInt8(ascii: ",") ? last - 1 : end
  }

  private func isFollowedByStructure(_ index: Int) -> Bool {
    var index = index
    while index < bytes.count, isBlank(bytes[index]) { index += 1 }
    guard index < bytes.count else { return true }
    switch bytes[index] {
    case UInt8(ascii: ","), UInt8(ascii: ":"), UInt8(ascii: "}"), UInt8(ascii: "]"), UInt8(ascii: "/"),
      UInt8(ascii: "#"):
      return true
    default: return false
    }
  }

  /// Returns the mark that ends a string with unescaped quotation marks in it, if more of the string follows on the
  /// line.
  private func endOfUnescaped(after end: Int) -> Int? {
    var index = end + 1
    while index < bytes.count, bytes[index] == 0x20 { index += 1 }
    guard index < bytes.count, bytes[index].isLetter || bytes[index] >= 0x80 else { return nil }
    if let mark = bytes.scalar(at: index), QuoteKind(mark.scalar) != nil { return nil }
    // Without a limit, many such strings would take quadratic time.
    let horizon = min(bytes.count, index + 128)
    while index < horizon, bytes[index] != 0x0A, bytes[index] != 0x0D {
      if bytes[index] == UInt8(ascii: "\""), isFollowedByStructure(index + 1) { return index }
      index += 1
    }
    return nil
  }

  // MARK: Other quotation marks

  private mutating func pretty(_ opening: Unicode.Scalar, _ length: Int, _ kind: QuoteKind) -> String {
    let start = at
    var index = at + length
    while index < bytes.count {
      if bytes[index] == UInt8(ascii: "\\") {
        index += 2
        continue
      }
      if let mark = bytes.scalar(at: index), mark.scalar.closes(kind), !isOfText(mark, at: index, kind) {
        let text = decoded((start + length)..<index, between: kind)
        at = index + mark.length
        reportQuotes(opening, mark.scalar, around: text, at: start)
        return text
      }
      index += 1
    }
    faults.reportText(
      .unterminatedString, at: start, "this text has no closing quotation mark", mend: #"write it between " and ""#)
    stop()
    return decoded((start + length)..<bytes.count, between: kind)
  }

  /// True if a mark belongs to the text: the apostrophe of `it's`, and the straight marks of `“He said "hi"”`.
  private func isOfText(_ mark: (scalar: Unicode.Scalar, length: Int), at index: Int, _ kind: QuoteKind) -> Bool {
    let next = index + mark.length
    if mark.scalar == "\"" { return !isFollowedByStructure(next) }
    return kind == .single && next < bytes.count && bytes[next].isLetter
  }

  private mutating func reportQuotes(
    _ opening: Unicode.Scalar, _ closing: Unicode.Scalar, around text: String, at start: Int
  ) {
    let isTyped = opening == "'" && closing == "'"
    let marks = opening == closing ? opening.named : "\(opening.named) and \(closing.named)"
    let mended =
      text.utf8.count <= 256 ? String(decoding: LintValue(kind: .string(text), range: 0..<0).json, as: UTF8.self) : nil
    faults.reportText(
      isTyped ? .singleQuote : .typographicQuote, at: start,
      isTyped ? "the text is between apostrophes" : "the text is between \(marks), which JSON does not have",
      mend: #"write it between " and ""#, replacement: mended, isMended: true)
  }

  // MARK: Contents

  private mutating func decoded(_ range: Range<Int>, between kind: QuoteKind = .double) -> String {
    var text: [UInt8] = []
    text.reserveCapacity(range.count)
    var index = range.lowerBound
    while index < range.upperBound {
      let byte = bytes[index]
      switch byte {
      case UInt8(ascii: "\\") where kind == .single && bytes[index...].starts(with: #"\'"#.utf8):
        text.append(UInt8(ascii: "'"))
        index += 2
      case UInt8(ascii: "\\"): index += appendEscape(at: index, before: range.upperBound, to: &text)
      case 0..<0x20:
        reportControl(byte, at: index)
        text.append(byte)
        index += 1
      default:
        let length = bytes.scalarLength(at: index)
        if length == nil {
          faults.reportText(
            .invalidUTF8, at: index, "this byte, \(byte.hexadecimal), is not UTF-8", mend: "send the text as UTF-8")
        }
        text.append(contentsOf: length.map { bytes[index..<(index + $0)] } ?? [0xEF, 0xBF, 0xBD])
        index += length ?? 1
      }
    }
    return String(decoding: text, as: UTF8.self)
  }

  private mutating func reportControl(_ byte: UInt8, at index: Int) {
    guard byte != 0 else {
      faults.reportText(
        .nulByte, at: index, "U+0000 is in a text, which may end there", mend: "remove it", replacement: "")
      return
    }
    let escape = [0x0A: #"\n"#, 0x0D: #"\r"#, 0x09: #"\t"#][byte] ?? #"\u00"# + byte.hexadecimal.dropFirst(2)
    faults.reportText(
      .controlCharacter, at: index, "\(Unicode.Scalar(byte).named) is not escaped in a text", mend: "write \(escape)",
      replacement: escape,
      isMended: true)
  }

  /// Appends the character of an escape.
  /// - Returns: The length of the escape in bytes.
  private mutating func appendEscape(at index: Int, before end: Int, to text: inout [UInt8]) -> Int {
    guard index + 1 < end else {
      faults.reportText(
        .badEscape, at: index, "nothing follows this backslash", mend: #"write \\"#, replacement: #"\\"#)
      return 1
    }
    let plain: [UInt8: UInt8] = [0x22: 0x22, 0x5C: 0x5C, 0x2F: 0x2F, 0x62: 8, 0x66: 12, 0x6E: 10, 0x72: 13, 0x74: 9]
    if let byte = plain[bytes[index + 1]] {
      text.append(byte)
      return 2
    }
    guard bytes[index + 1] == UInt8(ascii: "u") else {
      let found = bytes.scalar(at: index + 1).map { String($0.scalar) } ?? "?"
      faults.reportText(
        .badEscape, at: index, "a backslash before \(found.quoted) means nothing", mend: #"leave it out, or write \\"#)
      return 1
    }
    guard let unit = unit(at: index, before: end) else {
      faults.reportText(.badEscape, at: index, #"\u needs four hexadecimal digits"#, mend: #"write them, or \\u"#)
      return 2
    }
    if !(0xD800...0xDFFF).contains(unit) {
      text.append(contentsOf: String(Unicode.Scalar(unit) ?? "\u{FFFD}").utf8)
      return 6
    }
    if unit < 0xDC00, let low = self.unit(at: index + 6, before: end), (0xDC00...0xDFFF).contains(low) {
      let value = 0x10000 + (UInt32(unit - 0xD800) << 10) + UInt32(low - 0xDC00)
      text.append(contentsOf: String(Unicode.Scalar(value) ?? "\u{FFFD}").utf8)
      return 12
    }
    faults.reportText(
      .loneSurrogate, at: index, "this is half of a surrogate pair, which is not a character",
      mend: "write both halves, or the character itself")
    text.append(contentsOf: "\u{FFFD}".utf8)
    return 6
  }

  /// Returns the code unit of `\uXXXX`.
  private func unit(at index: Int, before end: Int) -> UInt16? {
    guard index + 6 <= end, bytes[index] == UInt8(ascii: "\\"), bytes[index + 1] == UInt8(ascii: "u") else {
      return nil
    }
    let digits = bytes[(index + 2)..<(index + 6)]
    guard digits.allSatisfy({ $0.isDigit || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains($0 | 0x20) }) else {
      return nil
    }
    return UInt16(String(decoding: digits, as: UTF8.self), radix: 16)
  }
}

/// The kinds of quotation marks that are used instead of straight ones.
private enum QuoteKind {
  case double, single

  init?(_ mark: Unicode.Scalar) {
    switch mark {
    case "“", "”", "„", "‟", "″", "«", "»", "＂", "〝", "〞": self = .double
    case "'", "‘", "’", "‚", "‛", "′", "`", "´", "＇", "‹", "›": self = .single
    default: return nil
    }
  }
}

extension Unicode.Scalar {
  fileprivate func closes(_ kind: QuoteKind) -> Bool { QuoteKind(self) == kind || (kind == .double && self == "\"") }
}
