// SPDX-License-Identifier: Apache-2.0
import RelayCore
import RelayHub
import RelayJSON
import RelayProtocol

/// Makes the documents from the files in `Documents`.
///
/// - Adds the errors of each operation, from the table of routes.
/// - Adds the members of the requests that declare them: the parameters of queries, and the payloads of frames.
/// - Adds the schemas that both documents use, from `schemas.json`. Each document is complete without the other.
enum DocumentSource {
  static var openAPI: [UInt8] {
    var text = JSONText(DocumentFile.openAPI)
    addDeclarations(of: HTTPService.routes, to: &text)
    return withSchemas(text)
  }

  static var asyncAPI: [UInt8] {
    var text = JSONText(DocumentFile.asyncAPI)
    addPayloads(to: &text)
    return withSchemas(text)
  }

  // MARK: Declarations

  /// Adds a response for each error of an operation, unless the file already describes a response with that status. Adds
  /// the parameters of the query that the operation declares as fields.
  private static func addDeclarations(of routes: [Route], to text: inout JSONText) {
    guard let paths = text.value("paths") else { preconditionFailure("the document has no paths") }
    let items = Dictionary(uniqueKeysWithValues: text.members(of: paths).map { ($0.name, $0.value) })
    for route in routes {
      let operations = items[route.path.description].map { text.members(of: $0) } ?? []
      for action in route.actions {
        // A test reports operations that the file does not describe.
        guard let operation = operations.first(where: { $0.name == action.method.lowercased() }),
          let responses = text.members(of: operation.value).first(where: { $0.name == "responses" })?.value
        else { continue }
        let described = text.members(of: responses).map(\.name)
        let statuses = Set(action.errors.map(\.status)).sorted().filter { !described.contains(String($0)) }
        text.add(statuses.map { (String($0), Array(reference(to: $0).utf8)) }, to: responses)
        guard case .command(let command) = action.work else { continue }
        let declaration = command.declaration
        let parameters = declaration.fields.filter { declaration.query[$0.name] != nil }.map(\.parameter)
        if !parameters.isEmpty { text.add([("parameters", JSONWriter.array(parameters))], to: operation.value) }
      }
    }
    text.finish()
  }

  /// A reference to the response for an error. Its name is the reason phrase of the status.
  private static func reference(to status: Int) -> String {
    let name = HTTPResponse.reason(of: status).filter { $0 != " " }
    return "{ \"$ref\": \"#/components/responses/\(name)\" }"
  }

  /// Adds the payload of each frame whose command declares its fields.
  private static func addPayloads(to text: inout JSONText) {
    guard let messages = text.value("components", "messages") else {
      preconditionFailure("the document has no messages")
    }
    let known = Dictionary(uniqueKeysWithValues: text.members(of: messages).map { ($0.name, $0.value) })
    for command in Commands.all {
      let declaration = command.declaration
      guard !declaration.fields.isEmpty, let frame = declaration.frame, let message = known[frame] else { continue }
      text.add([("payload", payload(of: frame, declaration.fields))], to: message)
    }
    text.finish()
  }

  private static func payload(of frame: String, _ fields: [FieldDeclaration]) -> [UInt8] {
    JSONWriter.object { payload in
      payload["type"] = "object"
      payload.array("required") { list in
        list.string("type")
        for field in fields where field.isRequired { list.string(field.name) }
      }
      payload.object("properties") { properties in
        properties.object("type") { $0["const"] = frame }
        properties.object("id") { $0["$ref"] = "#/components/schemas/ID" }
        for field in fields { properties.raw(field.name, field.schema) }
      }
    }
  }

  // MARK: Schemas

  /// The beginning of a reference to a schema of `schemas.json` in the three source files.
  private static let shared = Array("\"schemas.json#/".utf8)
  /// The beginning of the same reference in a finished document.
  private static let own = Array("\"#/components/schemas/".utf8)

  /// Adds the schemas of `schemas.json` that the document refers to, directly or through other schemas.
  private static func withSchemas(_ document: JSONText) -> [UInt8] {
    let file = JSONText(DocumentFile.schemas)
    let schemas = file.members(of: file.root)
    var missing = references(in: document.bytes[...])
    var found: Set<String> = []
    while let name = missing.popFirst() {
      guard found.insert(name).inserted else { continue }
      guard let schema = schemas.first(where: { $0.name == name }) else {
        preconditionFailure("schemas.json has no \(name)")
      }
      missing.formUnion(references(in: file.bytes[schema.value]))
    }
    var document = document
    guard let components = document.value("components", "schemas") else {
      preconditionFailure("the document has no schemas")
    }
    let members = schemas.filter { found.contains($0.name) }
    document.add(members.map { ($0.name, indented(file.bytes[$0.value])) }, to: components)
    document.finish()
    return document.bytes.replacing(shared, with: own)
  }

  /// The names of the shared schemas to which a text refers.
  private static func references(in text: ArraySlice<UInt8>) -> Set<String> {
    Set(
      text.ranges(of: shared).map { found in
        String(decoding: text[found.upperBound...].prefix { $0 != UInt8(ascii: "\"") }, as: UTF8.self)
      })
  }

  /// Indents a schema for a document, where it is 4 spaces deeper than in `schemas.json`.
  private static func indented(_ schema: ArraySlice<UInt8>) -> [UInt8] {
    schema.flatMap { $0 == UInt8(ascii: "\n") ? Array("\n    ".utf8) : [$0] }
  }
}
