// SPDX-License-Identifier: Apache-2.0

extension HTML {
  mutating func inlines(_ inlines: [Inline]) {
    for inline in inlines { self.inline(inline) }
  }

  private mutating func inline(_ inline: Inline) {
    switch inline {
    case .text(let text): self.text(text)
    case .code(let code): element("code", ["class": Self.staysWhole(code) ? "whole" : nil]) { $0.text(code) }
    case .emphasis(let inner): element("em") { $0.inlines(inner) }
    case .strong(let inner): element("strong") { $0.inlines(inner) }
    case .link(let link, let inner): element("a", ["href": link.destination.address]) { $0.inlines(inner) }
    case .image(let link, let alternative):
      void("img", ["src": link.destination.address, "alt": alternative])
    case .softBreak: newLine()
    case .lineBreak: void("br")
    }
  }
}

extension HTML {
  /// A word with hyphens that fits into a line of the narrowest screen.
  private static func staysWhole(_ code: String) -> Bool {
    code.contains("-") && !code.contains(" ") && code.count <= 28
  }
}

extension Link.Destination {
  /// For a page of the site, all of which are in one folder.
  var address: String {
    switch self {
    case .page(let page, let anchor): (page == "index" ? "./" : page + ".html") + (anchor.map { "#" + $0 } ?? "")
    case .address(let address): address
    case .written(let address): preconditionFailure("the link to \(address) was not resolved")
    }
  }
}
