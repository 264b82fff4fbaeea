// SPDX-License-Identifier: Apache-2.0
import RelayJSON
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
  package var schema: [UInt8] {
    JSONWriter.object { schema in
      switch type {
      case .name(let name):
        // In OpenAPI 3.1 and AsyncAPI 3.0, a reference may have a description.
        schema["$ref"] = "schemas.json#/\(name)"
      case .whole, .text:
        schema.array("type") { list in
          list.string(type.noun)
          if !isRequired { list.string("null") }
        }
        type.writeBounds(to: &schema)
      }
      schema["description"] = meaning
    }
  }

  /// The parameter of a query.
  package var parameter: [UInt8] {
    JSONWriter.object {
      $0["name"] = name
      $0["in"] = "query"
      $0["description"] = meaning
      $0.object("schema") { schema in
        if case .name(let name) = type { return schema["$ref"] = "schemas.json#/\(name)" }
        schema["type"] = type.noun
        type.writeBounds(to: &schema)
      }
    }
  }
}

package enum FieldType: Sendable {
  case whole(ClosedRange<Int64>, default: Int64)
  case text(maxLength: Int)
  /// A name with a schema in `schemas.json`.
  case name(schema: String)

  /// The parameter of a query with this type.
  var parameter: Declaration.Parameter { if case .whole = self { .number } else { .text } }

  fileprivate var noun: String { if case .whole = self { "integer" } else { "string" } }

  fileprivate func writeBounds(to schema: inout JSONWriter.Object) {
    switch self {
    case .whole(let range, let standard):
      schema.integer("minimum", range.lowerBound)
      schema.integer("maximum", range.upperBound)
      schema.integer("default", standard)
    case .text(let maxLength): schema.integer("maxLength", Int64(maxLength))
    case .name: break
    }
  }
}
