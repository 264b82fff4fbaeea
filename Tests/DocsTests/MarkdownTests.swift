// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import docs

@Suite struct MarkdownTests {
  @Test(arguments: [
    ("a *b* **c** `d`", "<p>a <em>b</em> <strong>c</strong> <code>d</code></p>"),
    (
      "`--port` `-s x` `--\(String(repeating: "x", count: 27))`",
      "<p><code class=\"whole\">--port</code> <code>-s x</code> <code>--\(String(repeating: "x", count: 27))</code></p>"
    ),
    ("one\ntwo  \nthree", "<p>one\ntwo<br>three</p>"),
    ("- a\n- b", "<ul><li>a</li><li>b</li></ul>"),
    ("- a\n\n- b", "<ul><li><p>a</p>\n</li><li><p>b</p>\n</li></ul>"),
    ("1. a\n2. b\n   - c", "<ol><li>a</li><li>b<ul><li>c</li></ul>\n</li></ol>"),
    ("3. a", "<ol start=\"3\"><li>a</li></ol>"),
    ("> a", "<blockquote><p>a</p>\n</blockquote>"),
    ("a\n\n---", "<p>a</p>\n<hr>"),
    (
      "<https://example.org/?a=1&b>",
      "<p><a href=\"https://example.org/?a=1&amp;b\">https://example.org/?a=1&amp;b</a></p>"
    ),
  ])
  func `what Markdown says becomes HTML`(markdown: String, html: String) throws {
    let site = try TemporaryCheckout(["A.md": markdown]).site(of: "A.md")
    #expect(site.pages[0].text == html + "\n")
  }

  @Test(arguments: [
    ("&lt;b&gt; \"x\" & y", "<p>&lt;b&gt; &quot;x&quot; &amp; y</p>\n"),
    ("`<script>`", "<p><code>&lt;script&gt;</code></p>\n"),
    (
      "```js\nif (a < b && \"c\") {}\n```",
      "<pre class=\"scroller\" role=\"group\" aria-label=\"Code\" tabindex=\"0\">"
        + "<code>if (a &lt; b &amp;&amp; &quot;c&quot;) {}\n</code></pre>\n"
    ),
    (
      "[a](https://example.org/\"onclick=\"x)",
      "<p><a href=\"https://example.org/&quot;onclick=&quot;x\">a</a></p>\n"
    ),
  ])
  func `texts stay texts`(markdown: String, html: String) throws {
    #expect(try TemporaryCheckout(["A.md": markdown]).site(of: "A.md").pages[0].text == html)
  }

  @Test func `headings have the anchors that GitHub gives them`() throws {
    let text = "# T\n\n## Say `what`, plainly: it's 1.0!\n\n## Two words\n\n### Two words\n\n## Über_all – a-b"
    let site = try TemporaryCheckout(["A.md": text]).site(of: "A.md")
    #expect(
      site.pages[0].blocks.compactMap { $0.heading?.anchor } == [
        "say-what-plainly-its-10", "two-words", "two-words-1", "über_all--a-b",
      ])
    #expect(site.pages[0].heading == [.text("T")])
    #expect(site.pages[0].text.contains("<h2 id=\"two-words\">Two words <a class=\"anchor\" href=\"#two-words\""))
  }

  @Test func `a table has headers for its columns`() throws {
    let site = try TemporaryCheckout(["A.md": "| a | |\n|---|---|\n| `b\\|c` | d |"]).site(of: "A.md")
    #expect(
      site.pages[0].text.contains(
        "<table><thead><tr><th scope=\"col\">a</th><td></td></tr></thead>"
          + "<tbody><tr><td><code>b|c</code></td><td>d</td></tr></tbody></table>"))
  }

  @Test func `a table without a header has headers for its rows`() throws {
    let site = try TemporaryCheckout(["A.md": "| | |\n|---|---|\n| a | b |"]).site(of: "A.md")
    #expect(
      site.pages[0].text.contains("<table><tbody><tr><th scope=\"row\">a</th><td>b</td></tr></tbody></table>"))
  }

  @Test(arguments: [
    ("a\n\nb <b>c</b>", [3, 3]), ("a\n\n<div>x</div>\n", [3]), ("a\n\n<!-- b -->\n", [3]),
  ])
  func `HTML is refused with its line, and not dropped`(markdown: String, lines: [Int]) throws {
    let checkout = try TemporaryCheckout(["d/A.md": markdown])
    let faults = #expect(throws: Faults.self) { try checkout.site(of: "d/A.md") }
    #expect(faults?.all.map(\.place) == lines.map { Place(file: "d/A.md", line: $0) })
    #expect(faults?.all.first?.description.hasPrefix("d/A.md:\(lines[0]): error: the site cannot show this") == true)
  }

  @Test func `an image without words is refused`() throws {
    let checkout = try TemporaryCheckout(["A.md": "![](a.png)", "a.png": ""])
    let faults = #expect(throws: Faults.self) { try checkout.site(of: "A.md") }
    #expect(faults?.all == [Fault(Place(file: "A.md", line: 1), "an image needs words for who cannot see it")])
  }
}
