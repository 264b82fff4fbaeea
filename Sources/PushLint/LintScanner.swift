// SPDX-License-Identifier: Apache-2.0

/// A JSON parser that continues after mistakes and reports each of them.
///
/// It reads every byte a bounded number of times. Values nest at most ``PushLint/maxDepth`` deep.
struct LintScanner {
  let bytes: [UInt8]
  var at = 0
  var faults: FaultList
  /// True if every value of the text was read. Only then may rules report missing keys.
  private(set) var isWhole = true
  /// True if parsing has stopped and the cause was reported.
  private var isStopped = false
  private var openObjects = 0
  private var openArrays = 0

  init(_ bytes: [UInt8], isLenient: Bool) {
    self.bytes = bytes
    faults = FaultList(isLenient: isLenient)
  }

  /// Returns the value of the text, or `nil` if there is nothing to read.
  mutating func scan() -> LintValue? {
    if bytes.starts(with: [0xFE, 0xFF]) || bytes.starts(with: [0xFF, 0xFE]) {
      faults.reportText(
        .invalidUTF8, at: 0, "this begins like UTF-16, and Apple's service reads UTF-8", mend: "send it as UTF-8")
      return nil
    }
    if bytes.starts(with: [0xEF, 0xBB, 0xBF]) {
      faults.reportText(
        .byteOrderMark, at: 0, "the text begins with U+FEFF, a byte order mark", mend: "remove it", replacement: "",
        isMended: true)
      at = 3
    }
    skipSpace()
    guard at < bytes.count else {
      faults.reportText(.textEmpty, at: 0, "the text is empty", mend: "a payload is an object with aps in it")
      return nil
    }
    let root = value(depth: 0)
    skipSpace()
    if at < bytes.count, isWhole { reportRest() }
    return root
  }

  private mutating func reportRest() {
    let isBracket = bytes[at] == UInt8(ascii: "}") || bytes[at] == UInt8(ascii: "]")
    let words =
      isBracket
      ? "this bracket closes nothing: the payload ends before it"
      : "\(bytes.count - at) bytes follow the end of the payload"
    faults.reportText(.bytesAfterEnd, at: at, words, mend: "remove what follows the payload")
  }

  /// Stops parsing here.
  mutating func stop() {
    isWhole = false
    isStopped = true
    at = bytes.count
  }

  mutating func losePart() { isWhole = false }

  private func peek(_ mark: Unicode.Scalar) -> Bool { at < bytes.count && bytes[at] == UInt8(ascii: mark) }

  // MARK: Values

  private mutating func value(depth: Int) -> LintValue {
    let start = at
    guard at < bytes.count else { return missingValue() }
    switch bytes[at] {
    case UInt8(ascii: "{"): return nested(depth) { $0.object(depth: depth + 1) }
    case UInt8(ascii: "["): return nested(depth) { $0.array(depth: depth + 1) }
    case UInt8(ascii: "}"), UInt8(ascii: "]"), UInt8(ascii: ","), UInt8(ascii: ":"): return missingValue()
    case UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "0")...UInt8(ascii: "9"):
      return number()
    default: break
    }
    if let text = string(isKey: false) { return LintValue(kind: .string(text), range: start..<at) }
    if let word = word() { return literal(word, at: start) }
    skipUnexpected()
    return LintValue(kind: .broken, range: start..<at)
  }

  private mutating func nested(_ depth: Int, _ read: (inout LintScanner) -> LintValue) -> LintValue {
    guard depth < PushLint.maxDepth else {
      faults.reportText(
        .nestingTooDeep, at: at, "more than \(PushLint.maxDepth) arrays and objects are inside each other",
        mend: "the contents of this value are not checked")
      defer { stop() }
      return LintValue(kind: .broken, range: at..<bytes.count)
    }
    return read(&self)
  }

  private mutating func missingValue() -> LintValue {
    guard !isStopped else { return LintValue(kind: .broken, range: at..<at) }
    faults.reportText(
      .missingValue, at: min(at, bytes.count - 1), "a value is missing here", mend: "write the value, or remove the key"
    )
    if at < bytes.count { isWhole = false } else { stop() }
    return LintValue(kind: .broken, range: at..<at)
  }

  private mutating func skipUnexpected() {
    let start = at
    repeat {
      at += bytes.scalarLength(at: at) ?? 1
    } while at < bytes.count && !isStructure(bytes[at]) && !isBlank(bytes[at]) && bytes[at] != UInt8(ascii: "\"")
    let found = bytes.scalar(at: start)
    faults.reportText(
      found == nil ? .invalidUTF8 : .unexpectedCharacter, at: start,
      found.map { "\($0.scalar.named) cannot begin a value" } ?? "this byte, \(bytes[start].hexadecimal), is not UTF-8",
      mend: "remove it, or put the text into quotation marks")
    isWhole = false
  }

  // MARK: Objects

  private mutating func object(depth: Int) -> LintValue {
    let start = at
    var members: [LintMember] = []
    var keys: Set<String> = []
    var separator = Separator()
    openObjects += 1
    defer { openObjects -= 1 }
    at += 1
    while true {
      skipSpace()
      guard let isEnd = endsHere(UInt8(ascii: "}"), opened: start, isOuterOpen: openArrays > 0, &separator) else {
        continue
      }
      if isEnd { return LintValue(kind: .object(members), range: start..<at) }
      let member = member(depth: depth, &separator)
      guard let member else { continue }
      if !keys.insert(member.key).inserted {
        faults.reportText(
          .duplicateKey, at: member.keyRange.lowerBound, "\(member.key.quoted) is given twice in this object",
          mend: "keep one of them: which one counts differs from parser to parser")
      }
      members.append(member)
    }
  }

  private mutating func member(depth: Int, _ separator: inout Separator) -> LintMember? {
    let start = at
    guard let key = key() else {
      skipWithoutKey(depth: depth, &separator)
      return nil
    }
    let end = at
    requireComma(&separator)
    skipSpace()
    guard !isStopped else { return nil }
    skipColon(after: key, endingAt: end)
    skipSpace()
    let value = value(depth: depth)
    separator.passed(at)
    return LintMember(key: key, keyRange: start..<end, value: value)
  }

  /// Skips a value without a key, or text that is neither.
  private mutating func skipWithoutKey(depth: Int, _ separator: inout Separator) {
    let start = at
    if peek(":") {
      requireComma(&separator)
      faults.reportText(
        .missingKey, at: start, "a key is missing before this colon", mend: "write the key in quotation marks")
      at += 1
      skipSpace()
      _ = value(depth: depth)
    } else {
      // A broken value was reported already.
      guard !value(depth: depth).isBroken else { return }
      requireComma(&separator)
      faults.reportText(
        .missingKey, at: start, "a member of an object needs a key", mend: "write a key and a colon before it")
    }
    isWhole = false
    separator.passed(at)
  }

  private mutating func key() -> String? {
    let start = at
    if let text = string(isKey: true) { return text }
    guard let word = word(isKey: true) else { return nil }
    faults.reportText(
      .unquotedKey, at: start, "the key \(word.quoted) has no quotation marks", mend: "put it into quotation marks",
      replacement: "\"\(word)\"", isMended: true)
    return word
  }

  private mutating func skipColon(after key: String, endingAt end: Int) {
    if peek(":") {
      at += 1
      return
    }
    guard at < bytes.count, !isStructure(bytes[at]) || peek("{") || peek("[") else { return }
    let isEquals = peek("=")
    faults.reportText(
      .missingColon, at: isEquals ? at : end, "\(key.quoted) needs a colon before its value", mend: "write a colon",
      replacement: ":", isMended: true)
    if isEquals { at += peek("=") && at + 1 < bytes.count && bytes[at + 1] == UInt8(ascii: ">") ? 2 : 1 }
  }

  // MARK: Arrays

  private mutating func array(depth: Int) -> LintValue {
    let start = at
    var items: [LintValue] = []
    var separator = Separator()
    openArrays += 1
    defer { openArrays -= 1 }
    at += 1
    while true {
      skipSpace()
      guard let isEnd = endsHere(UInt8(ascii: "]"), opened: start, isOuterOpen: openObjects > 0, &separator) else {
        continue
      }
      if isEnd { return LintValue(kind: .array(items), range: start..<at) }
      if peek(":") {
        faults.reportText(
          .unexpectedCharacter, at: at, "an array has no keys and no colons", mend: "make it an object: { and }")
        isWhole = false
        at += 1
        separator.passed(at, isComma: true)
        continue
      }
      requireComma(&separator)
      items.append(value(depth: depth))
      separator.passed(at)
    }
  }

  // MARK: Between members and items

  /// The position of the previous member or item, and of the comma after it.
  private struct Separator {
    /// The end of the previous member or item. Is `nil` before the first.
    var end: Int?
    /// The position of the comma after it.
    var comma: Int?
    var isFirst: Bool { end == nil }

    mutating func passed(_ end: Int, isComma: Bool = false) {
      self.end = end
      comma = isComma ? end : nil
    }
  }

  private mutating func requireComma(_ separator: inout Separator) {
    guard let end = separator.end, separator.comma == nil else { return }
    faults.reportText(
      .missingComma, at: end, "a comma is missing here", mend: "write a comma", replacement: ",", isMended: true)
  }

  /// Returns true if the object or array ends here, and false if a member or item follows. Returns `nil` after it
  /// skipped a separator or a wrong bracket.
  private mutating func endsHere(
    _ close: UInt8, opened: Int, isOuterOpen: Bool, _ separator: inout Separator
  ) -> Bool? {
    let noun = close == UInt8(ascii: "}") ? "object" : "array"
    guard at < bytes.count else {
      if !isStopped {
        faults.reportText(
          .unclosedBracket, at: opened, "this \(noun) is never closed", mend: "write \(close.spelled) at its end")
        stop()
      }
      return true
    }
    switch bytes[at] {
    case close:
      if let comma = separator.comma {
        faults.reportText(
          .trailingComma, at: comma, "a comma follows the last \(close == UInt8(ascii: "}") ? "member" : "item")",
          mend: "remove it", replacement: "", isMended: true)
      }
      at += 1
      return true
    case UInt8(ascii: "}"), UInt8(ascii: "]"):
      isWhole = false
      if isOuterOpen {
        faults.reportText(
          .unclosedBracket, at: opened, "this \(noun) is not closed before the end of the outer value",
          mend: "write \(close.spelled) at its end")
        return true
      }
      faults.reportText(
        .wrongBracket, at: at, "\(bytes[at].spelled) closes nothing: this is an \(noun)",
        mend: "write \(close.spelled), or remove it")
      at += 1
      return nil
    case UInt8(ascii: ","), UInt8(ascii: ";"):
      if bytes[at] == UInt8(ascii: ";") {
        faults.reportText(
          .unexpectedCharacter, at: at, "a semicolon is in the position of a comma", mend: "write a comma",
          replacement: ",",
          isMended: true)
      }
      if separator.isFirst || separator.comma != nil {
        faults.reportText(
          .extraComma, at: at, "no value is before this comma", mend: "remove it", replacement: "", isMended: true)
      }
      if !separator.isFirst { separator.comma = separator.comma ?? at }
      at += 1
      return nil
    default: return false
    }
  }
}

extension LintScanner {
  func isStructure(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "{"), UInt8(ascii: "}"), UInt8(ascii: "["), UInt8(ascii: "]"), UInt8(ascii: ","),
      UInt8(ascii: ":"):
      true
    default: false
    }
  }

  func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D }
}

extension UInt8 {
  var spelled: String { String(UnicodeScalar(self)) }
  var hexadecimal: String { "0x" + (self < 16 ? "0" : "") + String(self, radix: 16, uppercase: true) }
}

extension Unicode.Scalar {
  /// The code point and the name, such as `U+201C LEFT DOUBLE QUOTATION MARK`. A control character has no name:
  /// `U+000A`.
  var named: String {
    let digits = String(value, radix: 16, uppercase: true)
    let code = "U+" + String(repeating: "0", count: max(0, 4 - digits.count)) + digits
    return properties.name.map { "\(code) \($0)" } ?? code
  }
}
