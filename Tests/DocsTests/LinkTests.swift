// SPDX-License-Identifier: Apache-2.0
import Foundation
import Testing

@testable import docs

@Suite struct LinkTests {
  private static let files = [
    "A.md": "# A\n\n## Part one\n\n[x](LINK)\n",
    "d/B.md": "# B\n\n## Part two\n",
    "s/c.swift": "", "web/d.js": "", "web/d.ts": "", "Sources/RelayHTTP/Documents/asyncapi.json": "{}",
  ]

  private func link(_ address: String, in text: String = "[x](LINK)") throws -> String {
    var files = Self.files
    files["A.md"] = files["A.md"]?.replacing("[x](LINK)", with: text.replacing("LINK", with: address))
    let page = try TemporaryCheckout(files).site(of: "A.md", "d/B.md").pages[0]
    return try #require(page.text.split(separator: "\n").last.map(String.init))
  }

  @Test(arguments: [
    ("d/B.md", "<a href=\"b.html\">x</a>"),
    ("./d/../d/B.md", "<a href=\"b.html\">x</a>"),
    ("d/B.md#part-two", "<a href=\"b.html#part-two\">x</a>"),
    // A page's own heading is its beginning.
    ("d/B.md#b", "<a href=\"b.html\">x</a>"),
    ("#part-one", "<a href=\"a.html#part-one\">x</a>"),
    ("https://example.org/a", "<a href=\"https://example.org/a\">x</a>"),
    ("mailto:ops@example.org", "<a href=\"mailto:ops@example.org\">x</a>"),
    // The relay serves its page's files; not what describes them to a compiler.
    ("web/d.js", "<a href=\"../d.js\">x</a>"),
    ("web/d.ts", "x (<code>web/d.ts</code>)"),
    ("Sources/RelayHTTP/Documents/asyncapi.json", "<a href=\"../asyncapi.json\">x</a>"),
    ("s/c.swift", "x (<code>s/c.swift</code>)"),
    ("s", "x (<code>s</code>)"),
  ])
  func `a link through the repository is one on the site`(address: String, html: String) throws {
    #expect(try link(address) == "<p>\(html)</p>")
  }

  @Test func `a file that is named already is not named twice`() throws {
    #expect(try link("s/c.swift", in: "[`c.swift`](LINK)") == "<p><code>s/c.swift</code></p>")
  }

  @Test(arguments: [
    "d/C.md", "d/B.md#part-three", "#part-two", "../A.md", "/d/B.md", "s/c.swift/e", "doc:Elsewhere", "d/b.md",
    "javascript:alert(1)", "data:text/html,x",
  ])
  func `a link that leads nowhere is refused with its line`(address: String) throws {
    let faults = #expect(throws: Faults.self) { _ = try link(address) }
    #expect(faults?.all.map(\.description) == ["A.md:5: error: the link to \(address) leads nowhere"])
  }

  @Test func `every fault is told at once, in tables and lists too`() throws {
    let text = "# A\n\n- a\n- [b](C.md)\n\n| a |\n|---|\n| *[b](D.md)* |\n"
    let checkout = try TemporaryCheckout(["A.md": text])
    let faults = #expect(throws: Faults.self) { try checkout.site(of: "A.md") }
    #expect(faults?.all.map(\.place.line) == [4, 8])
  }

  @Test func `a folder is what it is opened with`() throws {
    let files = [
      "README.md": "[a](d/) [b](Kit.docc)", "d/README.md": "# D", "Kit.docc/Kit.md": "# ``Kit``\n\n<doc:Start>",
      "Kit.docc/Start.md": "# Start now\n\n## Overview\n\nFirst.\n\n### Then\n\nSee ``Room/read(upTo:)`` and `a/b`.",
    ]
    let site = try TemporaryCheckout(files).site([
      Plan.Page(name: "index", title: "I", parts: [.file("README.md")]),
      Plan.Page(name: "d", title: "D", parts: [.file("d/README.md")]),
      Plan.Page(name: "kit", title: "Kit", parts: [.file("Kit.docc/Kit.md")]),
      Plan.Page(name: "start", title: "Start", parts: [.file("Kit.docc/Start.md")]),
    ])
    #expect(site.pages[0].text == "<p><a href=\"d.html\">a</a> <a href=\"kit.html\">b</a></p>\n")
    #expect(site.pages[2].heading == [.code("Kit")])
    #expect(site.pages[2].text == "<p><a href=\"start.html\">Start</a></p>\n")
    // DocC's "Overview" is the text itself, and its links to symbols are code.
    #expect(site.pages[3].text.hasPrefix("<p>First.</p>\n<h2 id=\"then\">"))
    #expect(
      site.pages[3].text.hasSuffix("<p>See <code>Room.read(upTo:)</code> and <code>a/b</code>.</p>\n"))
  }

  @Test func `a picture comes along`() throws {
    let checkout = try TemporaryCheckout(["A.md": "![two phones](.d/e.png)", ".d/e.png": "PNG"])
    let site = try checkout.site(of: "A.md")
    #expect(site.pages[0].text == "<p><img src=\"e.png\" alt=\"two phones\"></p>\n")
    #expect(site.pictures == ["e.png": ".d/e.png"])
  }

  @Test func `pictures of one name from two folders are refused`() throws {
    let checkout = try TemporaryCheckout(["A.md": "![a](a/e.png)\n![b](b/e.png)", "a/e.png": "", "b/e.png": ""])
    let faults = #expect(throws: Faults.self) { try checkout.site(of: "A.md") }
    #expect(faults?.all.map(\.place) == [Place(file: "A.md", line: 2)])
  }
}
