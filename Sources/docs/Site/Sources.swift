// SPDX-License-Identifier: Apache-2.0
import Foundation

/// Reads the files of a plan, each once, and makes pages of their parts. What is wrong is collected.
struct Sources {
  private(set) var faults: [Fault] = []
  private let checkout: Checkout
  private var articles: [String: Article] = [:]
  private var unreadable: Set<String> = []
  private var references: [String: HTTPReference] = [:]

  init(_ checkout: Checkout) {
    self.checkout = checkout
  }

  mutating func page(_ plan: Plan.Page, _ map: inout SiteMap) -> Page {
    var page = Page(
      name: plan.name, title: plan.title, heading: [.text(plan.title)], blocks: [],
      sources: plan.parts.map(\.file).reduce(into: []) { if !$0.contains($1) { $0.append($1) } })
    for part in plan.parts { add(part, to: &page, isAlone: plan.parts.count == 1, &map) }
    let repeated = Dictionary(grouping: page.blocks.compactMap { $0.heading?.anchor }) { $0 }.filter { $1.count > 1 }
    for anchor in repeated.keys.sorted() {
      faults.append(Fault(Place(file: page.sources[0]), "the page \(page.name) has two headings #\(anchor)"))
    }
    map.add(page)
    return page
  }

  private mutating func add(_ part: Plan.Part, to page: inout Page, isAlone: Bool, _ map: inout SiteMap) {
    let file = part.file
    let first = page.blocks.count
    switch part {
    case .file:
      guard let article = article(file) else { return }
      if let title = article.title {
        page.heading = title.text
        map.add(title, of: file, to: page.name, isTitle: true)
      }
      page.blocks += article.introduction
      for section in article.sections { page.blocks.append(contentsOf: [.heading(section.heading)] + section.blocks) }
    case .introduction:
      guard let article = article(file) else { return }
      page.blocks += article.introduction
    case .section(let name, _):
      guard let article = article(file) else { return }
      guard let section = article.sections.first(where: { $0.heading.text.plain == name }) else {
        return faults.append(Fault(Place(file: file), "has no section “\(name)”, which the page \(page.name) shows"))
      }
      if isAlone {
        page.heading = section.heading.text
        map.add(section.heading, of: file, to: page.name, isTitle: true)
        page.blocks += section.blocks.map { $0.raised() }
      } else {
        page.blocks.append(contentsOf: [.heading(section.heading)] + section.blocks)
      }
    case .operations: page.blocks += blocks(of: file) { (reference) throws(Faults) in try reference.operations() }
    case .schemas: page.blocks += blocks(of: file) { (reference) throws(Faults) in try reference.schemas() }
    }
    for heading in page.blocks[first...].compactMap(\.heading) where map.headings[file]?[heading.anchor] == nil {
      map.add(heading, of: file, to: page.name, isTitle: false)
    }
  }

  /// Every part of the files that are read is on a page, or left out on purpose.
  mutating func checkNothingIsForgotten(by plan: Plan) {
    let planned = plan.pages.flatMap(\.parts) + plan.leftOut
    for (file, article) in articles.sorted(by: { $0.key < $1.key }) where !planned.contains(.file(file)) {
      if !article.introduction.isEmpty && !planned.contains(.introduction(of: file)) {
        faults.append(Fault(Place(file: file, line: 1), "the introduction is on no page"))
      }
      for section in article.sections where !planned.contains(.section(section.heading.text.plain, of: file)) {
        faults.append(
          Fault(
            Place(file: file, line: section.heading.line), "the section “\(section.heading.text.plain)” is on no page"))
      }
    }
    for case .section(let name, let file) in plan.leftOut {
      guard let article = article(file), !article.sections.contains(where: { $0.heading.text.plain == name }) else {
        continue
      }
      faults.append(Fault(Place(file: file), "has no section “\(name)”, which is left out"))
    }
  }

  /// nil when it cannot be read, which is told once.
  private mutating func article(_ file: String) -> Article? {
    if let article = articles[file] { return article }
    guard !unreadable.contains(file) else { return nil }
    do throws(Faults) {
      var article = Article(try Markdown.blocks(of: try checkout.text(file), file: file))
      if file.contains(".docc/") { article.dropOverview() }
      articles[file] = article
      return article
    } catch {
      unreadable.insert(file)
      faults += error.all
      return nil
    }
  }

  private mutating func blocks(of file: String, _ make: (HTTPReference) throws(Faults) -> [Block]) -> [Block] {
    do throws(Faults) {
      let reference: HTTPReference
      if let known = references[file] {
        reference = known
      } else {
        reference = try HTTPReference(try checkout.text(file), file: file)
        references[file] = reference
      }
      return try make(reference)
    } catch {
      faults += error.all
      return []
    }
  }
}
