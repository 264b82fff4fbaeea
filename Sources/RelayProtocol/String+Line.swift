// SPDX-License-Identifier: Apache-2.0

// The rule for texts of one line: names, titles, statuses, reactions, and the texts of buttons. Phones and apps show
// them in one line, often beside words of the relay or of the system. So no such text may begin another line, or change
// the order of the words around it. Imports nothing.

extension String {
  /// True if the text is one line: it has no control characters and no line breaks, and none of the characters that
  /// begin or end a part of bidirectional text (U+202A to U+202E, U+2066 to U+2069).
  ///
  /// The marks U+200E and U+200F are allowed, and so are the joiners of emoji.
  public var isLine: Bool {
    // Most texts are ASCII.
    utf8.allSatisfy { (0x20..<0x7F).contains($0) } || !unicodeScalars.contains(where: \.isOutsideLines)
  }

  /// The text as one line. A line break or a tab becomes a space, and the other characters that no line has are
  /// removed. Is `nil` if nothing is left of the text.
  public var asLine: String? {
    guard !isLine else { return self }
    var line = String.UnicodeScalarView()
    for scalar in unicodeScalars {
      if !scalar.isOutsideLines {
        line.append(scalar)
      } else if scalar.properties.isWhitespace, let last = line.last, last != " " {
        line.append(" ")
      }
    }
    return line.isEmpty ? nil : String(line)
  }

  /// The error about a text for which ``isLine`` is false.
  public static let mustBeLine =
    "must be one line, without control characters and without U+202A to U+202E and U+2066 to U+2069"
}

extension Unicode.Scalar {
  /// True for a character that no text of one line has. U+2028 and U+2029 are line breaks.
  fileprivate var isOutsideLines: Bool {
    switch value {
    case 0...0x1F, 0x7F...0x9F, 0x2028...0x202E, 0x2066...0x2069: true
    default: false
    }
  }
}
