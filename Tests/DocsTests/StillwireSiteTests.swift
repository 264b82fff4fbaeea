// SPDX-License-Identifier: Apache-2.0
import Foundation
import Testing

@testable import docs

/// The site as it is made from this checkout.
@Suite struct StillwireSiteTests {
  private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent()
  private let checkout = Checkout(root.path)

  @Test func `it is whole`() throws {
    let site = try Site(.stillwire, from: checkout)
    #expect(Set(site.pages.map(\.name)).count == site.pages.count)
    #expect(site.pages.first?.name == "index")
    for page in site.pages { #expect(!page.blocks.isEmpty, "\(page.name)") }
  }

  @Test(arguments: ["Sources/RelayProtocol/RelayProtocol.docc", "Sources/StillwireClient/StillwireClient.docc"])
  func `every article is on it`(folder: String) throws {
    let files = Set(Plan.stillwire.pages.flatMap(\.parts).map(\.file))
    let articles = try FileManager.default.contentsOfDirectory(atPath: Self.root.appendingPathComponent(folder).path)
      .filter { $0.hasSuffix(".md") }
    #expect(!articles.isEmpty)
    for article in articles { #expect(files.contains("\(folder)/\(article)"), "\(article)") }
  }

  @Test func `every operation and every schema of the API is on it`() throws {
    let file = "Sources/RelayHTTP/Documents/openapi.json"
    let document = try JSONReader.value(of: checkout.text(file), file: file)
    let anchors = try Site(.stillwire, from: checkout).pages.reduce(into: [:]) { $0[$1.name] = $1.anchors }
    let operations = (document["paths"]?.members ?? []).flatMap { $0.value.members }
      .compactMap { $0.value["operationId"]?.text }
    #expect(operations.count > 30)
    #expect(Set(operations).isSubset(of: anchors["http"] ?? []))
    let schemas = (document["components"]?["schemas"]?.members ?? []).map(\.name)
    #expect(Set(schemas).isSubset(of: anchors["objects"] ?? []))
  }

  @Test func `it is written as files, and replaces an earlier one`() throws {
    let folder = NSTemporaryDirectory() + "stillwire-docs-\(UInt64.random(in: 0...UInt64.max))/docs"
    defer { try? FileManager.default.removeItem(atPath: URL(fileURLWithPath: folder).deletingLastPathComponent().path) }
    let site = try Site(.stillwire, from: checkout)
    try site.write(to: folder, from: checkout)
    try Data().write(to: URL(fileURLWithPath: folder + "/old.html"))
    try site.write(to: folder, from: checkout)
    let names = Set(try FileManager.default.contentsOfDirectory(atPath: folder))
    #expect(names == Set(site.pages.map { $0.name + ".html" } + site.pictures.keys + ["docs.css"]))
    let page = try String(contentsOfFile: folder + "/protocol.html", encoding: .utf8)
    #expect(page.hasPrefix("<!doctype html>\n<html lang=\"en\">"))
    #expect(page.contains("<a href=\"protocol.html\" aria-current=\"page\">Protocol</a>"))
  }
}
