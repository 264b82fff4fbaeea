// SPDX-License-Identifier: Apache-2.0
import PushLint
import RelayDelivery
import RelayHub
import RelayJSON
import RelayProtocol

extension Document {
  static let shared = file(DocumentFile.schemas)

  /// The value of a document's file. An object with the member `extends` has the members of this shared schema, too.
  static func source(_ bytes: [UInt8]) -> OrderedJSON { file(bytes).extending(shared) }

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
    var missing: Set<String> = []
    var document = document.withOwnReferences(to: &missing)
    var found: [String: OrderedJSON] = [:]
    while let name = missing.popFirst() {
      guard found[name] == nil else { continue }
      guard let schema = Self.shared[name] else { preconditionFailure("schemas.json has no \(name)") }
      found[name] = schema.withOwnReferences(to: &missing)
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

  fileprivate func extending(_ shared: OrderedJSON) -> OrderedJSON {
    switch self {
    case .scalar: return self
    case .array(let items): return .array(items.map { $0.extending(shared) })
    case .object(let members):
      var object = OrderedJSON.object(members.map { Member($0.name, $0.value.extending(shared)) })
      guard let base = self["extends"]?.text.flatMap({ shared[$0] }) else { return object }
      object["extends"] = nil
      object["required"] = .array((base["required"]?.items ?? []) + (self["required"]?.items ?? []))
      object["properties"] = base["properties"]?.merging(self["properties"])
      return object
    }
  }

  /// Adds the bounds and the defaults of the limits, of which the file has the meaning.
  fileprivate mutating func addLimits() {
    let limits = Limits()
    for entry in Limits.entries {
      let schema: OrderedJSON = [
        "type": "number", "minimum": .decimal(entry.allowed.lowerBound), "default": .decimal(limits[entry]),
      ]
      let meaning = self["properties"]?[entry.name]
      self["properties"]?[entry.name] = schema.merging(meaning)
    }
    let names = self["properties"]?.members.map(\.name) ?? []
    self["required"] = .array(names.map(OrderedJSON.string))
  }

  private static func decimal(_ number: Double) -> OrderedJSON {
    let isWhole = number == number.rounded()
    return isWhole ? .integer(Int(number)) : .scalar(.number(String(number)))
  }

  /// The value with its references to `schemas.json` as references to the document. Adds the names of these schemas to
  /// `names`.
  fileprivate func withOwnReferences(to names: inout Set<String>) -> OrderedJSON {
    let file = "schemas.json#/"
    switch self {
    case .scalar:
      guard let text, text.hasPrefix(file) else { return self }
      let name = String(text.dropFirst(file.count))
      names.insert(name)
      return .string("#/components/schemas/\(name)")
    case .array(let items): return .array(items.map { $0.withOwnReferences(to: &names) })
    case .object(let members):
      return .object(members.map { Member($0.name, $0.value.withOwnReferences(to: &names)) })
    }
  }
}
