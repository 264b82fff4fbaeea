// SPDX-License-Identifier: Apache-2.0
import Foundation
import PushLint
import RelayDelivery
import RelayHub
import RelayJSON
import RelayProtocol
import RelayStore
import Testing

@testable import RelayCommands
@testable import RelayHTTP
@testable import RelayRequests
@testable import RelayState

/// The documents describe exactly the routes, requests, errors and limits of the code.
struct DocumentTests {
  /// The file of the OpenAPI document.
  private static let source = Document.source(DocumentFile.openAPI)

  let openAPI: [String: Any]
  let asyncAPI: [String: Any]

  init() throws {
    openAPI = try Self.object(Document.openAPI.text)
    asyncAPI = try Self.object(Document.asyncAPI.text)
  }

  private static func object(_ text: [UInt8]) throws -> [String: Any] {
    try #require(try JSONSerialization.jsonObject(with: Data(text)) as? [String: Any])
  }

  private func schema(_ name: String, of document: [String: Any]) throws -> [String: Any] {
    let components = try #require(document["components"] as? [String: Any])
    let schemas = try #require(components["schemas"] as? [String: Any])
    return try #require(schemas[name] as? [String: Any])
  }

  @Test func `every route is described with exactly its methods`() throws {
    let paths = try #require(openAPI["paths"] as? [String: [String: Any]])
    let described = paths.mapValues { item in Set(item.keys).subtracting(["parameters"]) }
    var served: [String: Set<String>] = [:]
    for route in HTTPService.routes {
      #expect(served[route.path.description] == nil, "\(route.path) is in the table twice")
      served[route.path.description] = Set(route.actions.map { $0.method.lowercased() })
    }
    #expect(described == served)
  }

  @Test func `every operation is described with its credentials`() throws {
    let paths = try #require(openAPI["paths"] as? [String: [String: Any]])
    for route in HTTPService.routes {
      for action in route.actions {
        let operation = try #require(paths[route.path.description]?[action.method.lowercased()] as? [String: Any])
        let security = (operation["security"] as? [[String: Any]])?.flatMap(\.keys)
        let expected: [String]?
        switch action.work {
        case .command(let command):
          expected =
            switch command.declaration.callers {
            case .backend: ["apiKey", "openMode"]
            case .users: nil
            case .reporters, .ownDevice: ["token", "apiKey", "reportKey", "openMode"]
            }
        case .resource:
          let own = [
            "/metrics": ["apiKey", "openMode"], "/v1/cluster": ["apiKey", "openMode"],
            "/v1/cluster/step-down": ["apiKey", "openMode"], "/v1/cluster/snapshot": ["apiKey", "openMode"],
            "/v1/notifications/{id}/received": ["reportKey"],
            "/v1/simulator/devices/{token}/events": ["apiKey", "openMode"],
            "/v1/presence/events": ["apiKey", "openMode"],
          ]
          expected = own[route.path.description, default: []]
        }
        #expect(security == expected, "\(action.method) \(route.path)")
      }
    }
  }

  @Test func `a scope names the operations of the document`() throws {
    let paths = try #require(openAPI["paths"] as? [String: [String: Any]])
    var described: Set<String> = []
    for route in HTTPService.routes {
      for action in route.actions {
        let operation = try #require(paths[route.path.description]?[action.method.lowercased()] as? [String: Any])
        let name = try #require(operation["operationId"] as? String)
        if case .command(let command) = action.work { #expect(command.operation == name, "\(command)") }
        let security = (operation["security"] as? [[String: Any]])?.flatMap(\.keys)
        if security?.contains("apiKey") ?? true { described.insert(name) }
      }
    }
    #expect(RelayRequests.Operation.names == described)
    #expect(RelayRequests.Operation.all.count == described.count)
  }

  /// The members of requests that name rooms or users.
  @Test func `a scope checks every member that names a room or a user`() throws {
    let checked = Set(NamedMembers.rooms + NamedMembers.roomObjects + NamedMembers.users)
    var found: Set<String> = []
    let paths = try #require(openAPI["paths"] as? [String: [String: Any]])
    for (path, item) in paths {
      found.formUnion(path.split(separator: "/").filter { $0.hasPrefix("{") }.map { String($0.dropFirst().dropLast()) })
      for case let operation as [String: Any] in item.values {
        for parameter in operation["parameters"] as? [[String: Any]] ?? [] where named(parameter["schema"]) {
          found.insert(try #require(parameter["name"] as? String))
        }
        let content = (operation["requestBody"] as? [String: Any])?["content"] as? [String: [String: Any]]
        found.formUnion(try namedMembers(of: content?["application/json"]?["schema"]))
      }
    }
    // Mentions notify members of a room that the request names. `after` is a position in a list of names. The other
    // parameters name no room and no user.
    found.subtract(["mentions", "after", "seq", "report", "key", "id", "device", "token"])
    #expect(found == checked)
  }

  /// The members of a schema that name rooms or users, with those of the objects in it.
  private func namedMembers(of value: Any?) throws -> Set<String> {
    guard let object = value as? [String: Any] else { return [] }
    if let reference = object["$ref"] as? String {
      let name = try #require(reference.split(separator: "/").last.map(String.init))
      return try namedMembers(of: schema(name, of: openAPI))
    }
    var found: Set<String> = []
    for (name, member) in object["properties"] as? [String: [String: Any]] ?? [:] {
      if named(member) || named(member["items"]) || named(member["propertyNames"]) { found.insert(name) }
      found.formUnion(try namedMembers(of: member))
    }
    for case let part as [String: Any] in ["anyOf", "oneOf", "allOf"].flatMap({ object[$0] as? [Any] ?? [] }) {
      found.formUnion(try namedMembers(of: part))
    }
    return found.union(try namedMembers(of: object["items"]))
  }

  /// True for the schema of a name of a room or a user, and of such a name or null.
  private func named(_ schema: Any?) -> Bool {
    guard let schema = schema as? [String: Any] else { return false }
    let reference = schema["$ref"] as? String
    if reference?.hasSuffix("/UserName") == true || reference?.hasSuffix("/RoomName") == true { return true }
    return (schema["anyOf"] as? [Any])?.contains { named($0) } ?? false
  }

  @Test func `the documents have the rule for texts of one line`() throws {
    for document in [openAPI, asyncAPI] {
      let pattern = try #require(try schema("Line", of: document)["pattern"] as? String)
      let expression = try NSRegularExpression(pattern: pattern)
      let ranges = [0x00...0x17F, 0x2000...0x20FF, 0xFE00...0xFEFF, 0x1F300...0x1F3FF] as [ClosedRange<UInt32>]
      for value in ranges.joined() {
        let text = "a\(Character(try #require(Unicode.Scalar(value))))b"
        let range = NSRange(text.startIndex..., in: text)
        #expect((expression.firstMatch(in: text, range: range) != nil) == text.isLine, "\(value)")
      }
    }
  }

  @Test func `every error of an operation has a response`() throws {
    let paths = try #require(openAPI["paths"] as? [String: [String: Any]])
    for route in HTTPService.routes {
      for action in route.actions {
        let operation = try #require(paths[route.path.description]?[action.method.lowercased()] as? [String: Any])
        let responses = try #require(operation["responses"] as? [String: Any])
        let described = responses.keys.compactMap(Int.init).filter { $0 >= 400 }
        #expect(Set(described) == Set(action.errors.map(\.status)), "\(action.method) \(route.path)")
      }
    }
  }

  @Test func `every operation has the errors of its transport and of its callers`() {
    let always: Set = [400, 403, 408, 413, 414, 429, 431, 501, 503]
    for action in HTTPService.routes.flatMap(\.actions) {
      let statuses = Set(action.errors.map(\.status))
      #expect(statuses.isSuperset(of: always), "\(action)")
      if case .command = action.work { #expect(statuses.isSuperset(of: [401, 415, 422, 500]), "\(action)") }
    }
  }

  @Test func `the response of an error has its status and a code for that status`() throws {
    let components = try #require(openAPI["components"] as? [String: Any])
    let responses = try #require(components["responses"] as? [String: [String: Any]])
    let kinds = HTTPService.routes.flatMap(\.actions).reduce(into: Set()) { $0.formUnion($1.errors) }
    #expect(Set(responses.keys) == Set(kinds.map { HTTPResponse.reason(of: $0.status).filter { $0 != " " } }))
    for (name, response) in responses {
      let content = try #require(response["content"] as? [String: [String: Any]])
      let examples = try #require(content["application/problem+json"]?["examples"] as? [String: [String: Any]])
      for example in examples.values {
        let problem = try #require(example["value"] as? [String: Any])
        let status = try #require(problem["status"] as? Int)
        #expect(HTTPResponse.reason(of: status).filter { $0 != " " } == name)
        let codes = kinds.filter { $0.status == status }.map(\.code.rawValue)
        #expect(codes.contains(problem["code"] as? String ?? ""), "\(name)")
      }
    }
  }

  @Test func `a schema that both documents use is in one file`() throws {
    // Other schemas have the members of these two.
    let shared = Set(try Self.object(DocumentFile.schemas).keys).subtracting(["RoomRecord", "MessageOptions"])
    let objects = Set(Commands.objects.map(\.name))
    var own: [Set<String>] = []
    let declared = Commands.all.map { $0.declaration }.filter { !$0.bodyFields.isEmpty }
    let bodies = Set(declared.compactMap { $0.route.flatMap { body(of: $0)?.referenced } })
    for (document, source, bodies) in [
      (openAPI, DocumentFile.openAPI, bodies), (asyncAPI, DocumentFile.asyncAPI, Set<String>()),
    ] {
      let whole = try #require((document["components"] as? [String: Any])?["schemas"] as? [String: Any])
      let described = try #require(
        (try Self.object(source)["components"] as? [String: Any])?["schemas"] as? [String: Any])
      let expected = Set(described.keys).union(shared).union(bodies)
      let unused = expected.subtracting(whole.keys)
      #expect(unused.isEmpty, "only the other document uses them, so they belong in its file")
      let unknown = Set(whole.keys).subtracting(objects).subtracting(expected)
      #expect(unknown.isEmpty, "no file has them")
      let twice = Set(described.keys).union(shared).intersection(objects)
        .union(shared.intersection(described.keys))
      #expect(twice.isEmpty, "they are in a file, and in another file or in Swift")
      own.append(Set(described.keys))
    }
    let inBoth = own[0].intersection(own[1])
    #expect(inBoth.isEmpty, "they belong in schemas.json")
    for document in [Document.openAPI, .asyncAPI] {
      let text = String(decoding: document.text, as: UTF8.self)
      let line = text.split(separator: "\n").first { $0.contains("schemas.json") }
      #expect(line == nil)
    }
  }

  @Test func `an example in the file of examples has several places`() throws {
    let files = String(decoding: DocumentFile.openAPI + DocumentFile.asyncAPI, as: UTF8.self)
    for name in try Self.object(DocumentFile.examples).keys {
      #expect(files.components(separatedBy: #""like": "\#(name)""#).count > 2, "\(name)")
    }
  }

  @Test func `every type of request is described`() throws {
    let operations = try #require(asyncAPI["operations"] as? [String: [String: Any]])
    let described = operations.filter { $0.value["action"] as? String == "receive" }.keys
    #expect(Set(described) == Set(Commands.frames.map(\.name) + Commands.hubFrames.map { $0.name }))
  }

  @Test func `the documents have the fields that a request declares, and each is in one place`() throws {
    let messages = try #require((asyncAPI["components"] as? [String: Any])?["messages"] as? [String: [String: Any]])
    let source = Document.source(DocumentFile.asyncAPI)["components"]?["messages"]
    let paths = try #require(openAPI["paths"] as? [String: [String: Any]])
    #expect(Commands.all.filter { !$0.declaration.fields.isEmpty }.count >= 3)
    for declaration in Commands.all.map({ $0.declaration }) {
      let inPath = declaration.route.map { Declaration.variables(of: $0.path) } ?? []
      let names = declaration.fields.map(\.name)
      let inBody = declaration.route.map(writtenMembers) ?? []
      #expect(inBody.isDisjoint(with: names), "\(declaration.route?.path ?? "")")
      if let frame = declaration.frame {
        let ofUser = declaration.route?.path.hasPrefix("/v1/users/{user}") == true
        let written = Set(source?[frame]?["properties"]?.members.map(\.name) ?? [])
        #expect(written.isDisjoint(with: names), "\(frame)")
        #expect(inBody.isDisjoint(with: written), "\(frame)")
        guard !names.isEmpty else { continue }
        let onlyHTTP = Set(declaration.fields.filter { !$0.isInFrames }.map(\.name))
        let ofPath = inPath.filter { !onlyHTTP.contains($0) && ($0 != "user" || !ofUser) }
        let known = written.isEmpty ? ofPath + inBody : Array(written)
        let payload = try #require(messages[frame]?["payload"] as? [String: Any])
        let fields = declaration.fields.filter(\.isInFrames)
        let required = fields.filter(\.isRequired).map(\.name).filter { !known.contains($0) }
        #expect((payload["required"] as? [String])?.sorted() == (["type"] + known + required).sorted(), "\(frame)")
        let properties = try #require(payload["properties"] as? [String: [String: Any]])
        let expected = Set(["type", "id"] + known + fields.map(\.name))
        let differing = expected.symmetricDifference(properties.keys)
        #expect(differing.isEmpty, "\(frame)")
        for field in fields {
          #expect(properties[field.name]?["description"] as? String == field.meaningInFrames, "\(frame)")
        }
      }
      guard let route = declaration.route, !names.isEmpty else { continue }
      let operation = try #require(paths[route.path]?[route.method.lowercased()] as? [String: Any])
      let parameters = (operation["parameters"] as? [[String: Any]])?.compactMap { $0["name"] as? String } ?? []
      #expect(Set(parameters) == Set(declaration.query.keys), "\(route)")
      let expected = declaration.bodyFields
      guard !expected.isEmpty else { continue }
      let request = try #require(operation["requestBody"] as? [String: Any], "\(route)")
      let content = try #require((request["content"] as? [String: [String: Any]])?["application/json"])
      let given = try #require(content["schema"] as? [String: Any])
      let reference = (given["$ref"] as? String)?.split(separator: "/").last.map(String.init)
      let schema = try reference.map { try self.schema($0, of: openAPI) } ?? given
      let described = (schema["properties"] as? [String: Any])?.keys.map { $0 } ?? []
      let differing = Set(expected.map(\.name)).union(inBody).symmetricDifference(described)
      #expect(differing.isEmpty, "\(route)")
      let needed = (schema["required"] as? [String]) ?? []
      #expect(Set(expected.filter(\.isRequired).map(\.name)).isSubset(of: needed), "\(route)")
      #expect(Set(needed).count == needed.count, "\(route)")
    }
    let list = try #require(messages["invitations"]?["payload"] as? [String: Any])
    let limit = try #require((list["properties"] as? [String: [String: Any]])?["limit"])
    #expect(limit["type"] as? [String] == ["integer", "null"])
    #expect(limit["minimum"] as? Int == 1 && limit["maximum"] as? Int == 100 && limit["default"] as? Int == 50)
  }

  /// The members of a body that the file describes.
  private func writtenMembers(of route: (method: String, path: String)) -> Set<String> {
    let body = body(of: route)
    let schema = body?.referenced.flatMap { Self.source["components"]?["schemas"]?[$0] } ?? body
    return Set(schema?["properties"]?.members.map(\.name) ?? [])
  }

  /// The schema of a body in the file.
  private func body(of route: (method: String, path: String)) -> OrderedJSON? {
    Self.source["paths"]?[route.path]?[route.method.lowercased()]?["requestBody"]?["schema"]
  }

  @Test func `every end of an invitation is described`() throws {
    let messages = try #require((asyncAPI["components"] as? [String: Any])?["messages"] as? [String: [String: Any]])
    let payload = try #require(messages["event.invitation"]?["payload"] as? [String: Any])
    let cause = (payload["properties"] as? [String: [String: Any]])?["cause"]?["enum"] as? [String]
    #expect(cause == InvitationEnd.allCases.map(\.rawValue))
  }

  @Test func `the limits are described with their defaults`() throws {
    let schema = try schema("Limits", of: asyncAPI)
    let properties = try #require(schema["properties"] as? [String: [String: Any]])
    let described = properties.compactMapValues { ($0["default"] as? NSNumber)?.doubleValue }
    let limits = Limits()
    #expect(described == Dictionary(uniqueKeysWithValues: Limits.entries.map { ($0.name, limits[$0.name] ?? .nan) }))
    let required = Limits.entries.map(\.name) + ["preferences"]
    #expect(try Set(#require(schema["required"] as? [String])) == Set(required))
  }

  @Test func `the preferences are those that the relay knows`() throws {
    for name in ["PreferenceChange", "Preferences"] {
      let properties = try #require(schema(name, of: openAPI)["properties"] as? [String: Any])
      #expect(Set(properties.keys).subtracting(["warnings"]) == Set(Preferences.names))
    }
  }

  @Test func `every error code is described`() throws {
    for document in [openAPI, asyncAPI] {
      #expect(try schema("ErrorCode", of: document)["enum"] as? [String] == ErrorCode.allCases.map(\.rawValue))
    }
  }

  @Test func `every value in an explanation is described`() throws {
    let push = try #require(try schema("Push", of: openAPI)["properties"] as? [String: [String: Any]])
    #expect(try schema("PushState", of: openAPI)["enum"] as? [String] == JobState.allCases.map(\.rawValue))
    #expect(push["platform"]?["enum"] as? [String] == Platform.allCases.map(\.rawValue))
    #expect(try schema("ReasonCode", of: openAPI)["enum"] as? [String] == Reason.Code.allCases.map(\.rawValue))
    #expect(try schema("Level", of: openAPI)["enum"] as? [String] == Level.allCases.map(\.rawValue))
  }

  @Test func `every code of a warning is described`() throws {
    for document in [openAPI, asyncAPI] {
      let warning = try #require(
        try schema("ReplyWarning", of: document)["properties"] as? [String: [String: Any]])
      let code = try #require(warning["code"])
      #expect(code["enum"] as? [String] == ReplyWarning.Code.allCases.map(\.rawValue))
      let words = try #require(code["description"] as? String)
      for code in ReplyWarning.Code.allCases { #expect(words.contains("`\(code.rawValue)`"), "\(code)") }
    }
  }

  /// The events of a stream by name, with the schemas of their data.
  private func events(_ name: String) throws -> [String: [String: Any]] {
    let variants = try #require(try schema(name, of: openAPI)["oneOf"] as? [[String: Any]])
    return try variants.reduce(into: [:]) { found, variant in
      let properties = try #require(variant["properties"] as? [String: [String: Any]])
      let event = try #require(properties["event"]?["const"] as? String)
      found[event] = try #require(properties["data"]?["contentSchema"] as? [String: Any])
    }
  }

  @Test func `every reason of an event in the presence stream is described`() throws {
    let events = try events("PresenceEvent")
    #expect(Set(events.keys) == ["presence", "reset", "resumed", "end"])
    for (name, reasons) in [
      ("reset", PresenceLog.Reset.allCases.map(\.rawValue)),
      ("end", PresenceStreams.EndReason.allCases.map(\.rawValue)),
    ] {
      let properties = try #require(events[name]?["properties"] as? [String: [String: Any]])
      #expect(properties["reason"]?["enum"] as? [String] == reasons, "\(name)")
    }
  }

  @Test func `every rule of the linter is described`() throws {
    #expect(try schema("LintRule", of: openAPI)["enum"] as? [String] == LintRule.allCases.map(\.rawValue))
    let finding = try #require(try schema("Finding", of: openAPI)["properties"] as? [String: [String: Any]])
    #expect(finding["severity"]?["enum"] as? [String] == Severity.allCases.map(\.rawValue))
  }

  @Test func `every state of a delivery is described`() throws {
    let messages = try #require((asyncAPI["components"] as? [String: Any])?["messages"] as? [String: [String: Any]])
    let payload = try #require(messages["event.delivery"]?["payload"] as? [String: Any])
    let state = (payload["properties"] as? [String: [String: Any]])?["state"]?["enum"] as? [String]
    #expect(state == DeliveryState.allCases.map(\.rawValue))
  }

  @Test func `every preference is described`() throws {
    for document in [openAPI, asyncAPI] {
      #expect(try schema("SilenceMode", of: document)["enum"] as? [String] == SilenceMode.allCases.map(\.rawValue))
      #expect(try schema("Audience", of: document)["enum"] as? [String] == Audience.allCases.map(\.rawValue))
      let room = try #require(try schema("RoomPreference", of: document)["properties"] as? [String: [String: Any]])
      #expect(room["level"]?["enum"] as? [String] == RoomLevel.allCases.map(\.rawValue))
    }
  }

  @Test func `every close code is described`() throws {
    let codes = try schema("CloseCode", of: asyncAPI)["enum"] as? [Int]
    #expect(codes == CloseCode.allCases.map { Int($0.rawValue) })
  }
}
