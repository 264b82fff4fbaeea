// SPDX-License-Identifier: Apache-2.0
package import RelayJSON
package import RelayProtocol

/// A declared member of a request.
package protocol DeclaredField: Sendable {
  var declaration: FieldDeclaration { get }
}

/// A member of a request: its name, its type with the bounds, and its meaning. The parser and both documents follow from
/// this declaration.
package struct Field<Value: Sendable>: DeclaredField {
  package let declaration: FieldDeclaration
  private let parse: @Sendable (Fields) throws(RequestError) -> Value

  package init(
    _ declaration: FieldDeclaration, _ parse: @escaping @Sendable (Fields) throws(RequestError) -> Value
  ) {
    self.declaration = declaration
    self.parse = parse
  }

  /// Throws `bad_request` with the pointer of a missing or wrong value.
  package func value(in fields: Fields) throws(RequestError) -> Value { try parse(fields) }
  package func value(in request: Request) throws(RequestError) -> Value { try parse(request.fields) }

  /// The same member, which frames do not have.
  package var onlyHTTP: Self {
    var declaration = declaration
    declaration.isInFrames = false
    return Self(declaration, parse)
  }

  /// The same member, which only frames have.
  package var onlyFrames: Self {
    var declaration = declaration
    declaration.isInHTTP = false
    return Self(declaration, parse)
  }

  /// The same member, with another meaning in frames.
  package func inFrames(_ meaning: String) -> Self {
    var declaration = declaration
    declaration.meaningInFrames = meaning
    return Self(declaration, parse)
  }

  /// The same member, which each request must have. It may be null.
  package var present: Self {
    var declaration = declaration
    declaration.isRequired = true
    return Self(declaration) { [name = declaration.name, parse] fields throws(RequestError) in
      guard fields.has(name) else { throw fields.wrong(name, "is missing") }
      return try parse(fields)
    }
  }

  /// The same member, which each request must have.
  package func required<Wrapped: Sendable>() -> Field<Wrapped> where Value == Wrapped? {
    var declaration = declaration
    (declaration.isRequired, declaration.isNullable) = (true, false)
    return Field<Wrapped>(declaration) { [name = declaration.name, parse] fields throws(RequestError) in
      try fields.required(name, parse(fields))
    }
  }
}

/// A member whose value may be elsewhere in the request: in its header or its credentials.
package struct RequestField<Value: Sendable>: DeclaredField {
  package let declaration: FieldDeclaration
  private let parse: @Sendable (Request) throws(RequestError) -> Value

  package func value(in request: Request) throws(RequestError) -> Value { try parse(request) }
}

extension RequestField where Value == UserID {
  /// A field of requests over HTTP: the user for whom a backend acts, see ``Request/actor(_:)``.
  package static func actor(_ name: String, _ meaning: String) -> Self {
    var declaration = FieldDeclaration(name, .shared("UserName", .text), meaning)
    declaration.isInFrames = false
    return Self(declaration: declaration) { request throws(RequestError) in try request.actor(name) }
  }
}

extension RequestField where Value == String? {
  /// The idempotency key, see ``Request/key``.
  package static func key(_ meaning: String) -> Self {
    let type = FieldType.text(minLength: 1, maxLength: IdempotencyKey.maxLength)
    return Self(declaration: FieldDeclaration("key", type, meaning)) { request throws(RequestError) in
      try request.key
    }
  }
}

extension Field where Value == Int {
  /// A whole number.
  package static func whole(_ name: String, _ range: ClosedRange<Int>, default standard: Int, _ meaning: String) -> Self
  {
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
  package static func seq(_ name: String, from lowest: Int64 = 1, _ meaning: String? = nil) -> Self {
    let type = FieldType.shared(lowest == 0 ? "Seq" : "MessageSeq", .number)
    return Self(FieldDeclaration(name, type, meaning)) { fields throws(RequestError) in
      try fields.integer(name, lowest...maxInteger)
    }
  }

  /// A whole number in `range`.
  package static func whole(
    _ name: String, in range: ClosedRange<Int64> = 0...maxInteger, schema: String? = nil, _ meaning: String
  ) -> Self {
    let type = schema.map { FieldType.shared($0, .number) } ?? .whole(range, default: nil)
    return Self(FieldDeclaration(name, type, meaning)) { fields throws(RequestError) in
      try fields.integer(name, range)
    }
  }
}

extension Field where Value == Timestamp? {
  package static func time(_ name: String, _ meaning: String) -> Self {
    Self(FieldDeclaration(name, .shared("Time", .number), meaning)) { fields throws(RequestError) in
      try fields.integer(name, 0...maxInteger).map(Timestamp.init(rawValue:))
    }
  }
}

extension Field where Value == TimeOfDay? {
  /// A time of day, as `HH:MM`.
  package static func timeOfDay(_ name: String, _ meaning: String) -> Self {
    let type = FieldType.value(["type": "string", "pattern": "^([01][0-9]|2[0-3]):[0-5][0-9]$"])
    return Self(FieldDeclaration(name, type, meaning)) { fields throws(RequestError) in
      guard let text = try fields.string(name, maxLength: 5) else { return nil }
      guard let time = TimeOfDay(text) else { throw fields.wrong(name, "must be a time of day, 00:00 to 23:59") }
      return time
    }
  }
}

extension Field where Value == [Int64]? {
  /// At least one whole number in `range`. The command rejects an empty list.
  static func wholes(_ name: String, max: Int, in range: ClosedRange<Int64>, _ meaning: String) -> Self {
    let type = FieldType.list(min: 1, max: max, FieldType.whole(range, default: nil).schema)
    return Self(FieldDeclaration(name, type, meaning)) { fields throws(RequestError) in
      try fields.integers(name, max: max, range)
    }
  }
}

extension Field where Value == Bool {
  /// `true` or `false`. An absent one is `false`.
  package static func flag(_ name: String, _ meaning: String) -> Self {
    Self(FieldDeclaration(name, .flag(default: false), meaning)) { fields throws(RequestError) in
      try fields.bool(name) ?? false
    }
  }
}

extension Field where Value == Bool? {
  /// `true` or `false`.
  package static func flag(_ name: String, _ meaning: String) -> Self {
    Self(FieldDeclaration(name, .flag(default: nil), meaning)) { fields throws(RequestError) in try fields.bool(name) }
  }
}

extension Field where Value == String? {
  /// A text with at most `maxLength` bytes.
  /// - Parameters:
  ///   - maxLength: Is `nil` if only the size of the request bounds the text.
  ///   - schema: The name of its schema in `schemas.json`, if it has one.
  package static func text(_ name: String, maxLength: Int?, schema: String? = nil, _ meaning: String? = nil) -> Self {
    let type = schema.map { FieldType.shared($0, .text) } ?? .text(maxLength: maxLength)
    return Self(FieldDeclaration(name, type, meaning)) { fields throws(RequestError) in
      try fields.string(name, maxLength: maxLength ?? .max)
    }
  }

  /// A text of one line.
  package static func line(_ name: String, maxLength: Int, schema: String, _ meaning: String? = nil) -> Self {
    Self(FieldDeclaration(name, .shared(schema, .text), meaning)) { fields throws(RequestError) in
      try fields.line(name, maxLength: maxLength)
    }
  }
}

extension Field {
  /// A text that the relay has made, such as the position of a page.
  /// - Parameters:
  ///   - noun: Ends the error about another text: "must be …".
  ///   - schema: The name of its schema in `schemas.json`, if it has one.
  ///   - make: Returns `nil` for another text.
  package static func made<Made>(
    _ name: String, maxLength: Int, _ noun: String, schema: String? = nil, _ meaning: String,
    _ make: @escaping @Sendable (String) -> Made?
  ) -> Self where Value == Made? {
    let text = Field<String?>.text(name, maxLength: maxLength, schema: schema, meaning)
    return Self(text.declaration) { fields throws(RequestError) in
      guard let given = try text.value(in: fields) else { return nil }
      guard let made = make(given) else { throw fields.wrong(name, "must be \(noun)") }
      return made
    }
  }
}

extension Field where Value == [UInt8]? {
  /// Any JSON value, as its text.
  package static func raw(_ name: String, _ meaning: String) -> Self {
    Self(FieldDeclaration(name, .value([:]), meaning)) { fields throws(RequestError) in fields.raw(name) }
  }
}

extension Field where Value == [String]? {
  package static func texts(_ name: String, max: Int, maxLength: Int, _ meaning: String) -> Self {
    let text = FieldType.text(maxLength: maxLength).schema
    return Self(FieldDeclaration(name, .list(max: max, text), meaning)) { fields throws(RequestError) in
      try fields.strings(name, max: max, maxLength: maxLength)
    }
  }
}

extension Field where Value == [Fields]? {
  /// A list of objects with these members.
  package static func objects(_ name: String, max: Int, _ object: ObjectDeclaration, _ meaning: String) -> Self {
    Self(FieldDeclaration(name, .listOf(max: max, object), meaning)) { fields throws(RequestError) in
      let given = try fields.objects(name, max: max)
      for members in given ?? [] { try object.check(members) }
      return given
    }
  }
}

extension Field where Value == Fields? {
  /// An object with these members.
  package static func object(_ name: String, _ object: ObjectDeclaration, _ meaning: String? = nil) -> Self {
    Self(FieldDeclaration(name, .object(object), meaning)) { fields throws(RequestError) in
      guard let members = try fields.object(name) else { return nil }
      try object.check(members)
      return members
    }
  }
}

extension Field {
  /// The name of a user, a room or a device. Every other name needs a schema of `schemas.json`.
  package static func name<N: Name>(_ name: String, schema: String? = nil, _ meaning: String? = nil) -> Self
  where Value == N? {
    let type = schema.map { FieldType.shared($0, .text) } ?? .name(N.self)
    return Self(FieldDeclaration(name, type, meaning)) { fields throws(RequestError) in try fields.name(name) }
  }

  /// - Parameter max: Is `nil` if a limit of the relay bounds the number of names. A frame has fewer than 65,536.
  package static func names<N: Name>(_ name: String, max: Int?, _ meaning: String? = nil) -> Self where Value == [N]? {
    let type = FieldType.list(max: max, FieldType.name(N.self).schema)
    return Self(FieldDeclaration(name, type, meaning)) { fields throws(RequestError) in
      try fields.names(name, max: max ?? 65_536)
    }
  }

  /// One of the cases, with a schema in the documents.
  package static func choice<C>(_ name: String, schema: String, _ meaning: String? = nil) -> Self
  where Value == C?, C: RawRepresentable<String> & CaseIterable {
    Self(FieldDeclaration(name, .reference(schema, .text), meaning)) { fields throws(RequestError) in
      try fields.choice(name)
    }
  }

  /// One of the cases, which the documents list with the field.
  package static func choice<C>(_ name: String, among cases: [C] = Array(C.allCases), _ meaning: String) -> Self
  where Value == C?, C: RawRepresentable<String> & CaseIterable & Sendable {
    let type = FieldType.cases(cases.map(\.rawValue), default: nil)
    return Self(FieldDeclaration(name, type, meaning)) { fields throws(RequestError) in
      try fields.choice(name, among: cases)
    }
  }

  /// One of the cases, which the documents list with the field. It is required if it has no default.
  package static func choice(_ name: String, default standard: Value?, _ meaning: String) -> Self
  where Value: RawRepresentable<String> & CaseIterable {
    let type = FieldType.cases(Value.allCases.map(\.rawValue), default: standard?.rawValue)
    return Self(FieldDeclaration(name, type, isRequired: standard == nil, meaning)) { fields throws(RequestError) in
      try fields.required(name, fields.choice(name) ?? standard)
    }
  }
}

/// The declaration of a ``Field``, as the documents show it. A member with a parser of its own has only this.
package struct FieldDeclaration: DeclaredField {
  package let name: String
  package let type: FieldType
  package fileprivate(set) var isRequired: Bool
  package fileprivate(set) var isNullable: Bool
  /// False if only requests over HTTP have the member.
  package fileprivate(set) var isInFrames = true
  /// False if only frames have the member.
  package fileprivate(set) var isInHTTP = true
  package let meaning: String?
  package fileprivate(set) var meaningInFrames: String?

  /// - Parameter isNullable: By default true for a member that is not required.
  package init(
    _ name: String, _ type: FieldType, isRequired: Bool = false, isNullable: Bool? = nil, _ meaning: String? = nil
  ) {
    self.name = name
    self.type = type
    self.isRequired = isRequired
    self.isNullable = isNullable ?? !isRequired
    self.meaning = meaning
    meaningInFrames = meaning
  }

  package var declaration: FieldDeclaration { self }

  /// The schema of the member in a body or a frame.
  package func schema(inFrame: Bool) -> OrderedJSON {
    var schema = isNullable ? type.schema.orNull : type.schema
    // In OpenAPI 3.1 and AsyncAPI 3.0, a reference may have a description.
    schema["description"] = (inFrame ? meaningInFrames : meaning).map(OrderedJSON.string)
    return schema
  }

  /// The parameter of a query.
  package var parameter: OrderedJSON {
    var parameter: OrderedJSON = ["name": .string(name), "in": "query"]
    if isRequired { parameter["required"] = .scalar(.bool(true)) }
    parameter["description"] = meaning.map(OrderedJSON.string)
    parameter["schema"] = type.schema
    return parameter
  }
}

/// An object in a request: its members, and its schema in the documents.
package struct ObjectDeclaration: Sendable {
  /// The name of its schema. Is `nil` if the schema is a part of the member's schema.
  fileprivate let name: String?
  private let meaning: String?
  fileprivate let fields: [FieldDeclaration]
  /// True if a member with another name is an error.
  private let isClosed: Bool

  package init(_ name: String? = nil, _ meaning: String? = nil, isClosed: Bool = false, fields: [any DeclaredField]) {
    self.name = name
    self.meaning = meaning
    self.isClosed = isClosed
    self.fields = fields.map(\.declaration)
  }

  /// Throws `bad_request` if the object is closed and a member has an unknown name.
  package func check(_ members: Fields) throws(RequestError) {
    if isClosed { try members.checkNames(among: fields.map(\.name)) }
  }

  package var schema: OrderedJSON {
    var schema: OrderedJSON = ["type": "object"]
    schema["description"] = meaning.map(OrderedJSON.string)
    if isClosed { schema["additionalProperties"] = .scalar(.bool(false)) }
    let required = fields.filter(\.isRequired).map { OrderedJSON.string($0.name) }
    if !required.isEmpty { schema["required"] = .array(required) }
    schema["properties"] = .object(fields.map { OrderedJSON.Member($0.name, $0.schema(inFrame: false)) })
    return schema
  }

  /// The schema, or a reference to it.
  fileprivate var reference: OrderedJSON { name.map { ["$ref": .string("schemas.json#/\($0)")] } ?? schema }
}

package enum FieldType: Sendable {
  case whole(ClosedRange<Int64>, default: Int64?)
  case flag(default: Bool?)
  case text(minLength: Int? = nil, maxLength: Int?)
  case cases([String], default: String?)
  case list(min: Int? = nil, max: Int?, OrderedJSON)
  /// A number or a text whose schema is in a document or in `schemas.json`.
  case reference(String, Declaration.Parameter)
  case object(ObjectDeclaration)
  case listOf(max: Int, ObjectDeclaration)
  /// An object whose members are objects of this declaration, or null. Its names have a schema of `schemas.json`.
  case objects(names: String, ObjectDeclaration)
  /// A value with this schema.
  case value(OrderedJSON)

  /// A text of one line.
  package static func line(maxLength: Int) -> FieldType {
    .value(["$ref": "schemas.json#/Line", "maxLength": .integer(maxLength)])
  }

  /// A ``reference(_:_:)`` to a schema of `schemas.json`, by its name.
  package static func shared(_ name: String, _ parameter: Declaration.Parameter) -> FieldType {
    .reference("schemas.json#/\(name)", parameter)
  }

  fileprivate static func name<N: Name>(_: N.Type) -> FieldType {
    .shared(N.noun.prefix(1).uppercased() + N.noun.dropFirst() + "Name", .text)
  }

  /// The parameter of a query with this type.
  package var parameter: Declaration.Parameter {
    switch self {
    case .whole: .number
    case .flag: .flag
    case .text, .cases, .list, .listOf, .object, .objects, .value: .text
    case .reference(_, let parameter): parameter
    }
  }

  /// The schemas with a name: of an object, and of the objects in it.
  package var namedSchemas: [OrderedJSON.Member] {
    switch self {
    case .object(let object), .listOf(_, let object), .objects(_, let object):
      (object.name.map { [OrderedJSON.Member($0, object.schema)] } ?? []) + object.fields.flatMap(\.type.namedSchemas)
    default: []
    }
  }

  fileprivate var schema: OrderedJSON {
    var schema: OrderedJSON
    switch self {
    case .whole(let range, let standard):
      schema = ["type": "integer", "minimum": .integer(range.lowerBound), "maximum": .integer(range.upperBound)]
      schema["default"] = standard.map(OrderedJSON.integer)
    case .flag(let standard):
      schema = ["type": "boolean"]
      schema["default"] = standard.map { .scalar(.bool($0)) }
    case .text(let minLength, let maxLength):
      schema = ["type": "string"]
      schema["minLength"] = minLength.map(OrderedJSON.integer)
      schema["maxLength"] = maxLength.map(OrderedJSON.integer)
    case .cases(let cases, let standard):
      schema = ["type": "string", "enum": .array(cases.map(OrderedJSON.string))]
      schema["default"] = standard.map(OrderedJSON.string)
    case .list(let min, let max, let item):
      schema = ["type": "array", "items": item]
      schema["minItems"] = min.map(OrderedJSON.integer)
      schema["maxItems"] = max.map(OrderedJSON.integer)
    case .reference(let name, _): schema = ["$ref": .string(name)]
    case .object(let object): schema = object.reference
    case .listOf(let max, let object):
      schema = ["type": "array", "maxItems": .integer(max), "items": object.reference]
    case .objects(let names, let object):
      schema = [
        "type": "object", "propertyNames": ["$ref": .string("schemas.json#/\(names)")],
        "additionalProperties": object.reference.orNull,
      ]
    case .value(let value): schema = value
    }
    return schema
  }
}

extension OrderedJSON {
  /// The schema of the same value, or of null.
  fileprivate var orNull: OrderedJSON {
    var schema = self
    let null: OrderedJSON = ["type": "null"]
    if let variants = self["anyOf"] {
      schema["anyOf"] = .array(variants.items + [null])
    } else if let values = self["enum"], self["default"] == nil {
      return ["enum": .array(values.items + [.scalar(.null)])]
    } else if self["enum"] == nil, let noun = self["type"] {
      schema["type"] = .array((noun.items.isEmpty ? [noun] : noun.items) + ["null"])
    } else if let reference = self["$ref"] {
      schema["$ref"] = nil
      return (["anyOf": [["$ref": reference], null]] as OrderedJSON).merging(schema)
    } else if !members.isEmpty {
      return ["anyOf": [self, null]]
    }
    return schema
  }
}
