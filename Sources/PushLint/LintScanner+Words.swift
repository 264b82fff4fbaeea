// SPDX-License-Identifier: Apache-2.0
// Words, literals and numbers.

extension LintScanner {
  /// Parses a word: letters, digits, `_`, `$` and `-`.
  mutating func word(isKey: Bool = false) -> String? {
    let start = at
    while at < bytes.count {
      let byte = bytes[at]
      let isOfWord =
        byte.isLetter || byte.isDigit || byte == UInt8(ascii: "_") || byte == UInt8(ascii: "$")
        || byte == UInt8(ascii: "-")
      // A word cannot begin with the other characters: they begin numbers, or nothing.
      guard isOfWord,
        at > start || byte.isLetter || byte == UInt8(ascii: "_") || byte == UInt8(ascii: "$") || (isKey && byte.isDigit)
      else { break }
      at += 1
    }
    return at == start ? nil : String(decoding: bytes[start..<at], as: UTF8.self)
  }

  mutating func literal(_ word: String, at start: Int) -> LintValue {
    let range = start..<at
    switch word {
    case "true": return LintValue(kind: .bool(true), range: range)
    case "false": return LintValue(kind: .bool(false), range: range)
    case "null": return LintValue(kind: .null, range: range)
    case "NaN", "Infinity", "inf", "nan":
      faults.reportText(
        .numberNotFinite, at: start, "JSON has no \(word)", mend: "write a number, or leave the key out")
      losePart()
      return LintValue(kind: .broken, range: range)
    default: break
    }
    let meanings: [String: (String, LintValue.Kind)] = [
      "True": ("true", .bool(true)), "TRUE": ("true", .bool(true)), "False": ("false", .bool(false)),
      "FALSE": ("false", .bool(false)), "None": ("null", .null), "nil": ("null", .null), "NULL": ("null", .null),
      "Null": ("null", .null), "undefined": ("null", .null),
    ]
    if let (spelling, kind) = meanings[word] {
      faults.reportText(
        .literalSpelling, at: start, "JSON has no \(word)", mend: "write \(spelling)", replacement: spelling,
        isMended: true)
      return LintValue(kind: kind, range: range)
    }
    faults.reportText(
      .unquotedText, at: start, "\(word.quoted) has no quotation marks", mend: "put the text into quotation marks",
      replacement: "\"\(word.clipped)\"")
    return LintValue(kind: .string(word), range: range)
  }

  mutating func number() -> LintValue {
    let start = at
    while at < bytes.count,
      bytes[at].isLetter || bytes[at].isDigit || bytes[at] == UInt8(ascii: "_")
        || [0x2B, 0x2D, 0x2E].contains(bytes[at])
    {
      at += 1
    }
    let range = start..<at
    let spelling = String(decoding: bytes[range], as: UTF8.self)
    if spelling.isNumber {
      if Double(spelling)?.isFinite != true {
        faults.reportText(
          .numberTooLarge, at: start, "\(spelling.clipped) is too large for a number", mend: "write it as a text")
        losePart()
        return LintValue(kind: .broken, range: range)
      }
      return LintValue(kind: .number(spelling), range: range)
    }
    let rest = String(spelling.drop { $0 == "+" || $0 == "-" })
    if ["infinity", "inf", "nan"].contains(rest.lowercased()) {
      faults.reportText(
        .numberNotFinite, at: start, "JSON has no \(spelling.clipped)", mend: "write a number, or leave the key out")
    } else if spelling.first == "+", rest.isNumber, spelling.count == rest.count + 1 {
      faults.reportText(
        .numberPlusSign, at: start, "a number has no plus sign: \(spelling.clipped)", mend: "remove it",
        replacement: rest,
        isMended: true)
      return LintValue(kind: .number(rest), range: range)
    } else if rest.first == "0", rest.utf8.dropFirst().first.map(\.isDigit) == true {
      faults.reportText(
        .numberLeadingZero, at: start, "\(spelling.clipped) begins with 0, which JSON does not allow",
        mend: "remove the 0, or write a text if it is not a number")
    } else {
      faults.reportText(
        .numberForm, at: start, "\(spelling.clipped) is not a number in JSON",
        mend: "digits, then perhaps a point and digits, then perhaps an exponent; or put a text into quotation marks")
    }
    losePart()
    return LintValue(kind: .broken, range: range)
  }
}

extension UInt8 {
  var isDigit: Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self) }
  var isLetter: Bool { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(self | 0x20) }
}

extension String {
  /// True if the text is a number of JSON (RFC 8259, section 6).
  var isNumber: Bool {
    var rest = utf8[...]
    func digits() -> Bool {
      let count = rest.prefix(while: \.isDigit).count
      rest = rest.dropFirst(count)
      return count > 0
    }
    if rest.first == UInt8(ascii: "-") { rest.removeFirst() }
    if rest.first == UInt8(ascii: "0") { rest.removeFirst() } else if !digits() { return false }
    if rest.first == UInt8(ascii: ".") {
      rest.removeFirst()
      if !digits() { return false }
    }
    if let mark = rest.first, mark | 0x20 == UInt8(ascii: "e") {
      rest.removeFirst()
      if rest.first == UInt8(ascii: "+") || rest.first == UInt8(ascii: "-") { rest.removeFirst() }
      if !digits() { return false }
    }
    return rest.isEmpty
  }
}
