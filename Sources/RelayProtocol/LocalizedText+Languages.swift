// SPDX-License-Identifier: Apache-2.0

extension LocalizedText {
  /// Returns the text for a user who reads these languages, the preferred one first: `Locale.preferredLanguages`.
  ///
  /// Each language is looked up by RFC 4647, section 3.4: `de-AT` uses the text of `de` if it has no text of its own.
  /// If no language has a text, the default is returned, and without a default the empty text.
  public func text(for languages: [String]) -> String {
    switch self {
    case .text(let text): return text
    case .languages(let texts):
      let known = Dictionary(texts.map { ($0.key.lowercased(), $0.value) }) { first, _ in first }
      for language in languages {
        if let text = Self.match(language, in: known) { return text }
      }
      return known[Self.defaultTag] ?? ""
    }
  }

  /// Returns the value for a language tag: `de-AT` uses the value of `de` if it has none of its own (RFC 4647, section
  /// 3.4).
  /// - Parameter values: The values by language tag in lower case.
  public static func match<Value>(_ language: String, in values: [String: Value]) -> Value? {
    var tag = language.lowercased()[...]
    while !tag.isEmpty {
      if tag != defaultTag, let value = values[String(tag)] { return value }
      tag = tag.lastIndex(of: "-").map { tag[..<$0] } ?? ""
      // RFC 4647 removes a single letter together with the subtag that it introduces.
      if tag.dropLast().last == "-" { tag = tag.dropLast(2) }
    }
    return nil
  }
}

extension String {
  /// True if the text has the form of a language tag (BCP 47): parts of 1 to 8 letters and digits, and only letters in
  /// the first part.
  public var isLanguageTag: Bool {
    guard (1...LocalizedText.maxTagLength).contains(utf8.count) else { return false }
    let parts = split(separator: "-", omittingEmptySubsequences: false)
    return parts[0].utf8.allSatisfy(\.isLetter)
      && parts.allSatisfy { (1...8).contains($0.utf8.count) && $0.utf8.allSatisfy { $0.isLetter || $0.isDigit } }
  }
}

extension UInt8 {
  fileprivate var isLetter: Bool { (0x61...0x7a).contains(self | 0x20) }
  fileprivate var isDigit: Bool { (0x30...0x39).contains(self) }
}
