// SPDX-License-Identifier: Apache-2.0
public import RelayProtocol

extension LocalizedText {
  /// The text for a person who reads these languages, the best one first: `Locale.preferredLanguages`.
  ///
  /// Each language is looked up as RFC 4647, section 3.4, says: `de-AT` takes the text of `de` where there is none of
  /// its own. Else the default; empty: there is not even that.
  public func text(for languages: [String]) -> String {
    switch self {
    case .text(let text): return text
    case .languages(let texts):
      let known = Dictionary(texts.map { ($0.key.lowercased(), $0.value) }) { first, _ in first }
      for language in languages {
        var tag = language.lowercased()[...]
        while !tag.isEmpty {
          if tag != Self.defaultTag, let text = known[String(tag)] { return text }
          tag = tag.lastIndex(of: "-").map { tag[..<$0] } ?? ""
          // A single letter only introduces what followed it.
          if tag.dropLast().last == "-" { tag = tag.dropLast(2) }
        }
      }
      return known[Self.defaultTag] ?? ""
    }
  }
}
