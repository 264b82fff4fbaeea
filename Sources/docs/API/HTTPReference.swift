// SPDX-License-Identifier: Apache-2.0

/// An OpenAPI document as two pages: what can be asked, and of what the questions and answers are made.
struct HTTPReference {
  let document: JSON
  let place: Place

  /// The pages, to which links lead.
  static let objects = "objects"
  static let operations = "http"

  init(_ text: String, file: String) throws(Faults) {
    place = Place(file: file)
    document = try JSONReader.value(of: text, file: file)
  }

  func schema(_ json: JSON) -> Schema { Schema(json: json, page: Self.objects, place: place) }

  /// What `$ref` names, or the value itself.
  func resolved(_ json: JSON) throws(Faults) -> JSON {
    guard let path = json["$ref"]?.text else { return json }
    var value: JSON? = document
    for name in path.split(separator: "/").dropFirst() { value = value?[String(name)] }
    guard let value else { throw Faults(place, "there is nothing at \(path)") }
    return value
  }

  func required(_ json: JSON, _ name: String, of what: String) throws(Faults) -> JSON {
    guard let value = json[name] else { throw Faults(place, "\(what) has no “\(name)”") }
    return value
  }

  /// A description, which is Markdown.
  func prose(_ text: String?) throws(Faults) -> [Block] {
    try text.map { (text) throws(Faults) in try Markdown.blocks(in: text, from: place.file) } ?? []
  }

  /// One that is a line of a table.
  func line(_ text: String?) throws(Faults) -> [Inline] {
    let paragraphs = try prose(text).map { (block) throws(Faults) in
      guard case .paragraph(let text) = block else {
        throw Faults(place, "a table has room for paragraphs only, and not for what is in “\(text ?? "")”")
      }
      return text
    }
    return Array(paragraphs.joined(separator: [.text(" ")]))
  }

  func heading(_ level: Int, _ text: String, anchor: String) -> Block {
    .heading(Heading(level: level, anchor: anchor, text: [.text(text)]))
  }

  /// Fields as a table.
  func table(_ fields: [Schema.Field]) throws(Faults) -> [Block] {
    guard !fields.isEmpty else { return [] }
    var rows: [[[Inline]]] = []
    for field in fields {
      let name: [Inline] = [.code(field.name)] + (field.isRequired ? [.text(" "), .emphasis([.text("required")])] : [])
      rows.append([name, field.type, try line(field.description)])
    }
    return [.table(Table(header: [[.text("Field")], [.text("Type")], [.text("Meaning")]], rows: rows))]
  }
}
