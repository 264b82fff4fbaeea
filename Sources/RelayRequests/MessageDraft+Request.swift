// SPDX-License-Identifier: Apache-2.0
package import RelayHub
package import RelayJSON
package import RelayProtocol
package import RelayStore

/// Parses the request of a message, and makes the message that the hub publishes.
extension MessageDraft {
  package static let bodyField = SharedFields.body.required()
  package static let keyField = RequestField<String?>.key(
    "An idempotency key of the user in the room: the same key within 5 minutes sends nothing twice. At most 128 bytes.")
  package static let mentionsField = FieldDeclaration(
    "mentions", .list(max: Mentions.maxNames, ["$ref": "schemas.json#/Mention"]),
    """
    The mentioned users. The relay pushes the message to members who have selected only mentions of the room. `*` \
    mentions all members, and `*online` the members who are online. Both need the right `mentionAll`, and a room \
    accepts one such message a minute.
    """)
  package static let replyToField = Field<Int64?>.whole(
    "replyTo", in: 1...maxInteger, "The number of the message that this message answers, at most the room's newest.")
  package static let reportField = Field<Bool?>.flag(
    "report",
    """
    true: the sender gets `delivery` events with the result for each recipient, for the newest 256 such messages of \
    the room, while the room is in memory.
    """)

  /// Parses the members of a `send`, except its room, its sender, its body and its key.
  /// - Parameters:
  ///   - newest: The newest message of the room.
  ///   - isStored: False if the room keeps no messages. Such a room pushes nothing.
  package mutating func read(_ fields: Fields, rights: Rights, newest: Int64, isStored: Bool) throws(RequestError) {
    mentions = try Mentions(fields, rights: rights)
    replyTo = try Self.replyToField.value(in: fields)
    if let replyTo, replyTo > newest { throw fields.wrong("replyTo", "is greater than the newest seq of the room") }
    quoting = QuotedParts(rights)
    reports = try Self.reportField.value(in: fields) ?? false
    guard let push = try PushRequest(fields, rights: rights) else { return }
    guard isStored else {
      throw RequestError(
        .unsupported, "a room that keeps nothing pushes nothing", at: "\(fields.pointer)/push", status: 422)
    }
    self.push = push == PushRequest() ? nil : push
  }

  package var traits: MessageTraits {
    MessageTraits(from: from.id, mentions: mentions, push: push ?? PushRequest(), unrung: call?.unrung)
  }

  /// The message as the hub publishes it to the sessions of its room.
  /// - Parameters:
  ///   - session: The session that sends the message and does not receive it.
  ///   - decided: The members whose pushes are decided already.
  ///   - quote: The message that this one answers.
  package func shown(without session: SessionHandle?, decided: [UserHandle] = [], quote: Quote? = nil) -> ShownMessage {
    var shown = ShownMessage(from: from.id, sender: session, body: body)
    if !mentions.words.isEmpty || replyTo != nil { shown.more = Self.members(Replies.address(mentions, replyTo)) }
    shown.quote = quote.map { quote in (seq: quote.seq, members: Self.members { quote.write(to: &$0) }) }
    shown.isSilent = push?.isAsked == false
    shown.decided = decided
    shown.keepsMarks = response != nil
    return shown
  }

  /// The text of at least one member of an event. It begins with a comma.
  private static func members(_ members: (inout JSONWriter.Object) -> Void) -> [UInt8] {
    var object = JSONWriter.object(members)
    object[0] = UInt8(ascii: ",")
    object.removeLast()
    return object
  }
}

extension PushRequest {
  /// The type of a member `push` that may also be true or false.
  package static let optionsType = FieldType.value([
    "anyOf": [["type": "boolean"], ["$ref": "schemas.json#/PushRequest"]]
  ])
}

extension Mentions {
  /// Parses the member `mentions`: names, and the reserved words for many members.
  fileprivate init(_ fields: Fields, rights: Rights) throws(RequestError) {
    self.init([UserID]())
    let maxLength = UserID.maxLength
    for (index, word) in (try fields.strings("mentions", max: Self.maxNames, maxLength: maxLength) ?? []).enumerated() {
      guard add(word) else { throw fields.wrong("mentions/\(index)", Fields.badName(UserID.self)) }
      guard !isBroad || rights.contains(.mentionAll) else {
        throw RequestError(
          .forbidden, "the right mentionAll is needed to mention \(word)", at: "\(fields.pointer)/mentions/\(index)")
      }
    }
  }
}

extension QuotedParts {
  /// The parts that the event of a new reply has. A sender without the right to read old messages must not read them by
  /// answering them.
  package init(_ rights: Rights) { self = StoredText.sentQuote.isReadable(with: rights) ? .preview : .nothing }
}
