// SPDX-License-Identifier: Apache-2.0
import RelayProtocol

/// Why no payload could be made.
public struct PayloadError: Error, Equatable, CustomStringConvertible {
  public enum Code: String, Sendable {
    /// What surrounds the text is over the limit by itself.
    case tooLarge = "too_large"
  }

  public var code: Code
  /// Bytes of the smallest payload that could be made.
  public var size: Int
  /// Bytes that it could have had.
  public var largest = Push.largestPayload

  public var description: String { "the payload needs \(size) bytes, \(largest) are allowed" }
}

extension Push {
  /// The push of a message for which its sender asked nothing special: a communication notification.
  ///
  /// Text that is too long is shortened at a character with `…`. Where that is not enough, the sender is left without
  /// an avatar, and then without a name; the rest of the payload stays.
  /// - Parameter largest: Bytes of the payload at most.
  public init(_ subject: PayloadSubject, largest: Int = Self.largestPayload) throws(PayloadError) {
    let fitting = subject.lighter.lazy.compactMap { try? fittedPayload(of: $0, largest: largest) }.first
    // The error tells the size of the lightest.
    let payload = if let fitting { fitting } else { try fittedPayload(of: subject.lightest, largest: largest) }
    self.init(subject, payload: payload)
  }

  /// The push of a message, or of several the newest of which it is.
  init(_ subject: PayloadSubject, payload: [UInt8]) {
    self.init(
      id: subject.notification,
      headers: PushHeaders(
        type: .alert,
        priority: subject.level == .passive ? .low : .high,
        // 0 would mean "try once", which nobody asked for.
        expiration: max(1, subject.expires.rawValue / 1000),
        collapseID: collapseID(room: subject.replaces?.room ?? subject.room, seq: subject.replaces?.seq ?? subject.seq),
        topic: subject.topic),
      payload: payload)
  }
}

private func fittedPayload(of subject: PayloadSubject, largest: Int) throws(PayloadError) -> [UInt8] {
  try fitted(subject.text.flatMap { $0.isBlank ? nil : $0 }, largest: largest) { body in
    JSONWriter.object { payload in
      payload.object("aps") { aps in
        aps.object("alert") { alert in
          alert["title"] = subject.sender.shownName
          alert["subtitle"] = subject.roomTitle.nonEmpty
          alert["body"] = body
          // An app that has no text under a key shows the key itself, so the key is the English text.
          if body == nil { alert["loc-key"] = "New message" }
        }
        subject.writeManner(to: &aps, thread: subject.room.rawValue)
      }
      subject.writeOrigin(to: &payload)
    }
  }
}

extension PayloadSubject {
  /// As it is, and with less and less of what its sender chose for themself: many bytes of that are to stop neither
  /// this message nor others that are told with it.
  var lighter: [PayloadSubject] {
    var plain = self
    plain.sender.avatar = nil
    return [self, plain, lightest]
  }

  var lightest: PayloadSubject {
    var subject = self
    subject.sender = User(id: sender.id)
    return subject
  }

  /// What of `aps` is beside the texts.
  func writeManner(to aps: inout JSONWriter.Object, thread: String) {
    aps.integer("badge", max(0, badge))
    aps["thread-id"] = thread
    aps.integer("mutable-content", 1)
    aps["interruption-level"] = level.inPayload
    aps["filter-criteria"] = criteria
  }

  /// What the app's extension makes an intent of, and by what it fetches the message.
  func writeOrigin(to payload: inout JSONWriter.Object) {
    let isGroup = memberCount > 2
    payload.object("communication") { communication in
      communication["kind"] = kind.rawValue
      communication.object("sender") { person in
        person["id"] = sender.id.rawValue
        person["name"] = sender.shownName
        person["avatar"] = sender.avatar.nonEmpty
      }
      communication.object("conversation") { conversation in
        conversation["id"] = room.rawValue
        conversation["name"] = roomTitle.nonEmpty
        conversation.bool("group", isGroup)
        // An intent's recipients contain neither its sender nor the user whom it tells.
        if isGroup { conversation.integer("recipientCount", memberCount - 2) }
      }
      communication.bool("mentionsMe", isMention)
      communication.bool("replyToMe", isReply)
      communication.bool("notifyAnyway", isNotifyAnyway)
      communication["notification"] = notification
    }
    payload.object("message") { message in
      message["room"] = room.rawValue
      message["epoch"] = epoch
      message.integer("seq", seq)
    }
  }
}

extension User {
  var shownName: String { name.nonEmpty ?? id.rawValue }
}

extension Level {
  /// As `aps.interruption-level` spells it.
  var inPayload: String { self == .timeSensitive ? "time-sensitive" : rawValue }
}

extension String? {
  /// An empty text is none: Apple's framework takes an absent one better.
  fileprivate var nonEmpty: String? { self?.isEmpty == false ? self : nil }
}
