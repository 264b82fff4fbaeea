// SPDX-License-Identifier: Apache-2.0
package import RelayHub
package import RelayJSON
package import RelayProtocol

/// The result of a command, for either transport.
package struct Reply {
  package typealias Members = (inout JSONWriter.Object) -> Void

  /// The members of the `ok` frame. Over HTTP they are the body, unless ``text`` is set.
  package let members: Members
  /// The status of the response.
  package let status: Int
  /// The body, if it is already JSON text. Only for commands without a frame.
  package private(set) var text: [UInt8]?
  /// The media type of the body. Is `nil` for JSON.
  package private(set) var mediaType: String?
  /// The entity tag of the body. Clients cache the body and send the tag in `If-None-Match`.
  package private(set) var tag: String?
  /// The room that the request has created or found, for the audit log.
  package private(set) var room: RoomID?
  /// The kind of a frame with messages, by which the hub sends it. Is `nil` for other frames.
  package private(set) var page: Hub.Page?

  package init(status: Int = 200, _ members: @escaping Members) {
    self.members = members
    self.status = status
  }

  /// The reply to a request that reads messages.
  package func sent(as page: Hub.Page) -> Reply {
    var reply = self
    reply.page = page
    return reply
  }

  /// The reply of a command that finds the name of the room itself.
  package func about(_ room: RoomID) -> Reply {
    var reply = self
    reply.room = room
    return reply
  }

  /// A reply without members: status 204.
  package static var nothing: Reply { Reply(status: 204) { _ in } }

  /// The reply with the entity tag of its body.
  /// - Parameter isKnown: True if the client's cached copy is current: status 304.
  package func tagged(_ tag: String, isKnown: Bool? = nil) -> Reply {
    var reply = isKnown == true ? Reply(status: 304) { _ in } : self
    if isKnown == true { reply.text = [] }
    reply.tag = tag
    return reply
  }

  package static func text(_ text: [UInt8]) -> Reply {
    var reply = Reply { _ in }
    reply.text = text
    return reply
  }

  /// Several JSON objects, each on a line of its own (JSON Lines).
  package static func lines(_ text: [UInt8]) -> Reply {
    var reply = Reply.text(text)
    reply.mediaType = "application/jsonl"
    return reply
  }

  /// - Parameter isKnown: True if the client's cached copy is current: status 304.
  package static func document(_ text: [UInt8], tag: String, isKnown: Bool) -> Reply {
    var reply = Reply(status: isKnown ? 304 : 200) { _ in }
    reply.text = isKnown ? [] : text
    reply.tag = tag
    return reply
  }
}
