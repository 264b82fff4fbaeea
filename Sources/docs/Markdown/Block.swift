// SPDX-License-Identifier: Apache-2.0

/// A part of a page, whichever source it is made from.
indirect enum Block: Equatable, Sendable {
  case heading(Heading)
  case paragraph([Inline])
  case code(String)
  case list(List)
  case quote([Block])
  case table(Table)
  case rule
  /// A method and a path of the HTTP API.
  case endpoint(method: String, path: String)
}

struct Heading: Equatable, Sendable {
  /// 1 to 6.
  var level: Int
  /// What links lead to, unique in its document.
  var anchor: String
  var text: [Inline]
  var line: Int?
}

struct List: Equatable, Sendable {
  /// The number of the first item, of a numbered list.
  var start: Int?
  /// Whether the items are lines rather than paragraphs.
  var isTight: Bool
  var items: [[Block]]
}

struct Table: Equatable, Sendable {
  /// Without any text: the table has no header, and its rows are named by their first cells.
  var header: [[Inline]]
  var rows: [[[Inline]]]
}

extension Block {
  /// The same with other texts, in its parts too.
  func mapTexts(_ transform: ([Inline]) -> [Inline]) -> Block {
    switch self {
    case .heading(var heading):
      heading.text = transform(heading.text)
      return .heading(heading)
    case .paragraph(let text): return .paragraph(transform(text))
    case .list(var list):
      list.items = list.items.map { $0.map { $0.mapTexts(transform) } }
      return .list(list)
    case .quote(let blocks): return .quote(blocks.map { $0.mapTexts(transform) })
    case .table(let table):
      return .table(Table(header: table.header.map(transform), rows: table.rows.map { $0.map(transform) }))
    case .code, .rule, .endpoint: return self
    }
  }

  var heading: Heading? {
    if case .heading(let heading) = self { heading } else { nil }
  }
}
