// SPDX-License-Identifier: Apache-2.0

/// The anchors of one document's headings: those that GitHub gives them, so that one link is right there and here.
struct Slugs {
  private var taken: Set<String> = []

  mutating func slug(of text: String) -> String {
    let slug = String(
      text.lowercased().compactMap { character in
        if character == " " { return "-" }
        return character.isLetter || character.isNumber || character == "-" || character == "_" ? character : nil
      })
    var unique = slug
    var count = 0
    while !taken.insert(unique).inserted {
      count += 1
      unique = "\(slug)-\(count)"
    }
    return unique
  }
}
