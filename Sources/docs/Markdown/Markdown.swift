// SPDX-License-Identifier: Apache-2.0

/// Reads Markdown into values, through cmark. What the site cannot show, like HTML, is a fault and not dropped.
struct Markdown {
  private let file: String
  /// Of a file; nil of a text inside another document, whose lines are not those of the file.
  private let lines: [Substring]?
  private var slugs = Slugs()
  private var faults: [Fault] = []

  private init(file: String, lines: [Substring]?) {
    self.file = file
    self.lines = lines
  }

  /// The blocks of a whole file.
  static func blocks(of text: String, file: String) throws(Faults) -> [Block] {
    try read(text, Markdown(file: file, lines: text.split(separator: "\n", omittingEmptySubsequences: false)))
  }

  /// The blocks of a text that `file` holds in another form.
  static func blocks(in text: String, from file: String) throws(Faults) -> [Block] {
    try read(text, Markdown(file: file, lines: nil))
  }

  private static func read(_ text: String, _ markdown: Markdown) throws(Faults) -> [Block] {
    var markdown = markdown
    let document = Document(text)
    let blocks = document.root.children.flatMap { markdown.blocks($0) }
    guard markdown.faults.isEmpty else { throw Faults(all: markdown.faults) }
    return blocks
  }

  private func place(_ node: Node) -> Place {
    Place(file: file, line: lines == nil ? nil : node.line)
  }
}

extension Markdown {
  private mutating func blocks(_ nodes: [Node]) -> [Block] {
    nodes.flatMap { blocks($0) }
  }

  private mutating func blocks(_ node: Node) -> [Block] {
    switch node.type {
    case "heading":
      let text = inlines(node.children)
      return [
        .heading(Heading(level: node.headingLevel, anchor: slugs.slug(of: text.plain), text: text, line: node.line))
      ]
    case "paragraph": return [.paragraph(inlines(node.children))]
    case "code_block": return [.code(node.literal)]
    case "list":
      let items = node.children.map { blocks($0.children) }
      return [.list(List(start: node.listStart, isTight: node.isTight, items: items))]
    case "block_quote": return [.quote(blocks(node.children))]
    case "thematic_break": return [.rule]
    case "table":
      let rows = node.children.map { row in row.children.map { inlines($0.children) } }
      return [.table(Table(header: rows.first ?? [], rows: Array(rows.dropFirst())))]
    case let type:
      faults.append(Fault(place(node), "the site cannot show this (\(type)); write Markdown without HTML"))
      return []
    }
  }

  private mutating func inlines(_ nodes: [Node]) -> [Inline] {
    nodes.reduce(into: []) { inlines, node in
      let next = inline(node)
      // cmark cuts texts at whatever might have had a meaning.
      if case .text(let text) = next, case .text(let before) = inlines.last {
        inlines[inlines.count - 1] = .text(before + text)
      } else if let next {
        inlines.append(next)
      }
    }
  }

  private mutating func inline(_ node: Node) -> Inline? {
    switch node.type {
    case "text": return .text(node.literal)
    case "code": return .code(isSymbol(node) ? Self.symbol(node.literal) : node.literal)
    case "softbreak": return .softBreak
    case "linebreak": return .lineBreak
    case "emph": return .emphasis(inlines(node.children))
    case "strong": return .strong(inlines(node.children))
    case "link": return .link(Link(destination: .written(node.address), place: place(node)), inlines(node.children))
    case "image":
      let alternative = inlines(node.children).plain
      if alternative.isEmpty { faults.append(Fault(place(node), "an image needs words for who cannot see it")) }
      return .image(Link(destination: .written(node.address), place: place(node)), alternative: alternative)
    case let type:
      faults.append(Fault(place(node), "the site cannot show this (\(type)); write Markdown without HTML"))
      return nil
    }
  }
}

extension Markdown {
  /// Whether it is a link to a symbol: DocC's code between two backticks, which to cmark is code like other code.
  private func isSymbol(_ node: Node) -> Bool {
    guard file.contains(".docc/"), let lines, lines.indices.contains(node.line - 1) else { return false }
    // The column is that of the first byte behind the backticks, from 1.
    return lines[node.line - 1].utf8.prefix(node.column - 1).suffix(2).elementsEqual("``".utf8)
  }

  /// `Room/read(upTo:)` as Swift writes it. A module's name before it tells a reader nothing.
  private static func symbol(_ path: String) -> String {
    var names = path.split(separator: "/")
    if names.count > 1, names[0] == "StillwireClient" { names.removeFirst() }
    return names.joined(separator: ".")
  }
}
