// SPDX-License-Identifier: Apache-2.0
import Foundation

/// Turns the links of the sources, which lead through the repository, into those of the site. One that leads nowhere is a
/// fault.
struct LinkResolver {
  let checkout: Checkout
  let map: SiteMap
  private(set) var faults: [Fault] = []
  /// As ``Site/pictures``.
  private(set) var pictures: [String: String] = [:]

  init(checkout: Checkout, map: SiteMap) {
    self.checkout = checkout
    self.map = map
  }

  mutating func resolve(_ text: [Inline]) -> [Inline] {
    text.flatMap { resolve($0) }
  }

  private mutating func resolve(_ inline: Inline) -> [Inline] {
    switch inline {
    case .emphasis(let inner): return [.emphasis(resolve(inner))]
    case .strong(let inner): return [.strong(resolve(inner))]
    case .link(let link, let inner): return resolve(link, resolve(inner))
    case .image(let link, let alternative): return picture(link, alternative)
    case .text, .code, .softBreak, .lineBreak: return [inline]
    }
  }

  private mutating func resolve(_ link: Link, _ text: [Inline]) -> [Inline] {
    switch link.destination {
    case .address: return [.link(link, text)]
    case .page(let page, let anchor):
      if let anchor, map.anchors[page]?.contains(anchor) != true { return lost(link, "\(page)#\(anchor)", text) }
      return [.link(link, text)]
    case .written(let address): return resolve(address, link, text)
    }
  }

  private mutating func resolve(_ address: String, _ link: Link, _ text: [Inline]) -> [Inline] {
    if address.hasPrefix("doc:") {
      let folder = (link.place.file as NSString).deletingLastPathComponent
      let file = folder + "/" + address.dropFirst(4) + ".md"
      guard let page = map.pages[file], let title = map.titles[page] else { return lost(link, address, text) }
      return [.link(link.to(.page(page, anchor: nil)), text.plain == address ? [.text(title)] : text)]
    }
    if ["https:", "http:", "mailto:"].contains(where: address.hasPrefix) {
      return [.link(link.to(.address(address)), text)]
    }
    let (path, anchor) = Self.split(address)
    guard let file = path.isEmpty ? link.place.file : repositoryPath(path, from: link.place.file) else {
      return lost(link, address, text)
    }
    if let page = map.pages[file] {
      guard let anchor else { return [.link(link.to(.page(page, anchor: nil)), text)] }
      guard let target = map.headings[file]?[anchor] else { return lost(link, address, text) }
      return [.link(link.to(.page(target.page, anchor: target.anchor)), text)]
    }
    guard checkout.has(file) else { return lost(link, address, text) }
    if let served = Self.served(file) { return [.link(link.to(.address(served)), text)] }
    // It is in the repository alone: the path says where.
    let isNamed = text.allSatisfy { if case .code = $0 { true } else { false } } && file.hasSuffix(text.plain)
    return isNamed ? [.code(file)] : text + [.text(" ("), .code(file), .text(")")]
  }

  private mutating func picture(_ link: Link, _ alternative: String) -> [Inline] {
    guard case .written(let address) = link.destination, let file = repositoryPath(address, from: link.place.file),
      checkout.has(file)
    else { return lost(link, "\(link.destination)", []) }
    let name = (file as NSString).lastPathComponent
    if let other = pictures[name], other != file {
      faults.append(Fault(link.place, "\(other) and \(file) have the same name, and would be one file on the site"))
    }
    pictures[name] = file
    return [.image(link.to(.address(name)), alternative: alternative)]
  }

  private mutating func lost(_ link: Link, _ address: String, _ text: [Inline]) -> [Inline] {
    faults.append(Fault(link.place, "the link to \(address) leads nowhere"))
    return text
  }

  private static func split(_ address: String) -> (path: String, anchor: String?) {
    guard let hash = address.firstIndex(of: "#") else { return (address, nil) }
    return (String(address[..<hash]), String(address[address.index(after: hash)...]))
  }

  /// nil outside the repository. A folder stands for the file that GitHub or DocC opens it with, where that is on the site.
  private func repositoryPath(_ path: String, from file: String) -> String? {
    guard !path.hasPrefix("/") else { return nil }
    var names = file.split(separator: "/").dropLast().map(String.init)
    for name in path.split(separator: "/") where name != "." {
      if name != ".." { names.append(String(name)) } else if names.popLast() == nil { return nil }
    }
    let path = names.joined(separator: "/")
    let article = (names.last.map { ($0 as NSString).deletingPathExtension } ?? "") + ".md"
    return [path + "/README.md", path + "/" + article].first { map.pages[$0] != nil } ?? path
  }

  /// From the site's folder, which is one of the relay's `web`; nil of what it does not serve.
  private static func served(_ file: String) -> String? {
    if file == "Sources/RelayHTTP/Documents/asyncapi.json" { return "../asyncapi.json" }
    guard file.hasPrefix("web/"), ["js", "css", "html", "svg"].contains((file as NSString).pathExtension) else {
      return nil
    }
    return "../" + file.dropFirst(4)
  }
}

extension Link {
  fileprivate func to(_ destination: Destination) -> Link {
    Link(destination: destination, place: place)
  }
}
