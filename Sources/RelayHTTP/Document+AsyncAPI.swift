// SPDX-License-Identifier: Apache-2.0
import RelayJSON
import RelayRequests

extension Document {
  /// Makes the AsyncAPI document of its file. Adds what follows from the messages of the file: the messages of the
  /// channel, and the operations.
  static func describeSessions() -> OrderedJSON {
    var document = source(DocumentFile.asyncAPI)
    let welcome: Void? =
      document["components"]?["messages"]?["hello.reply"]?["examples"]?["welcome"]?.completeWelcome()
    precondition(welcome != nil, "the file lacks the example of the welcome")
    let commands = HTTPCommands(document: source(DocumentFile.openAPI), schemas: shared)
    let sources = document["components"]?["messages"] ?? [:]
    var (messages, channel, operations): (OrderedJSON, OrderedJSON, OrderedJSON) = ([:], [:], [:])
    for source in sources.members {
      let message = FrameMessage(source.name, source.value, commands)
      messages[source.name] = message.message
      channel[source.name] = .reference(to: "components/messages/\(source.name)")
      operations[source.name] = message.operation(hasReply: sources["\(source.name).reply"] != nil)
    }
    document["channels"]?["sessions"]?["messages"] = channel
    document["operations"] = operations
    document["components"]?["messages"] = messages
    return document
  }
}

/// The commands as the file of the OpenAPI document describes them. A frame and its reply have the same members. The
/// commands declare the other members.
struct HTTPCommands {
  let document: OrderedJSON
  let schemas: OrderedJSON

  /// The summary, the description, and the members of the path and of the body. The path names the user of the session,
  /// and may name others that the frame does not have.
  func request(of declaration: Declaration) -> OrderedJSON {
    guard let route = declaration.route else { return [:] }
    var (required, properties): ([OrderedJSON], OrderedJSON) = ([], [:])
    let onlyInPath = Set(declaration.fields.filter { !$0.isInFrames }.map(\.name))
    for name in Declaration.variables(of: route.path)
    where !route.path.hasPrefix("/v1/users/{\(name)}") && !onlyInPath.contains(name) {
      required.append(.string(name))
      properties[name] = document["components"]?["parameters"]?[name]?["schema"]
    }
    let operation = operation(route)
    let body = members(of: operation?["requestBody"]?["schema"])
    required += body["required"]?.items ?? []
    properties = properties.merging(body["properties"])
    var request: OrderedJSON = ["required": .array(required), "properties": properties]
    request["summary"] = operation?["summary"]
    request["description"] = operation?["description"]
    return request
  }

  /// The members and the examples of the reply.
  func reply(to declaration: Declaration) -> OrderedJSON {
    guard let route = declaration.route, let responses = operation(route)?["responses"] else { return [:] }
    let response = responses["201"] ?? responses["200"]
    var reply = members(of: response?["schema"])
    reply["examples"] = response?["examples"]
    return reply
  }

  private func operation(_ route: (method: String, path: String)) -> OrderedJSON? {
    document["paths"]?[route.path]?[route.method.lowercased()]
  }

  private func members(of schema: OrderedJSON?) -> OrderedJSON {
    let name = schema?.referenced ?? ""
    let object = document["components"]?["schemas"]?[name] ?? schemas[name] ?? schema
    var members: OrderedJSON = [:]
    members["required"] = object?["required"]
    members["properties"] = object?["properties"]
    return members
  }
}
