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
    return Self(FieldDeclaration(name, .whole(bounds, default: Int64(standard)), meaning)) {
      fields throws(RequestError) in
      try fields.integer(name, bounds).map(Int.init) ?? standard
    }
  }
}

extension Field where Value == Int64? {
  /// The number of a message, a report or an entry.
  /// - Parameter lowest: 0 or 1.
  static func seq(_ name: String, from lowest: Int64 = 1, _ meaning: String) -> Self {
    let type = FieldType.shared(lowest == 0 ? "Seq" : "MessageSeq", .number)
    return Self(FieldDeclaration(name, type, meaning)) { fields throws(RequestError) in
      try fields.integer(name, lowest...maxInteger)
    }
  }
}

extension Field where Value == Timestamp? {
  static func time(_ name: String, _ meaning: String) -> Self {
    Self(FieldDeclaration(name, .shared("Time", .number), meaning)) { fields throws(RequestError) in
      try fields.integer(name, 0...maxInteger).map(Timestamp.init(rawValue:))
    }
  }
}

extension Field where Value == Bool {
  /// `true` or `false`. An absent one is `false`.
  static func flag(_ name: String, _ meaning: String) -> Self {
    Self(FieldDeclaration(name, .flag, meaning)) { fields throws(RequestError) in try fields.bool(name) ?? false }
  }
}

extension Field where Value == String? {
  /// A text with at most `maxLength` bytes.
  /// - Parameter schema: The name of its schema in `schemas.json`, if it has one.
  static func text(_ name: String, maxLength: Int, schema: String? = nil, _ meaning: String) -> Self {
    let type = schema.map { FieldType.shared($0, .text) } ?? .text(maxLength: maxLength)
    return Self(FieldDeclaration(name, type, meaning)) { fields throws(RequestError) in
      try fields.string(name, maxLength: maxLength)
    }
  }
}

extension Field where Value == RoomID {
  /// The name of a room. On a path, it is the variable of this name.
  static func room(_ meaning: String, name: String = "room") -> Self {
    Self(FieldDeclaration(name, .shared("RoomName", .text), isRequired: true, meaning)) { fields throws(RequestError) in
      try fields.required(name, fields.name(name))
    }
  }
}

extension Field {
  /// The name of a user, a room or a device.
  static func name<N: Name>(_ name: String, _ meaning: String) -> Self where Value == N? {
    let schema = N.noun.prefix(1).uppercased() + N.noun.dropFirst() + "Name"
    return Self(FieldDeclaration(name, .shared(schema, .text), meaning)) { fields throws(RequestError) in
      try fields.name(name)
    }
  }

  /// One of the cases, with a schema in the documents.
  static func choice<C>(_ name: String, schema: String, _ meaning: String) -> Self
  where Value == C?, C: RawRepresentable<String> & CaseIterable {
    Self(FieldDeclaration(name, .reference(schema, .text), meaning)) { fields throws(RequestError) in
      try fields.choice(name)
    }
  }

  /// One of the cases, which the documents list with the field. It is required if it has no default.
  static func choice(_ name: String, default standard: Value?, _ meaning: String) -> Self
  where Value: RawRepresentable<String> & CaseIterable {
    let type = FieldType.cases(Value.allCases.map(\.rawValue), default: standard?.rawValue)
    return Self(FieldDeclaration(name, type, isRequired: standard == nil, meaning)) { fields throws(RequestError) in
      try fields.required(name, fields.choice(name) ?? standard)
    }
  }
}

/// The declaration of a ``Field``, as the documents show it.
package struct FieldDeclaration: Sendable {
  package let name: String
  package let type: FieldType
  package let isRequired: Bool
  package let meaning: String

  fileprivate init(_ name: String, _ type: FieldType, isRequired: Bool = false, _ meaning: String) {
    self.name = name
    self.type = type
    self.isRequired = isRequired
    self.meaning = meaning
  }

  /// The schema of the member in a frame. A member that is not required may be null.
  package var schema: OrderedJSON {
    var schema = type.schema
    if !isRequired {
      if schema["enum"] == nil, let noun = schema["type"] {
        schema["type"] = [noun, "null"]
      } else {
        schema = ["anyOf": [schema, ["type": "null"]]]
      }
    }
    // In OpenAPI 3.1 and AsyncAPI 3.0, a reference may have a description.
    schema["description"] = .string(meaning)
    return schema
  }

  /// The parameter of a query.
  package var parameter: OrderedJSON {
    var parameter: OrderedJSON = ["name": .string(name), "in": "query"]
    if isRequired { parameter["required"] = .scalar(.bool(true)) }
    parameter["description"] = .string(meaning)
    parameter["schema"] = type.schema
    return parameter
  }
}

package enum FieldType: Sendable {
  case whole(ClosedRange<Int64>, default: Int64)
  case flag
  case text(maxLength: Int)
  case cases([String], default: String?)
  /// A number or a text whose schema is in a document or in `schemas.json`.
  case reference(String, Declaration.Parameter)

  /// The same with the name of a schema in `schemas.json`.
  fileprivate static func shared(_ name: String, _ parameter: Declaration.Parameter) -> FieldType {
    .reference("schemas.json#/\(name)", parameter)
  }

  /// The parameter of a query with this type.
  var parameter: Declaration.Parameter {
    switch self {
    case .whole: .number
    case .flag: .flag
    case .text, .cases: .text
    case .reference(_, let parameter): parameter
    }
  }

  fileprivate var schema: OrderedJSON {
    switch self {
    case .whole(let range, let standard):
      [
        "type": "integer", "minimum": .integer(range.lowerBound), "maximum": .integer(range.upperBound),
        "default": .integer(standard),
      ]
    case .flag: ["type": "boolean", "default": .scalar(.bool(false))]
    case .text(let maxLength): ["type": "string", "maxLength": .integer(maxLength)]
    case .cases(let cases, nil): ["type": "string", "enum": .array(cases.map(OrderedJSON.string))]
    case .cases(let cases, let standard?):
      ["type": "string", "enum": .array(cases.map(OrderedJSON.string)), "default": .string(standard)]
    case .reference(let schema, _): ["$ref": .string(schema)]
    }
  }
}
