// SPDX-License-Identifier: Apache-2.0

extension HTML {
  mutating func blocks(_ blocks: [Block]) {
    for block in blocks {
      self.block(block)
      newLine()
    }
  }

  private mutating func block(_ block: Block) {
    switch block {
    case .heading(let heading): self.heading(heading)
    case .paragraph(let text): element("p") { $0.inlines(text) }
    case .code(let code):
      scroller("pre", label: "Code") { $0.element("code") { $0.text(code) } }
    case .list(let list): self.list(list)
    case .quote(let inner): element("blockquote") { $0.blocks(inner) }
    case .table(let table): self.table(table)
    case .rule: void("hr")
    case .endpoint(let method, let path):
      element("p", ["class": "endpoint"]) {
        $0.element("b") { $0.text(method) }
        $0.text(" ")
        $0.element("code") { $0.text(path) }
      }
    }
  }

  /// What scrolls sideways where it is too wide, which a keyboard must be able to do too.
  private mutating func scroller(_ name: StaticString, label: String, _ inside: (inout HTML) -> Void) {
    element(name, ["class": "scroller", "role": "group", "aria-label": label, "tabindex": "0"], inside)
  }

  private mutating func heading(_ heading: Heading) {
    let inside = { (html: inout HTML) in
      html.inlines(heading.text)
      html.text(" ")
      html.element(
        "a", ["class": "anchor", "href": "#" + heading.anchor, "aria-label": "Link to “\(heading.text.plain)”"]
      ) { $0.text("#") }
    }
    switch heading.level {
    case 1: element("h1") { $0.inlines(heading.text) }
    case 2: element("h2", ["id": heading.anchor], inside)
    case 3: element("h3", ["id": heading.anchor], inside)
    case 4: element("h4", ["id": heading.anchor], inside)
    case 5: element("h5", ["id": heading.anchor], inside)
    default: element("h6", ["id": heading.anchor], inside)
    }
  }

  private mutating func list(_ list: List) {
    let items = { (html: inout HTML) in
      for item in list.items {
        html.element("li") {
          if list.isTight, case .paragraph(let text) = item.first {
            $0.inlines(text)
            $0.blocks(Array(item.dropFirst()))
          } else {
            $0.blocks(item)
          }
        }
      }
    }
    guard let start = list.start else { return element("ul", [:], items) }
    element("ol", ["start": start == 1 ? nil : String(start)], items)
  }

  private mutating func table(_ table: Table) {
    let isNamedByRows = table.header.allSatisfy(\.isEmpty)
    scroller("div", label: "Table") {
      $0.element("table") {
        if !isNamedByRows {
          $0.element("thead") {
            $0.element("tr") {
              for cell in table.header {
                // An empty cell heads nothing.
                if cell.isEmpty {
                  $0.element("td") { _ in }
                } else {
                  $0.element("th", ["scope": "col"]) { $0.inlines(cell) }
                }
              }
            }
          }
        }
        $0.element("tbody") {
          for row in table.rows {
            $0.element("tr") {
              for (column, cell) in row.enumerated() {
                if isNamedByRows && column == 0 && !cell.isEmpty {
                  $0.element("th", ["scope": "row"]) { $0.inlines(cell) }
                } else {
                  $0.element("td") { $0.inlines(cell) }
                }
              }
            }
          }
        }
      }
    }
  }
}
