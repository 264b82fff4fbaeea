// SPDX-License-Identifier: Apache-2.0
import RelayCore
import RelayJSON

extension Document {
  /// Makes the AsyncAPI document of its file. Adds the payload of each frame whose command declares its fields.
  static func describeSessions() -> OrderedJSON {
    var document = file(DocumentFile.asyncAPI)
    for declaration in Commands.all.map({ $0.declaration }) where !declaration.fields.isEmpty {
      guard let frame = declaration.frame else { continue }
      document["components"]?["messages"]?[frame]?["payload"] = payload(of: frame, declaration.fields)
    }
    return document
  }

  private static func payload(of frame: String, _ fields: [FieldDeclaration]) -> OrderedJSON {
    let required = fields.filter(\.isRequired).map { OrderedJSON.string($0.name) }
    var properties: OrderedJSON = [
      "type": ["const": .string(frame)], "id": .reference(to: "components/schemas/ID"),
    ]
    for field in fields { properties[field.name] = field.schema }
    return ["type": "object", "required": .array(["type"] + required), "properties": properties]
  }
}
