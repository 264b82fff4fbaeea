// SPDX-License-Identifier: Apache-2.0

/// A JSON value whose objects keep the order of their members, for a text that people read.
package enum OrderedJSON: Equatable, Sendable {
  /// A text, a number, `true`, `false` or `null`.
  case scalar(JSON)
  case array([OrderedJSON])
  case object([Member])

  package struct Member: Equatable, Sendable {
    package let name: String
    package var value: OrderedJSON

    package init(_ name: String, _ value: OrderedJSON) {
      self.name = name
      self.value = value
    }
  }

  package static func string(_ text: String) -> OrderedJSON { .scalar(.string(text)) }
  package static func integer(_ number: some BinaryInteger) -> OrderedJSON { .scalar(.number(String(number))) }

  /// The members of an object. Every other value has none.
  package var members: [Member] {
    get { if case .object(let members) = self { members } else { [] } }
    set { self = .object(newValue) }
  }

  /// The items of an array. Every other value has none.
  package var items: [OrderedJSON] { if case .array(let items) = self { items } else { [] } }

  package var text: String? { if case .scalar(let value) = self { value.text } else { nil } }

  /// A member of an object. A new one becomes the last.
  package subscript(name: String) -> OrderedJSON? {
    get { members.first { $0.name == name }?.value }
    set {
      let index = members.firstIndex { $0.name == name }
      switch (index, newValue) {
      case (let index?, let value?): members[index].value = value
      case (let index?, nil): members.remove(at: index)
      case (nil, let value?): members.append(Member(name, value))
      case (nil, nil): break
      }
    }
  }

  /// The object with the members of another one, which replace members of the same name.
  package func merging(_ other: OrderedJSON?) -> OrderedJSON {
    (other?.members ?? []).reduce(into: self) { $0[$1.name] = $1.value }
  }
}

extension OrderedJSON: ExpressibleByStringLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral {
  package init(stringLiteral text: String) { self = .string(text) }
  package init(arrayLiteral items: OrderedJSON...) { self = .array(items) }
  package init(dictionaryLiteral members: (String, OrderedJSON)...) { self = .object(members.map(Member.init)) }
}

extension OrderedJSON {
  private static let lineLength = 120

  /// The text for people. An array or an object that does not fit into a line has a line for each item or member.
  package var lines: String { lines(indent: 0, used: 0) + "\n" }

  private func lines(indent: Int, used: Int) -> String {
    let line = line
    guard indent + used + line.utf8.count > Self.lineLength else { return line }
    let end = "\n" + String(repeating: " ", count: indent)
    let separator = ",\(end)  "
    switch self {
    case .scalar: return line
    case .array(let items):
      let parts = items.map { $0.lines(indent: indent + 2, used: 0) }
      return "[\(end)  \(parts.joined(separator: separator))\(end)]"
    case .object(let members):
      let parts = members.map { member in
        let name = Self.string(member.name).line + ": "
        return name + member.value.lines(indent: indent + 2, used: name.utf8.count)
      }
      return "{\(end)  \(parts.joined(separator: separator))\(end)}"
    }
  }

  private var line: String {
    switch self {
    case .scalar(let value):
      var writer = JSONWriter()
      writer.value(value)
      return String(decoding: writer.bytes, as: UTF8.self)
    case .array(let items): return "[\(items.map(\.line).joined(separator: ", "))]"
    case .object(let members) where members.isEmpty: return "{}"
    case .object(let members):
      let parts = members.map { "\(Self.string($0.name).line): \($0.value.line)" }
      return "{ \(parts.joined(separator: ", ")) }"
    }
  }
}
