// SPDX-License-Identifier: Apache-2.0
import RelayCore
import RelayHub
import RelayJSON

extension Document {
  /// Makes the OpenAPI document of its file. Adds what the table of routes declares about an operation.
  static func describeHTTP() -> OrderedJSON {
    var document = file(DocumentFile.openAPI)
    for route in HTTPService.routes {
      for action in route.actions {
        // A test reports operations that the file does not describe.
        document["paths"]?[route.path.description]?[action.method.lowercased()]?.add(action)
      }
    }
    return document
  }
}

extension OrderedJSON {
  /// Adds a response for each error of an operation, unless the file already describes a response with that status. Adds
  /// the parameters of the query that the operation declares as fields.
  fileprivate mutating func add(_ action: Route.Action) {
    for status in Set(action.errors.map(\.status)).sorted() where self["responses"]?[String(status)] == nil {
      // The name of the response is the reason phrase of the status.
      let name = HTTPResponse.reason(of: status).filter { $0 != " " }
      self["responses"]?[String(status)] = .reference(to: "components/responses/\(name)")
    }
    guard case .command(let command) = action.work else { return }
    let declaration = command.declaration
    let parameters = declaration.fields.filter { declaration.query[$0.name] != nil }.map(\.parameter)
    if !parameters.isEmpty { self["parameters"] = .array(parameters) }
  }
}
