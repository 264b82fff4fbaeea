// SPDX-License-Identifier: Apache-2.0
package import RelayJSON
import RelayProtocol

/// A member of a request: its name, its type with the bounds, and its meaning. The parser and both documents follow from
/// this declaration.
struct Field<Value: Sendable>: Sendable {
  let declaration: FieldDeclaration
  private let parse: @Sendable (Fields) throws(RequestError) -> Value

  fileprivate init(
    _ declaration: FieldDeclaration, _ parse: @escaping @Sendable (Fields) throws(RequestError) -> Value
  ) {
    self.declaration = declaration
    self.parse = parse
  }

  /// Throws `bad_request` with the pointer of a missing or wrong value.
  func value(in request: Request) throws(RequestError) -> Value { try parse(request.fields) }
}

extension Field where Value == Int {
  /// A whole number.
  static func whole(_ name: String, _ range: ClosedRange<Int>, default standard: Int, _ meaning: String) -> Self {
    let bounds = Int64(range.lowerBound)...Int64(range.upperBound)
    return Self(FieldDeclaration(name, .whole(bounds, default: Int64(standard)), isRequired: false, meaning)) {
      fields throws(RequestError) in
      try fields.integer(name, bounds).map(Int.init) ?? standard
    }
  }
}

extension Field where Value == String? {
  /// A text with at most `maxLength` bytes.
  static func text(_ name: String, maxLength: Int, _ meaning: String) -> Self {
    Self(FieldDeclaration(name, .text(maxLength: maxLength), isRequired: false, meaning)) {
      fields throws(RequestError) in
      try fields.string(name, maxLength: maxLength)
    }
  }
}

extension Field where Value == RoomID {
  /// The name of a room. On a path, it is the variable of this name.
  static func room(_ meaning: String, name: String = "room") -> Self {
    Self(FieldDeclaration(name, .name(schema: "RoomName"), isRequired: true, meaning)) { fields throws(RequestError) in
      try fields.required(name, fields.name(name))
    }
  }
}

/// The declaration of a ``Field``, as the documents show it.
package struct FieldDeclaration: Sendable {
  package let name: String
  package let type: FieldType
  package let isRequired: Bool
  package let meaning: String

  fileprivate init(_ name: String, _ type: FieldType, isRequired: Bool, _ meaning: String) {
    self.name = name
    self.type = type
    self.isRequired = isRequired
    self.meaning = meaning
  }

  /// The schema of the member in a frame. A member that is not required may be null.
  package var schema: OrderedJSON {
    var schema = type.schema
    if !isRequired, let noun = schema["type"] { schema["type"] = [noun, "null"] }
    // In OpenAPI 3.1 and AsyncAPI 3.0, a reference may have a description.
    schema["description"] = .string(meaning)
    return schema
  }

  /// The parameter of a query.
  package var parameter: OrderedJSON {
    ["name": .string(name), "in": "query", "description": .string(meaning), "schema": type.schema]
  }
}

package enum FieldType: Sendable {
  case whole(ClosedRange<Int64>, default: Int64)
  case text(maxLength: Int)
  /// A name with a schema in `schemas.json`.
  case name(schema: String)

  /// The parameter of a query with this type.
  var parameter: Declaration.Parameter { if case .whole = self { .number } else { .text } }

  fileprivate var schema: OrderedJSON {
    switch self {
    case .whole(let range, let standard):
      [
        "type": "integer", "minimum": .integer(range.lowerBound), "maximum": .integer(range.upperBound),
        "default": .integer(standard),
      ]
    case .text(let maxLength): ["type": "string", "maxLength": .integer(maxLength)]
    case .name(let schema): ["$ref": .string("schemas.json#/\(schema)")]
    }
  }
}
