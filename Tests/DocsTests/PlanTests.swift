// SPDX-License-Identifier: Apache-2.0
import Foundation
import Testing

@testable import docs

@Suite struct PlanTests {
  private static let readme =
    "# R\n\nHello.\n\n## One\n\n### Detail\n\n## Two\n\n[a](#detail) [b](#one) [c](README.md)\n"
  private static let file = "README.md"

  private func page(_ name: String, _ parts: Plan.Part...) -> Plan.Page {
    Plan.Page(name: name, title: name, parts: parts)
  }

  @Test func `a page of one section has its heading, and what is below rises`() throws {
    let site = try TemporaryCheckout([Self.file: Self.readme]).site([
      page("index", .introduction(of: Self.file), .section("Two", of: Self.file)),
      page("one", .section("One", of: Self.file)),
    ])
    #expect(site.pages[0].heading == [.text("index")])
    #expect(site.pages[1].heading == [.text("One")])
    #expect(site.pages[1].blocks.compactMap { $0.heading?.level } == [2])
    // Links find what they mean on whichever page it is.
    #expect(
      site.pages[0].text.hasSuffix(
        "<p><a href=\"one.html#detail\">a</a> <a href=\"one.html\">b</a> <a href=\"./\">c</a></p>\n"))
  }

  @Test func `a page of two files keeps apart whose headings are whose`() throws {
    let checkout = try TemporaryCheckout(["A.md": "# A\n\n## One\n", "B.md": "# B\n\n## Two\n\n[a](#one)\n"])
    let faults = #expect(throws: Faults.self) {
      try checkout.site([page("index", .section("One", of: "A.md"), .section("Two", of: "B.md"))])
    }
    #expect(faults?.all.map(\.description) == ["B.md:5: error: the link to #one leads nowhere"])
  }

  @Test func `what is on no page is told`() throws {
    let checkout = try TemporaryCheckout([Self.file: Self.readme])
    let faults = #expect(throws: Faults.self) { try checkout.site([page("index", .section("Two", of: Self.file))]) }
    #expect(
      faults?.all.map(\.description) == [
        "README.md:1: error: the introduction is on no page",
        "README.md:5: error: the section “One” is on no page",
      ])
  }

  @Test func `what is left out on purpose is not`() throws {
    let site = try TemporaryCheckout([Self.file: "# R\n\nHello.\n\n## One\n\n## Two\n"])
      .site(
        [page("index", .section("Two", of: Self.file))],
        leftOut: [.introduction(of: Self.file), .section("One", of: Self.file)])
    #expect(site.pages.count == 1)
  }

  @Test func `a section that is gone is told, whether it was shown or left out`() throws {
    let checkout = try TemporaryCheckout([Self.file: "# R\n\n## One\n"])
    let faults = #expect(throws: Faults.self) {
      try checkout.site(
        [page("index", .section("One", of: Self.file), .section("Two", of: Self.file))],
        leftOut: [.section("Three", of: Self.file)])
    }
    #expect(
      faults?.all.map(\.words) == [
        "has no section “Two”, which the page index shows", "has no section “Three”, which is left out",
      ])
  }

  @Test func `a file that is gone is told once`() throws {
    let checkout = try TemporaryCheckout([:])
    let faults = #expect(throws: Faults.self) {
      try checkout.site([page("index", .introduction(of: "A.md"), .section("One", of: "A.md"))])
    }
    #expect(faults?.all.map(\.description) == ["A.md: error: cannot be read"])
  }

  @Test func `one page cannot have an anchor twice`() throws {
    let checkout = try TemporaryCheckout(["A.md": "# A\n\n## One\n", "B.md": "# B\n\n## One\n"])
    let faults = #expect(throws: Faults.self) {
      try checkout.site([page("index", .section("One", of: "A.md"), .section("One", of: "B.md"))])
    }
    #expect(faults?.all.map(\.words) == ["the page index has two headings #one"])
  }
}
