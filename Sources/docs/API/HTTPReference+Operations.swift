// SPDX-License-Identifier: Apache-2.0

extension HTTPReference {
  /// The page of the operations, by what they are about.
  func operations() throws(Faults) -> [Block] {
    let info = document["info"]
    var blocks = try prose(info?["summary"]?.text)
    // The relay serves the document beside the site.
    let document = Link(destination: .address("../openapi.json"), place: place)
    blocks.append(.paragraph([.text("For tools: "), .link(document, [.code("/openapi.json")]), .text(".")]))
    blocks += try prose(info?["description"]?.text)
    blocks += try callers()
    for tag in self.document["tags"]?.items ?? [] {
      let name = tag["name"]?.text ?? ""
      blocks.append(heading(2, name.prefix(1).uppercased() + name.dropFirst(), anchor: name))
      blocks += try prose(tag["description"]?.text)
      for operation in all where operation.tags.contains(name) { blocks += try self.blocks(of: operation) }
    }
    for operation in all where !operation.tags.contains(where: isTag) {
      throw Faults(place, "\(operation.method) \(operation.path) has no tag, and so no place on the page")
    }
    return try blocks + errors()
  }

  struct Operation {
    let path: String
    let method: String
    /// The parameters of the path and of the operation, as they stand in the document.
    let parameters: [JSON]
    let json: JSON

    var tags: [String] { json["tags"]?.items.compactMap(\.text) ?? [] }
  }

  var all: [Operation] {
    (document["paths"]?.members ?? []).flatMap { path in
      let shared = path.value["parameters"]?.items ?? []
      return path.value.members.filter { $0.name != "parameters" }.map {
        Operation(
          path: path.name, method: $0.name.uppercased(), parameters: shared + ($0.value["parameters"]?.items ?? []),
          json: $0.value)
      }
    }
  }

  private func isTag(_ name: String) -> Bool {
    document["tags"]?.items.contains { $0["name"]?.text == name } ?? false
  }

  private func blocks(of operation: Operation) throws(Faults) -> [Block] {
    let name = "\(operation.method) \(operation.path)"
    let id = try required(operation.json, "operationId", of: name).text ?? ""
    let summary = try required(operation.json, "summary", of: name).text ?? ""
    return [heading(3, summary, anchor: id), .endpoint(method: operation.method, path: operation.path)]
      + (try prose(operation.json["description"]?.text))
      + (try whoMayCall(operation))
      + (try parameters(of: operation))
      + (try body(of: operation))
      + (try answers(of: operation))
      + (try example(of: operation))
  }

  private func parameters(of operation: Operation) throws(Faults) -> [Block] {
    var rows: [[[Inline]]] = []
    for parameter in operation.parameters {
      let parameter = try resolved(parameter)
      let type = try schema(try required(parameter, "schema", of: "a parameter")).words()
      rows.append([
        [.code(parameter["name"]?.text ?? "")], [.text(parameter["in"]?.text ?? "")], type,
        try line(parameter["description"]?.text),
      ])
    }
    guard !rows.isEmpty else { return [] }
    let header: [[Inline]] = ["Parameter", "In", "Type", "Meaning"].map { [.text($0)] }
    return [.table(Table(header: header, rows: rows))]
  }

  private func body(of operation: Operation) throws(Faults) -> [Block] {
    guard let body = operation.json["requestBody"], let schema = content(of: body)?["schema"] else { return [] }
    let words = try self.schema(schema).words()
    let fields = try self.schema(try resolved(schema)).fields()
    let isOptional = body["required"] != .bool(true)
    let title: [Inline] = [.strong([.text("Body")]), .text(isOptional ? ", which may be absent: " : ": ")] + words
    return [.paragraph(title)] + (try table(fields))
  }

  /// Of the first type, which is JSON wherever there is a choice.
  func content(of message: JSON) -> JSON? { message["content"]?.members.first?.value }
}
