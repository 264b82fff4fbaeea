// SPDX-License-Identifier: Apache-2.0

extension HTTPReference {
  /// What an operation answers by itself as a table; the errors that it has in common with others in a line.
  func answers(of operation: Operation) throws(Faults) -> [Block] {
    var rows: [[[Inline]]] = []
    var shared: [[Inline]] = []
    var fields: [Block] = []
    for answer in operation.json["responses"]?.members ?? [] {
      guard answer.value["$ref"] == nil else {
        shared.append([.code(answer.name)])
        continue
      }
      var words = try line(answer.value["description"]?.text)
      let headers = (answer.value["headers"]?.members ?? []).map { [Inline.code($0.name)] }
      if !headers.isEmpty { words += [.text(" With ")] + headers.joined(separator: [.text(" and ")]) + [.text(".")] }
      rows.append([[.code(answer.name)], words, try bodies(of: answer.value)])
      fields += try self.fields(of: answer)
    }
    let header: [[Inline]] = [[.text("Answer")], [.text("Meaning")], [.text("Body")]]
    var blocks: [Block] = rows.isEmpty ? [] : [.table(Table(header: header, rows: rows))] + fields
    if !shared.isEmpty {
      let errors = Link(destination: .page(Self.operations, anchor: "errors"), place: place)
      blocks.append(
        .paragraph([.link(errors, [.text("Errors")]), .text(": ")] + shared.joined(separator: [.text(", ")])))
    }
    return blocks
  }

  /// Of an answer whose object has no place of its own.
  private func fields(of answer: JSON.Member) throws(Faults) -> [Block] {
    guard let schema = content(of: answer.value)?["schema"], schema["$ref"] == nil else { return [] }
    let table = try table(try self.schema(schema).fields())
    return table.isEmpty
      ? [] : [.paragraph([.strong([.text("Body of ")]), .code(answer.name), .text(":")])] + table
  }

  private func bodies(of answer: JSON) throws(Faults) -> [Inline] {
    var bodies: [[Inline]] = []
    for content in answer["content"]?.members ?? [] {
      let words = try content.value["schema"].map { (json) throws(Faults) in try schema(json).words() }
      bodies.append(content.name.hasSuffix("json") ? words ?? [] : [.code(content.name)])
    }
    return Schema.listed(bodies)
  }

  /// The errors that operations have in common, by status.
  func errors() throws(Faults) -> [Block] {
    var statuses: [String: Set<String>] = [:]
    for answer in all.flatMap({ $0.json["responses"]?.members ?? [] }) {
      guard let name = answer.value["$ref"]?.text?.split(separator: "/").last else { continue }
      statuses[String(name), default: []].insert(answer.name)
    }
    var rows: [[[Inline]]] = []
    for answer in document["components"]?["responses"]?.members ?? [] {
      let status = (statuses[answer.name] ?? []).sorted().map { [Inline.code($0)] }
      rows.append([Schema.listed(status), try line(answer.value["description"]?.text)])
    }
    guard !rows.isEmpty else { return [] }
    let problem = Link(destination: .page(Self.objects, anchor: "Problem"), place: place)
    return [
      heading(2, "Errors", anchor: "errors"),
      .paragraph([.text("Each is a "), .link(problem, [.code("Problem")]), .text(".")]),
      .table(Table(header: [[.text("Status")], [.text("When")]], rows: rows)),
    ]
  }
}
