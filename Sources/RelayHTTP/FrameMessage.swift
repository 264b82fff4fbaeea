// SPDX-License-Identifier: Apache-2.0
import RelayCommands
import RelayJSON
import RelayRequests

/// A message of the AsyncAPI document. The file has its summary, its own members and its examples. Everything else
/// follows from its key. A request or a reply takes each part that the file lacks from the same command over HTTP.
struct FrameMessage {
  private enum Kind {
    case request, event
    /// The reply to one request.
    case ownReply
    /// `ok` and `error`, the replies to many requests.
    case commonReply
  }

  private let kind: Kind
  /// The type of a request, `<request>.reply`, `event.<type>`, `ok` or `error`.
  private let key: String
  /// The description in the file, with the members from HTTP.
  private let source: OrderedJSON
  private let fields: [FieldDeclaration]
  /// The member `type` of the frame.
  private let type: String
  private let title: String

  init(_ key: String, _ source: OrderedJSON, _ commands: HTTPCommands) {
    self.key = key
    let parts = key.split(separator: ".").map(String.init)
    let (kind, type, title) =
      switch (parts[0], parts.last) {
      case ("ok", _), ("error", _): (Kind.commonReply, key, key)
      case ("event", let type?): (.event, type, type)
      case (let request, "reply"): (.ownReply, "ok", "The reply to \(request)")
      default: (.request, key, key)
      }
    self.kind = kind
    self.type = source["name"]?.text ?? type
    self.title = source["title"]?.text ?? title
    let declaration = kind == .request || kind == .ownReply ? Commands.command(of: parts[0])?.declaration : nil
    fields = kind == .request ? Commands.fields(of: key) : []
    var known = (kind == .request ? declaration.map(commands.request) : declaration.map(commands.reply)) ?? [:]
    if source["properties"] != nil {
      known["required"] = nil
      known["properties"] = nil
    }
    self.source = known.merging(source)
  }

  var message: OrderedJSON {
    var message: OrderedJSON = ["name": .string(type), "title": .string(title)]
    message["summary"] = source["summary"]
    message["description"] = source["description"]
    message["payload"] = payload
    message["examples"] = examples
    return message
  }

  /// The operation of a request or an event.
  /// - Parameter hasReply: True if the request has its own reply, in place of `ok`.
  func operation(hasReply: Bool) -> OrderedJSON? {
    func operation(_ action: OrderedJSON) -> OrderedJSON {
      var operation: OrderedJSON = ["action": action]
      operation["summary"] = source["summary"]
      operation["channel"] = .reference(to: "channels/sessions")
      operation["messages"] = Self.references(to: key)
      return operation
    }
    switch kind {
    case .ownReply, .commonReply: return nil
    case .event: return operation("send")
    case .request:
      let messages = Self.references(to: hasReply ? "\(key).reply" : "ok", "error")
      return operation("receive").merging([
        "reply": ["channel": .reference(to: "channels/sessions"), "messages": messages]
      ])
    }
  }

  private static func references(to keys: String...) -> OrderedJSON {
    .array(keys.map { .reference(to: "channels/sessions/messages/\($0)") })
  }

  private var payload: OrderedJSON {
    var required: [OrderedJSON] = ["type"]
    var properties: OrderedJSON = ["type": ["const": .string(type)]]
    // Each `ok` has an id. The other replies also answer requests without one.
    if type == "ok" { required.append("id") }
    if kind != .event { properties["id"] = .reference(to: "components/schemas/ID") }
    required += source["required"]?.items ?? []
    properties = properties.merging(source["properties"])
    for field in fields {
      if field.isRequired, properties[field.name] == nil { required.append(.string(field.name)) }
      properties[field.name] = field.schema(inFrame: true)
    }
    return ["type": "object", "required": .array(required), "properties": properties]
  }

  /// The file has the members of each example by its name. An example of a request or of its reply has its number as the
  /// id.
  private var examples: OrderedJSON {
    let examples = source["examples"]?.members ?? []
    return .array(
      examples.enumerated().map { index, example in
        var payload: OrderedJSON = ["type": .string(type)]
        if kind == .request || kind == .ownReply { payload["id"] = .integer(index + 1) }
        return ["name": .string(example.name), "payload": payload.merging(example.value)]
      })
  }
}
