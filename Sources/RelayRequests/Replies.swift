// SPDX-License-Identifier: Apache-2.0
package import RelayHub
package import RelayIdentity
package import RelayJSON
package import RelayProtocol
package import RelayStore

/// The texts of frames, and of the parts that several frames share.
package enum Replies {
  /// The event with the newest state of a message: `edited`, `deleted`, or that of an annotation.
  package static func change(_ changed: ChangedMessage, in room: RoomID) -> [UInt8] {
    JSONWriter.object {
      $0["type"] = changed.annotation?.kind.rawValue ?? (changed.body == nil ? "deleted" : "edited")
      $0["room"] = room.rawValue
      $0.integer("seq", changed.seq)
      $0.integer("change", changed.change)
      $0.integer("time", changed.time.rawValue)
      switch changed.annotation?.kind {
      case nil:
        $0.raw("body", changed.body)
        $0["by"] = changed.moderator?.rawValue
      case .reactions: $0.raw("reactions", changed.annotation?.value ?? emptyList)
      case .pinned: $0.bool("pinned", changed.annotation?.value != nil)
      }
    }
  }

  /// The reply to a change of a message.
  /// - Parameter number: The number of the change in the room. Is `nil` if nothing was changed.
  package static func changed(_ seq: Int64, in room: RoomID, _ number: Int64?) -> Reply.Members {
    {
      $0["room"] = room.rawValue
      $0.integer("seq", seq)
      $0.integer("change", number)
    }
  }

  /// The text of a list without items.
  package static let emptyList = Array("[]".utf8)

  /// The reply to a request without a result.
  package static func ok(_ id: [UInt8]?) -> [UInt8] {
    JSONWriter.object {
      $0["type"] = "ok"
      $0.raw("id", id)
    }
  }

  package static func ok(
    _ request: HubRequest, type: String = "ok", always: Bool = false, _ members: (inout JSONWriter.Object) -> Void
  ) -> [UInt8] {
    guard request.id != nil || always else { return [] }
    return JSONWriter.object {
      $0["type"] = type
      $0.raw("id", request.id)
      members(&$0)
    }
  }

  /// - Parameter room: The room of an error that answers no request.
  package static func error(_ id: [UInt8]?, _ error: RequestError, room: RoomID? = nil) -> [UInt8] {
    JSONWriter.object {
      $0["type"] = "error"
      $0.raw("id", id)
      $0["room"] = room?.rawValue
      $0["code"] = error.code.rawValue
      $0["message"] = error.message
      $0.bool("temporary", error.code.isTemporary)
      $0.decimal("retryAfter", error.retryAfter?.seconds)
      $0.integer("until", error.until?.rawValue)
    }
  }

  /// The record of a room.
  package static func room(_ room: RoomID, _ details: RoomDetails) -> Reply.Members {
    {
      $0["room"] = room.rawValue
      $0["kind"] = details.kind.rawValue
      $0["join"] = details.join.rawValue
      $0["title"] = details.title
      $0["avatar"] = details.avatar
      $0.raw("metadata", details.metadata)
      if details.isReadOnly { $0.bool("readOnly", true) }
      $0.integer("version", details.version)
      $0.integer("created", details.created?.rawValue)
    }
  }

  /// The `room` event.
  /// - Parameters:
  ///   - details: Is `nil` for a deleted room.
  ///   - user: The user who caused the event. Is `nil` for a backend that names no user.
  package static func roomEvent(_ event: String, _ room: RoomID, _ details: RoomDetails?, by user: UserID?) -> [UInt8] {
    JSONWriter.object {
      $0["type"] = "room"
      $0["event"] = event
      if let details { self.room(room, details)(&$0) } else { $0["room"] = room.rawValue }
      if event == "deleted" || event == "removed" { $0.bool("removed", true) }
      $0["by"] = user?.rawValue
    }
  }

  /// The preferences of a user, as the user set them.
  package static func preferences(
    _ preferences: Preferences, _ warnings: [ReplyWarning] = []
  ) -> (inout JSONWriter.Object) -> Void {
    {
      $0.object("rooms") {
        for (room, preference) in preferences.rooms.sorted(by: { $0.key < $1.key }) {
          $0.object(room.rawValue) {
            $0["level"] = preference.level.rawValue
            $0.integer("until", preference.until?.rawValue)
            $0["criteria"] = preference.criteria
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
      $0.object("breakThrough") {
        $0.array("users") { list in preferences.breakThrough.users.forEach { list.string($0.rawValue) } }
        $0.bool("mentions", preferences.breakThrough.mentions)
      }
      $0.bool("quietCalls", preferences.quietCalls)
      $0.bool("quietTimeSensitive", preferences.quietTimeSensitive)
      if let seconds = preferences.pushUnreadAfter {
        $0.integer("pushUnreadAfter", Int64(seconds))
      } else {
        $0.raw("pushUnreadAfter", "null".utf8)
      }
      $0["shareFocus"] = preferences.shareFocus.rawValue
      $0["shareOnline"] = preferences.shareOnline.rawValue
      warnings.write(to: &$0)
    }
  }

  /// A device without its token, because anybody with the token could push to the device.
  /// - Parameter key: The report key that this registration issues. No later reply contains it.
  package static func device(
    _ device: Device, _ warnings: [ReplyWarning], issued key: ReportKey? = nil
  ) -> (inout JSONWriter.Object) -> Void {
    {
      $0["device"] = device.id.rawValue
      $0["app"] = device.app
      $0["platform"] = device.platform.rawValue
      $0["environment"] = device.environment?.rawValue
      $0["topic"] = device.topic
      $0["criteria"] = device.criteria
      $0.object("settings") {
        $0.bool("alerts", device.allowsAlerts)
        $0.bool("timeSensitive", device.allowsTimeSensitive)
      }
      $0["locale"] = device.locale
      $0["timeZone"] = device.timeZone
      warnings.write(to: &$0)
      $0["reportKey"] = key?.text
    }
  }

  /// The mentions of a message, and the message that it answers.
  package static func address(
    _ mentions: Mentions, _ replyTo: Int64?, _ quote: Quote? = nil
  ) -> (inout JSONWriter.Object) -> Void {
    {
      let words = mentions.words
      if !words.isEmpty { $0.array("mentions") { list in words.forEach { list.string($0) } } }
      $0.integer("replyTo", replyTo)
      quote?.write(to: &$0)
    }
  }

  /// Consecutive messages in the form of a reply.
  package static func text(of messages: [StoredMessage]) -> MessagesText {
    var writer = JSONWriter()
    for message in messages {
      writer.object {
        $0.integer("seq", message.seq)
        guard !message.isDeleted else {
          $0.bool("deleted", true)
          $0["by"] = message.moderator?.rawValue
          return
        }
        $0["from"] = message.from.rawValue
        $0.integer("time", message.time.rawValue)
        $0.integer("editedAt", message.edited?.rawValue)
        $0.raw("body", message.body)
        address(message.mentions, message.replyTo, message.quote)(&$0)
        $0.raw("reactions", message.reactions)
        $0.integer("pinnedAt", message.pinned?.rawValue)
      }
    }
    return MessagesText(text: writer.bytes, count: messages.count)
  }
}

extension Replies {
  /// The `response` event.
  /// - Parameter hasText: False for a session that may not read the text.
  package static func response(_ response: StoredResponse, hasText: Bool) -> [UInt8] {
    JSONWriter.object {
      $0["type"] = "response"
      $0["notification"] = response.notification
      response.message.write(to: &$0)
      $0["user"] = response.user.rawValue
      $0["action"] = response.action.rawValue
      if hasText { $0["text"] = response.text }
    }
  }
}

extension Quote {
  /// Writes the quote as a member of its reply. It names the sender and the text like the list of rooms.
  package func write(to object: inout JSONWriter.Object) {
    object.object("quote") {
      $0.integer("seq", seq)
      $0["from"] = from.rawValue
      if isDeleted { $0.bool("deleted", true) }
      $0["preview"] = preview
    }
  }
}

extension MessageReference {
  /// Writes the room and the seq, unless the message belongs to no room.
  package func write(to object: inout JSONWriter.Object) {
    guard !room.isNotifications else { return }
    object["room"] = room.rawValue
    object.integer("seq", seq)
  }
}

extension MessagesText {
  package static let none = MessagesText(text: [], count: 0)

  package var array: [UInt8] { [UInt8(ascii: "[")] + text + [UInt8(ascii: "]")] }

  package static func + (a: MessagesText, b: MessagesText) -> MessagesText {
    MessagesText(
      text: a.text + (a.count > 0 && b.count > 0 ? [UInt8(ascii: ",")] : []) + b.text, count: a.count + b.count)
  }
}
