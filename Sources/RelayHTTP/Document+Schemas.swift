// SPDX-License-Identifier: Apache-2.0
import PushLint
import RelayCommands
import RelayDelivery
import RelayHub
import RelayJSON
import RelayProtocol
import RelayRequests

extension Document {
  /// The schemas of the file, and those of the objects that the commands declare.
  static let shared: OrderedJSON = {
    let schemas = file(DocumentFile.schemas).withTypes()
    return Commands.objects.reduce(into: schemas.extended(by: schemas)) { $0[$1.name] = $1.value }
  }()
  private static let examples = file(DocumentFile.examples)

  /// The value of a document's file. An object with the member `extends` or `with` has the members of this shared schema,
  /// too, and one with `like` those of this shared example.
  static func source(_ bytes: [UInt8]) -> OrderedJSON {
    file(bytes).withTypes().extended(by: shared).extending("like", examples) { $0.merging($1) }
  }

  /// The value of a file of `Documents`.
  private static func file(_ bytes: [UInt8]) -> OrderedJSON {
    do {
      return try JSONParser(maxDepth: 64).document(bytes)
    } catch {
      preconditionFailure("a file of a document is wrong: \(error)")
    }
  }

  /// Makes a document complete without the other: adds the schemas of `schemas.json` to which the document refers,
  /// directly or through other schemas.
  init(completing document: OrderedJSON) {
    var missing: [String: String] = [:]
    var document = document.withOwnReferences(to: &missing, at: "")
    document["info"]?["version"] = .string(stillwireVersion)
    var found: [String: OrderedJSON] = [:]
    while let (name, place) = missing.popFirst() {
      guard found[name] == nil else { continue }
      guard let schema = Self.shared[name] else { preconditionFailure("schemas.json has no \(name), see \(place)") }
      found[name] = schema.withOwnReferences(to: &missing, at: "schemas.json#/\(name)")
    }
    for name in Self.shared.members.map(\.name) { document["components"]?["schemas"]?[name] = found[name] }
    for (name, values) in Self.values {
      document["components"]?["schemas"]?[name]?["enum"] = .array(values.map(OrderedJSON.string))
    }
    document["components"]?["schemas"]?["Limits"]?.addLimits()
    self.init(Array(document.lines.utf8))
  }

  /// The values of the schemas with long lists.
  private static let values = [
    "ErrorCode": ErrorCode.allCases.map(\.rawValue), "LintRule": LintRule.allCases.map(\.rawValue),
    "ReasonCode": Reason.Code.allCases.map(\.rawValue),
  ]
}

extension OrderedJSON {
  static func reference(to path: String) -> OrderedJSON { ["$ref": .string("#/\(path)")] }

  /// The name of the schema to which this schema refers.
  var referenced: String? { self["$ref"]?.text?.split(separator: "/").last.map(String.init) }

  /// The value, in which an object with the member `extends` begins with the members of this schema, and one with `with`
  /// ends with them.
  fileprivate func extended(by schemas: OrderedJSON) -> OrderedJSON {
    extending("extends", schemas) { $0.joined(with: $1) }.extending("with", schemas) { $1.joined(with: $0) }
  }

  /// The schema of an object with the members of both.
  private func joined(with other: OrderedJSON) -> OrderedJSON {
    var object = merging(other)
    let required = (self["required"]?.items ?? []) + (other["required"]?.items ?? [])
    if !required.isEmpty { object["required"] = .array(required) }
    object["properties"] = (self["properties"] ?? [:]).merging(other["properties"])
    return object
  }

  /// The value, in which each object that has a base in `bases` by its member `name` is joined with it.
  fileprivate func extending(
    _ name: String, _ bases: OrderedJSON, _ join: (_ base: OrderedJSON, _ own: OrderedJSON) -> OrderedJSON
  ) -> OrderedJSON {
    switch self {
    case .scalar: return self
    case .array(let items): return .array(items.map { $0.extending(name, bases, join) })
    case .object(let members):
      var object = OrderedJSON.object(members.map { Member($0.name, $0.value.extending(name, bases, join)) })
      guard let base = object[name]?.text else { return object }
      guard let base = bases[base] else { preconditionFailure("no file has \(base)") }
      object[name] = nil
      return join(base, object)
    }
  }

  /// The value, in which each schema with `properties` has the type `object` and the list `required`. In the file, a name
  /// with `?` belongs to a property that is not required.
  /// - Parameter isPart: True for a part of a schema, which has no type of its own.
  fileprivate func withTypes(isPart: Bool = false) -> OrderedJSON {
    switch self {
    case .scalar: return self
    case .array(let items): return .array(items.map { $0.withTypes(isPart: isPart) })
    case .object(let members):
      let parts = ["if", "then", "else", "allOf"]
      var object = OrderedJSON.object(
        members.map { Member($0.name, $0.value.withTypes(isPart: parts.contains($0.name))) })
      guard let properties = object["properties"]?.members else { return object }
      let required = properties.map(\.name).filter { !$0.hasSuffix("?") }
      if !required.isEmpty { object["required"] = .array(required.map(OrderedJSON.string)) }
      object["properties"] = .object(
        properties.map { Member($0.name.hasSuffix("?") ? String($0.name.dropLast()) : $0.name, $0.value) })
      return isPart ? object : (["type": "object"] as OrderedJSON).merging(object)
    }
  }

  /// Adds the limits, with their meanings, bounds and defaults.
  fileprivate mutating func addLimits() {
    let limits = Limits()
    let entries = Limits.entries.map { entry -> Member in
      let unit =
        switch entry.unit {
        case .count: ""
        case .bytes: " Unit: bytes."
        case .seconds: " Unit: seconds."
        case .perSecond: " Unit: requests a second."
        }
      let schema: OrderedJSON = [
        "type": "number", "minimum": .decimal(entry.allowed.lowerBound), "default": .decimal(limits[entry]),
        "description": .string(entry.meaning + unit),
      ]
      return Member(entry.name, schema)
    }
    self["properties"] = OrderedJSON.object(entries).merging(self["properties"])
    self["required"] = .array(entries.map { .string($0.name) } + (self["required"]?.items ?? []))
  }

  /// Adds the default limits and the version to the example of a `welcome`.
  mutating func completeWelcome() {
    let limits = Limits()
    let defaults = Limits.entries.map { Member($0.name, .decimal(limits[$0])) }
    let preferences = Member("preferences", .array(Preferences.names.map(OrderedJSON.string)))
    self["limits"] = .object(defaults + [preferences])
    self["server"] = .string("stillwire/\(stillwireVersion)")
  }

  private static func decimal(_ number: Double) -> OrderedJSON {
    let isWhole = number == number.rounded()
    return isWhole ? .integer(Int(number)) : .scalar(.number(String(number)))
  }

  /// The value with its references to `schemas.json` as references to the document. Adds the names of these schemas to
  /// `places`, each with the place of a reference.
  /// - Parameter place: The place of this value.
  fileprivate func withOwnReferences(to places: inout [String: String], at place: String) -> OrderedJSON {
    let file = "schemas.json#/"
    switch self {
    case .scalar:
      guard let text, text.hasPrefix(file) else { return self }
      let name = String(text.dropFirst(file.count))
      places[name] = place
      return .string("#/components/schemas/\(name)")
    case .array(let items): return .array(items.map { $0.withOwnReferences(to: &places, at: place) })
    case .object(let members):
      return .object(
        members.map { Member($0.name, $0.value.withOwnReferences(to: &places, at: "\(place)/\($0.name)")) })
    }
  }
}
