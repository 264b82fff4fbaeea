// SPDX-License-Identifier: Apache-2.0
import RelayCommands
import RelayHub
import RelayJSON
import RelayRequests

extension Document {
  /// Makes the OpenAPI document of its file. Adds what follows from the table of routes. The file has the schema and the
  /// values of the examples of a body, without the objects around them that are the same for all bodies.
  static func describeHTTP() -> OrderedJSON {
    var document = source(DocumentFile.openAPI)
    for command in Commands.all { document.addBody(of: command.declaration) }
    for route in HTTPService.routes { document["paths"]?[route.path.description]?.complete(with: route) }
    for name in Set(HTTPService.routes.flatMap { Declaration.variables(of: $0.path.description) }) {
      document["components"]?["parameters"]?[name]?.completeVariable(name)
    }
    for status in Set(HTTPService.routes.flatMap(\.actions).flatMap(\.errors).map(\.status)) {
      document["components"]?["responses"]?[OrderedJSON.errorName(status)]?.completeError(status)
    }
    return document
  }
}

// A test reports routes, operations and errors that the file does not describe.
extension OrderedJSON {
  /// Adds the declared members of a body to its schema, which may have a name.
  fileprivate mutating func addBody(of declaration: Declaration) {
    guard let route = declaration.route, !declaration.bodyFields.isEmpty else { return }
    let method = route.method.lowercased()
    let schema = self["paths"]?[route.path]?[method]?["requestBody"]?["schema"]
    if let name = schema?.referenced {
      let known = self["components"]?["schemas"]?[name]
      self["components"]?["schemas"]?[name] = Self.object(declaration.bodyFields, beside: known)
    } else {
      self["paths"]?[route.path]?[method]?["requestBody"]?["schema"] = Self.object(
        declaration.bodyFields, beside: schema)
    }
  }

  /// The schema of an object with these members, beside those of the file.
  private static func object(_ fields: [FieldDeclaration], beside known: OrderedJSON?) -> OrderedJSON {
    var object = (["type": "object"] as OrderedJSON).merging(known)
    let required = fields.filter(\.isRequired).map { OrderedJSON.string($0.name) }
    let all = (known?["required"]?.items ?? []) + required
    if !all.isEmpty { object["required"] = .array(all) }
    let properties = OrderedJSON.object(fields.map { Member($0.name, $0.schema(inFrame: false)) })
    object["properties"] = (known?["properties"] ?? [:]).merging(properties)
    return object
  }

  /// Adds the parameters of the path, unless the file lists them.
  fileprivate mutating func complete(with route: Route) {
    for action in route.actions { self[action.method.lowercased()]?.complete(with: action) }
    let names = Declaration.variables(of: route.path.description)
    let variables = names.map { OrderedJSON.reference(to: "components/parameters/\($0)") }
    if !variables.isEmpty { self = (["parameters": .array(variables)] as OrderedJSON).merging(self) }
  }

  /// Adds what a command declares, and a response for each error, unless the file describes one with its status.
  private mutating func complete(with action: Route.Action) {
    if case .command(let command) = action.work { complete(with: command) }
    self["requestBody"]?.completeBody()
    for status in self["responses"]?.members.map(\.name) ?? [] { self["responses"]?[status]?.completeBody() }
    for status in Set(action.errors.map(\.status)).sorted() where self["responses"]?[String(status)] == nil {
      self["responses"]?[String(status)] = .reference(to: "components/responses/\(Self.errorName(status))")
    }
  }

  private mutating func complete(with command: any Command.Type) {
    let declaration = command.declaration
    self = (["operationId": .string(command.operation)] as OrderedJSON).merging(self)
    self["security"] = declaration.callers.security
    if self["requestBody"] != nil { self["requestBody"]?["required"] = .scalar(.bool(declaration.body != .optional)) }
    let parameters = declaration.fields.filter { declaration.query[$0.name] != nil }.map(\.parameter)
    if !parameters.isEmpty { self["parameters"] = .array(parameters) }
  }

  /// Makes the parameter for a variable of paths.
  fileprivate mutating func completeVariable(_ name: String) {
    let variable: OrderedJSON = ["name": .string(name), "in": "path", "required": .scalar(.bool(true))]
    self = variable.merging(self)
  }

  /// The name of the response for an error: the reason phrase of the status.
  fileprivate static func errorName(_ status: Int) -> String { HTTPResponse.reason(of: status).filter { $0 != " " } }

  fileprivate mutating func completeError(_ status: Int) {
    let problem: OrderedJSON = [
      "type": "about:blank", "title": .string(HTTPResponse.reason(of: status)), "status": .integer(status),
    ]
    self["schema"] = .reference(to: "components/schemas/Problem")
    let examples = self["examples"]?.members ?? []
    self["examples"] = .object(examples.map { Member($0.name, problem.merging($0.value)) })
    completeBody(of: "application/problem+json")
  }

  /// Makes the `content` of a request or a response of its schema and the values of its examples.
  private mutating func completeBody(of mediaType: String = "application/json") {
    guard let schema = self["schema"] else { return }
    let values = self["examples"]?.members ?? []
    self["schema"] = nil
    self["examples"] = nil
    var content: OrderedJSON = ["schema": schema]
    if !values.isEmpty { content["examples"] = .object(values.map { Member($0.name, ["value": $0.value]) }) }
    self["content"] = .object([Member(mediaType, content)])
  }
}

extension Declaration.Callers {
  /// The credentials of these callers. Is `nil` for those of all operations. The empty object is for open mode without
  /// a user.
  fileprivate var security: OrderedJSON? {
    let schemes: [String]
    switch self {
    case .users: return nil
    case .backend: schemes = ["apiKey", "openMode"]
    case .reporters, .ownDevice: schemes = ["token", "apiKey", "reportKey", "openMode"]
    }
    return .array(schemes.map { .object([OrderedJSON.Member($0, [])]) } + [[:]])
  }
}
