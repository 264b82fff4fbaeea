// SPDX-License-Identifier: Apache-2.0

/// HTML as it grows. Texts get in through ``text(_:)`` and attributes alone, so that whatever they are they stay texts.
struct HTML {
  private(set) var source = ""

  mutating func text(_ text: String) {
    for character in text.unicodeScalars {
      switch character {
      case "&": source += "&amp;"
      case "<": source += "&lt;"
      case ">": source += "&gt;"
      case "\"": source += "&quot;"
      default: source.unicodeScalars.append(character)
      }
    }
  }

  /// An element that has nothing inside and no end. Attributes that are nil are left out.
  mutating func void(_ name: StaticString, _ attributes: KeyValuePairs<StaticString, String?> = [:]) {
    source += "<\(name)"
    for (name, value) in attributes {
      guard let value else { continue }
      source += " \(name)=\""
      text(value)
      source += "\""
    }
    source += ">"
  }

  mutating func element(
    _ name: StaticString, _ attributes: KeyValuePairs<StaticString, String?> = [:], _ inside: (inout HTML) -> Void
  ) {
    void(name, attributes)
    inside(&self)
    source += "</\(name)>"
  }

  /// For those who look at the source.
  mutating func newLine() { source += "\n" }

  static func document(_ inside: (inout HTML) -> Void) -> String {
    var html = HTML()
    html.source = "<!doctype html>\n"
    inside(&html)
    html.newLine()
    return html.source
  }
}
