// SPDX-License-Identifier: Apache-2.0

/// What of which file is on which page.
struct SiteMap {
  struct Target: Equatable {
    let page: String
    /// nil: the page as a whole.
    let anchor: String?
  }

  /// By page.
  private(set) var anchors: [String: Set<String>] = [:]
  private(set) var titles: [String: String] = [:]
  /// The first page that has something of a file.
  private(set) var pages: [String: String] = [:]
  /// By file, then by the anchor of a heading in it.
  private(set) var headings: [String: [String: Target]] = [:]

  mutating func add(_ page: Page) {
    anchors[page.name] = page.anchors
    titles[page.name] = page.title
    for file in page.sources where pages[file] == nil { pages[file] = page.name }
  }

  mutating func add(_ heading: Heading, of file: String, to page: String, isTitle: Bool) {
    headings[file, default: [:]][heading.anchor] = Target(page: page, anchor: isTitle ? nil : heading.anchor)
  }
}
