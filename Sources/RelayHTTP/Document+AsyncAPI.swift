// SPDX-License-Identifier: Apache-2.0
import RelayJSON

extension Document {
  /// Makes the AsyncAPI document of its file. Adds what follows from the messages of the file: the messages of the
  /// channel, and the operations.
  static func describeSessions() -> OrderedJSON {
    var document = file(DocumentFile.asyncAPI)
    let sources = document["components"]?["messages"] ?? [:]
    var (messages, channel, operations): (OrderedJSON, OrderedJSON, OrderedJSON) = ([:], [:], [:])
    for source in sources.members {
      let message = FrameMessage(source.name, source.value)
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
