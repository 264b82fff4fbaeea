// SPDX-License-Identifier: Apache-2.0

/// A page of the site, as it is read.
struct Page {
  let name: String
  /// In the navigation.
  let title: String
  /// Its one heading of the first level.
  var heading: [Inline]
  var blocks: [Block]
  /// The files that it is made from.
  let sources: [String]

  /// What it has headings for, with what these have below them.
  var contents: [(section: Heading, parts: [Heading])] {
    blocks.compactMap(\.heading).reduce(into: []) { contents, heading in
      if heading.level == 2 {
        contents.append((heading, []))
      } else if heading.level == 3, !contents.isEmpty {
        contents[contents.count - 1].parts.append(heading)
      }
    }
  }

  var anchors: Set<String> { Set(blocks.compactMap { $0.heading?.anchor }) }
}
