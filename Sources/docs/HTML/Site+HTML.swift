// SPDX-License-Identifier: Apache-2.0

extension Site {
  /// A page with what is around it. It runs nothing, and names the relay's own files alone.
  func html(of page: Page) -> String {
    HTML.document {
      $0.element("html", ["lang": "en"]) { html in
        html.newLine()
        html.element("head") { head(page, &$0) }
        html.newLine()
        html.element("body") { body(page, &$0) }
      }
    }
  }

  private func head(_ page: Page, _ html: inout HTML) {
    html.void("meta", ["charset": "utf-8"])
    html.void("meta", ["name": "viewport", "content": "width=device-width, initial-scale=1"])
    html.void("meta", ["name": "color-scheme", "content": "light dark"])
    html.element("title") { $0.text("\(page.heading.plain) – Stillwire") }
    html.void("link", ["rel": "icon", "href": "../page/favicon.svg", "type": "image/svg+xml"])
    html.void("link", ["rel": "stylesheet", "href": "../page/base.css"])
    html.void("link", ["rel": "stylesheet", "href": "docs.css"])
  }

  private func body(_ page: Page, _ html: inout HTML) {
    html.element("a", ["class": "skip", "href": "#text"]) { $0.text("Skip to the text") }
    html.element("header", ["class": "masthead"]) {
      $0.element("a", ["class": "home", "href": "../"]) {
        $0.void("img", ["src": "../page/favicon.svg", "alt": "", "width": "28", "height": "28"])
        $0.text("Stillwire")
      }
      $0.element("a", ["class": "section", "href": "./"]) { $0.text("Documentation") }
      $0.element("a", ["class": "menu", "href": "#pages"]) { $0.text("Pages") }
    }
    html.newLine()
    navigation(page, &html)
    html.newLine()
    html.element("main", ["id": "text"]) {
      $0.element("h1") { $0.inlines(page.heading) }
      $0.newLine()
      contents(page, &$0)
      $0.newLine()
      $0.element("article") { $0.blocks(page.blocks) }
      neighbours(page, &$0)
    }
    html.newLine()
    html.element("footer", ["class": "origin"]) {
      $0.element("p") {
        $0.text("Made from ")
        for (index, source) in page.sources.enumerated() {
          if index > 0 { $0.text(", ") }
          $0.element("code") { $0.text(source) }
        }
        $0.text(" of the relay that serves this page.")
      }
    }
  }

  private func navigation(_ page: Page, _ html: inout HTML) {
    html.element("nav", ["class": "pages", "id": "pages", "aria-label": "Documentation"]) {
      $0.element("a", ["class": "close", "href": "#text"]) { $0.text("Close") }
      for (index, group) in plan.groups.enumerated() {
        $0.element("p", ["id": "group-\(index)"]) { $0.text(group.title) }
        $0.element("ul", ["aria-labelledby": "group-\(index)"]) {
          for other in group.pages {
            let isCurrent = other.name == page.name
            $0.element("li") {
              $0.element(
                "a",
                [
                  "href": Link.Destination.page(other.name, anchor: nil).address,
                  "aria-current": isCurrent ? "page" : nil,
                ]
              ) { $0.text(other.title) }
            }
          }
        }
        $0.newLine()
      }
    }
  }

  /// The page's own table of contents, where there is something to choose.
  private func contents(_ page: Page, _ html: inout HTML) {
    guard page.contents.count > 1 else { return }
    html.element("nav", ["class": "contents", "aria-labelledby": "contents"]) {
      $0.element("p", ["id": "contents"]) { $0.text("On this page") }
      $0.element("ul") {
        for (section, parts) in page.contents {
          $0.element("li") {
            $0.element("a", ["href": "#" + section.anchor]) { $0.text(section.text.plain) }
            guard !parts.isEmpty else { return }
            $0.element("ul") {
              for part in parts {
                $0.element("li") { $0.element("a", ["href": "#" + part.anchor]) { $0.text(part.text.plain) } }
              }
            }
          }
        }
      }
    }
  }

  private func neighbours(_ page: Page, _ html: inout HTML) {
    guard let index = pages.firstIndex(where: { $0.name == page.name }) else { return }
    html.element("nav", ["class": "neighbours", "aria-label": "Next to this page"]) {
      if index > 0 { neighbour(pages[index - 1], "prev", "Before: ", &$0) }
      if index + 1 < pages.count { neighbour(pages[index + 1], "next", "Next: ", &$0) }
    }
  }

  private func neighbour(_ page: Page, _ relation: String, _ words: String, _ html: inout HTML) {
    html.element("a", ["href": Link.Destination.page(page.name, anchor: nil).address, "rel": relation]) {
      $0.text(words + page.title)
    }
  }
}
