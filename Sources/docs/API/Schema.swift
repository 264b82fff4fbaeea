// SPDX-License-Identifier: Apache-2.0

/// A JSON schema of the document, told in words: its type with its bounds, and its fields as rows of a table.
struct Schema {
  let json: JSON
  let page: String
  let place: Place

  private func inner(_ json: JSON) -> Schema { Schema(json: json, page: page, place: place) }

  /// What is told of a schema, and what is on purpose not: the conditions of `if`, which descriptions say in words.
  private static let known: Set<String> = [
    "$ref", "additionalProperties", "allOf", "anyOf", "const", "default", "description", "else", "enum", "examples",
    "if",
    "items", "maxItems", "maxLength", "maxProperties", "maximum", "minItems", "minLength", "minimum", "not", "oneOf",
    "pattern", "properties", "propertyNames", "required", "then", "type", "uniqueItems",
  ]

  /// A keyword that is new to the document must not go by in silence.
  func check() throws(Faults) {
    for member in json.members where !Self.known.contains(member.name) {
      throw Faults(place, "the keyword “\(member.name)” of a schema has no words on the site yet")
    }
  }
}

// The type in words.
extension Schema {
  func words() throws(Faults) -> [Inline] {
    try check()
    if let name { return [reference(name)] }
    if let all = json["allOf"]?.items, let first = all.first { return try inner(first).words() }
    if let alternatives = (json["anyOf"] ?? json["oneOf"])?.items {
      // `anyOf` of an object's own fields is about which of them go together.
      if json["type"] == nil {
        return Self.listed(try alternatives.map { (json) throws(Faults) in try inner(json).words() })
      }
    }
    if let values = json["enum"]?.items { return Self.listed(values.map { [$0.word] }) + fallback }
    if let value = json["const"] { return [value.word] }
    let types = json["type"].map { $0.text.map { [$0] } ?? $0.items.compactMap(\.text) } ?? []
    guard !types.isEmpty else { return [.text("any")] }
    return Self.listed(try types.map { (type) throws(Faults) in try words(of: type) }) + fallback
  }

  /// The name of the schema that this one is, and that has a place of its own.
  private var name: String? {
    json["$ref"]?.text.map { String($0.split(separator: "/").last ?? "") }
  }

  private func reference(_ name: String) -> Inline {
    .link(Link(destination: .page(page, anchor: name), place: place), [.code(name)])
  }

  private func words(of type: String) throws(Faults) -> [Inline] {
    switch type {
    case "null": return [.code("null")]
    case "boolean": return [.text("boolean")]
    case "string": return [.text("string" + length)] + form
    case "integer": return [.text("whole number" + range)]
    case "number": return [.text("number" + range)]
    case "array":
      let items = try json["items"].map { (items) throws(Faults) in try inner(items).words() } ?? []
      let ofWhat = items.isEmpty ? [] : [.text(" of ")] + items
      return [.text("list")] + ofWhat + [.text(bounds("minItems", "maxItems", "") + (isUnique ? ", each once" : ""))]
    case "object":
      guard let value = json["additionalProperties"] else { return [.text("object")] }
      let words = try inner(value).words()
      return [.text("object of ")] + words + [.text(bounds("minProperties", "maxProperties", ""))]
    default: throw Faults(place, "the type “\(type)” has no words on the site yet")
    }
  }

  private var isUnique: Bool { json["uniqueItems"] == .bool(true) }

  private var fallback: [Inline] {
    json["default"].map { [.text("; default "), $0.word] } ?? []
  }

  private var length: String {
    if json["maxLength"] == nil, json["minLength"]?.digits == "1" { return ", not empty" }
    return bounds("minLength", "maxLength", " characters")
  }

  private var form: [Inline] {
    guard let pattern = json["pattern"]?.text else { return [] }
    let not = json["not"]?["enum"]?.items.compactMap(\.text) ?? []
    let others: [Inline] = not.isEmpty ? [] : [.text(", but not ")] + Self.listed(not.map { [.code($0)] })
    return [.text(", of the form "), .code(pattern)] + others
  }

  private var range: String {
    // JSON's own bound is said once for all numbers.
    bounds("minimum", json["maximum"]?.digits == "9007199254740991" ? "" : "maximum", "")
  }

  private func bounds(_ least: String, _ most: String, _ unit: String) -> String {
    switch (json[least]?.digits, json[most]?.digits) {
    case (let least?, let most?): ", \(least) to \(Self.grouped(most))\(unit)"
    case (let least?, nil): ", at least \(least)\(unit)"
    case (nil, let most?): ", at most \(Self.grouped(most))\(unit)"
    case (nil, nil): ""
    }
  }

  /// `2419200` as `2,419,200`.
  private static func grouped(_ digits: String) -> String {
    guard digits.allSatisfy(\.isNumber), digits.count > 4 else { return digits }
    return String(
      digits.reversed().enumerated().flatMap { $0 > 0 && $0 % 3 == 0 ? [",", $1] : [$1] }.reversed())
  }

  /// `a`, `b` or `c`; what is said twice is said once.
  static func listed(_ words: [[Inline]]) -> [Inline] {
    var distinct: [[Inline]] = []
    for word in words where !distinct.contains(word) { distinct.append(word) }
    // Where one has commas inside, others are set off by more.
    let mark = distinct.contains { $0.plain.contains(",") } ? ";" : ""
    return distinct.enumerated().flatMap { index, word -> [Inline] in
      index == 0 ? word : [.text(index == distinct.count - 1 ? mark + " or " : mark.isEmpty ? ", " : "; ")] + word
    }
  }
}

extension JSON {
  /// One of the words that a value may be: without the quotation marks that every text has.
  fileprivate var word: Inline { .code(text ?? printed()) }
}

// The fields.
extension Schema {
  struct Field: Equatable {
    let name: String
    let isRequired: Bool
    let type: [Inline]
    let description: String
  }

  /// Those of an object, of a list's objects and of the kinds of object that a value may be; what they hold follows under
  /// names like `sound.volume` and `paused[].app`. A schema with a place of its own is not followed.
  func fields(under prefix: String = "") throws(Faults) -> [Field] {
    try check()
    let required = json["required"]?.items.compactMap(\.text) ?? []
    var fields: [Field] = []
    for member in json["properties"]?.members ?? [] {
      let value = inner(member.value)
      let name = prefix + member.name
      fields.append(
        Field(
          name: name, isRequired: required.contains(member.name), type: try value.words(),
          description: member.value["description"]?.text ?? ""))
      fields += try value.fields(under: name + ".")
    }
    if let items = json["items"], !prefix.isEmpty {
      fields += try inner(items).fields(under: prefix.dropLast() + "[].")
    }
    for alternative in json["oneOf"]?.items ?? json["anyOf"]?.items ?? [] {
      let kind = inner(alternative)
      fields += kind.described(fields: try kind.fields(under: prefix))
    }
    return fields
  }

  /// The first field of a kind of object says what the kind is, where nothing else is said of it.
  private func described(fields: [Field]) -> [Field] {
    guard let words = json["description"]?.text, let first = fields.first, first.description.isEmpty else {
      return fields
    }
    return [Field(name: first.name, isRequired: first.isRequired, type: first.type, description: words)]
      + fields.dropFirst()
  }
}
