// SPDX-License-Identifier: Apache-2.0
import RelayHub
import RelayJSON
import RelayProtocol
import RelayStore

/// The text of frames and of what several of them share.
enum Replies {
  /// The newest state of a message that was edited or deleted, as its event.
  static func change(_ changed: ChangedMessage, in room: RoomID) -> [UInt8] {
    change(
      changed.body == nil ? "deleted" : "edited", changed.seq, at: changed.time, body: changed.body, in: room)
  }

  /// The event that a message was edited or deleted.
  static func change(_ event: String, _ seq: Int64, at time: Timestamp, body: [UInt8]?, in room: RoomID) -> [UInt8] {
    JSONWriter.object {
      $0["type"] = event
      $0["room"] = room.rawValue
      $0.integer("seq", seq)
      $0.integer("time", time.rawValue)
      $0.raw("body", body)
    }
  }

  static func ok(
    _ request: HubRequest, type: String = "ok", always: Bool = false,
    _ members: (inout JSONWriter.Object) -> Void = { _ in }
  ) -> [UInt8] {
    guard request.id != nil || always else { return [] }
    return JSONWriter.object {
      $0["type"] = type
      $0.raw("id", request.id)
      members(&$0)
    }
  }

  /// - Parameter room: Of an error that answers no request.
  static func error(_ id: [UInt8]?, _ error: RequestError, room: RoomID? = nil) -> [UInt8] {
    JSONWriter.object {
      $0["type"] = "error"
      $0.raw("id", id)
      $0["room"] = room?.rawValue
      $0["code"] = error.code.rawValue
      $0["message"] = error.message
      $0.bool("temporary", error.code.isTemporary)
      $0.decimal("retryAfter", error.retryAfter?.seconds)
    }
  }

  /// - Parameter expires: When the session's token does; nil: there is none.
  static func welcome(
    _ user: User, _ session: SessionHandle, _ request: HubRequest, expires: Timestamp?, limits: Limits, now: Timestamp
  ) -> [UInt8] {
    ok(request, type: "welcome", always: true) {
      $0["user"] = user.id.rawValue
      $0["name"] = user.name
      $0["session"] = String(session.rawValue, radix: 36)
      $0.decimal("heartbeat", limits.heartbeat)
      $0.integer("time", now.rawValue)
      $0.integer("expires", expires?.rawValue)
      $0.object("limits") {
        for entry in Limits.entries { $0.decimal(entry.name, limits[entry]) }
      }
      $0["server"] = "stillwire/\(version)"
    }
  }

  static func focus(_ result: Relay.FocusResult) -> (inout JSONWriter.Object) -> Void {
    {
      $0.bool("applied", result.applied)
      $0.boolOrNull("isFocused", result.isFocused)
      $0.integer("focusSince", result.since?.rawValue)
      $0.integer("settlesAt", result.settles?.rawValue)
    }
  }

  /// What the user wants, as they said it.
  static func preferences(_ preferences: Preferences) -> (inout JSONWriter.Object) -> Void {
    {
      $0.object("rooms") {
        for (room, wish) in preferences.rooms.sorted(by: { $0.key < $1.key }) {
          $0.object(room.rawValue) {
            $0["level"] = wish.level.rawValue
            $0.integer("until", wish.until?.rawValue)
            $0["criteria"] = wish.criteria
          }
        }
      }
      $0["onFocus"] = preferences.onFocus.rawValue
      if let hours = preferences.quietHours {
        $0.object("quietHours") {
          $0["from"] = hours.from.description
          $0["to"] = hours.to.description
          $0.array("days") { list in hours.days.sorted().forEach { list.raw(String($0).utf8) } }
          $0["timeZone"] = hours.timeZone
          $0["mode"] = hours.mode.rawValue
        }
      } else {
        $0.raw("quietHours", "null".utf8)
      }
      $0["shareFocus"] = preferences.shareFocus.rawValue
      $0["shareOnline"] = preferences.shareOnline.rawValue
    }
  }

  static func sent(_ sent: SentMessage, in room: RoomID) -> (inout JSONWriter.Object) -> Void {
    {
      $0["room"] = room.rawValue
      $0.integer("seq", sent.stored.seq)
      $0.integer("time", sent.stored.time.rawValue)
      if sent.stored.isDuplicate { $0.bool("duplicate", true) }
      if let delivery = sent.delivery { $0.object("delivery") { $0.members(of: delivery) } }
    }
  }

  /// Whom a message names, and what it answers.
  static func address(_ mentions: [UserID], _ replyTo: Int64?) -> (inout JSONWriter.Object) -> Void {
    {
      if !mentions.isEmpty { $0.array("mentions") { list in mentions.forEach { list.string($0.rawValue) } } }
      $0.integer("replyTo", replyTo)
    }
  }

  /// Consecutive messages as a reply holds them.
  static func text(of messages: [StoredMessage]) -> MessagesText {
    var writer = JSONWriter()
    for message in messages {
      writer.object {
        $0.integer("seq", message.seq)
        guard !message.isDeleted else { return $0.bool("deleted", true) }
        $0["from"] = message.from.rawValue
        $0.integer("time", message.time.rawValue)
        $0.raw("body", message.body)
        address(message.mentions, message.replyTo)(&$0)
      }
    }
    return MessagesText(text: writer.bytes, count: messages.count)
  }
}

extension MessagesText {
  static let none = MessagesText(text: [], count: 0)

  var array: [UInt8] { [UInt8(ascii: "[")] + text + [UInt8(ascii: "]")] }

  static func + (a: MessagesText, b: MessagesText) -> MessagesText {
    MessagesText(
      text: a.text + (a.count > 0 && b.count > 0 ? [UInt8(ascii: ",")] : []) + b.text, count: a.count + b.count)
  }
}

/// Of this program.
public let version = "0.1.0"
