// SPDX-License-Identifier: Apache-2.0

/// A file of Markdown, cut at its sections.
struct Article {
  struct Section {
    let heading: Heading
    /// Without the heading.
    var blocks: [Block]
  }

  let title: Heading?
  private(set) var introduction: [Block] = []
  private(set) var sections: [Section] = []

  init(_ blocks: [Block]) {
    title = blocks.first?.heading.flatMap { $0.level == 1 ? $0 : nil }
    for block in title == nil ? blocks : Array(blocks.dropFirst()) {
      if let heading = block.heading, heading.level == 2 {
        sections.append(Section(heading: heading, blocks: []))
      } else if sections.isEmpty {
        introduction.append(block)
      } else {
        sections[sections.count - 1].blocks.append(block)
      }
    }
  }

  /// An article as DocC wants it, which has its text in a section `Overview`: that says nothing where the text is at hand.
  mutating func dropOverview() {
    guard let overview = sections.first, overview.heading.text.plain == "Overview" else { return }
    let inner = Article(overview.blocks.map { $0.raised() })
    introduction += inner.introduction
    sections.replaceSubrange(..<1, with: inner.sections)
  }
}

extension Block {
  /// A heading one level nearer to the page's own.
  func raised() -> Block {
    guard case .heading(var heading) = self else { return self }
    heading.level = max(heading.level - 1, 1)
    return .heading(heading)
  }
}
