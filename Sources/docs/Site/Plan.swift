// SPDX-License-Identifier: Apache-2.0

/// Which pages there are, in the order in which they are read, and from what each is made.
struct Plan {
  struct Group {
    let title: String
    let pages: [Page]
  }

  struct Page {
    /// Of its file, without `.html`.
    let name: String
    /// In the navigation; the page's own heading is that of its source, where it has one.
    let title: String
    let parts: [Part]
  }

  enum Part: Equatable {
    /// A file of Markdown, all of it.
    case file(String)
    /// What stands before its first section.
    case introduction(of: String)
    /// A section of it, by its heading.
    case section(String, of: String)
    /// The operations of an OpenAPI document.
    case operations(of: String)
    /// Its objects.
    case schemas(of: String)
  }

  let groups: [Group]
  /// Parts of the same files that are on no page on purpose. Whatever else is on none is a fault.
  let leftOut: [Part]

  var pages: [Page] { groups.flatMap(\.pages) }
}

extension Plan.Part {
  var file: String {
    switch self {
    case .file(let file), .introduction(let file), .section(_, let file), .operations(let file), .schemas(let file):
      file
    }
  }
}
