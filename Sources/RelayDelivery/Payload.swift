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

  public var description: String { "the payload needs \(size) bytes, \(Push.largestPayload) are allowed" }
}

extension Push {
  /// The push of a message for which its sender asked nothing special: a communication notification.
  ///
  /// Text that is too long is shortened at a character with `…`; the rest of the payload never is.
  public init(_ subject: PayloadSubject) throws(PayloadError) {
    self.init(
      id: subject.notification,
      headers: PushHeaders(
        type: .alert,
        priority: subject.level == .passive ? .low : .high,
        // 0 would mean "try once", which nobody asked for.
        expiration: max(1, subject.expires.rawValue / 1000),
        collapseID: collapseID(room: subject.room, seq: subject.seq),
        topic: subject.topic),
      payload: try fittedPayload(of: subject))
  }
}

private func fittedPayload(of subject: PayloadSubject) throws(PayloadError) -> [UInt8] {
  guard let text = subject.text, !text.allSatisfy(\.isWhitespace) else {
    return try checked(render(subject, body: nil))
  }
  let whole = render(subject, body: text)
  if whole.count <= Push.largestPayload { return whole }
  let room = Push.largestPayload - render(subject, body: "").count
  return try checked(render(subject, body: shortened(text, toFit: room)))
}

private func checked(_ payload: [UInt8]) throws(PayloadError) -> [UInt8] {
  guard payload.count <= Push.largestPayload else { throw PayloadError(code: .tooLarge, size: payload.count) }
  return payload
}

/// The longest beginning of whole characters that takes, with `…` and as JSON writes it, at most `room` bytes.
private func shortened(_ text: String, toFit room: Int) -> String {
  let mark = "…"
  var left = room - mark.utf8.count
  let end = text.indices.first { index in
    left -= escapedSize(of: text[index])
    return left < 0
  }
  return text[..<(end ?? text.endIndex)] + mark
}

private func escapedSize(of character: Character) -> Int {
  var json = JSONWriter()
  json.string(String(character))
  return json.bytes.count - 2
}

private func render(_ subject: PayloadSubject, body: String?) -> [UInt8] {
  let sender = subject.sender
  let name = sender.name.nonEmpty ?? sender.id.rawValue
  let title = subject.roomTitle.nonEmpty
  let isGroup = subject.memberCount > 2
  return JSONWriter.object { payload in
    payload.object("aps") { aps in
      aps.object("alert") { alert in
        alert["title"] = name
        alert["subtitle"] = title
        alert["body"] = body
        // An app that has no text under a key shows the key itself, so the key is the English text.
        if body == nil { alert["loc-key"] = "New message" }
      }
      aps.integer("badge", max(0, subject.badge))
      aps["thread-id"] = subject.room.rawValue
      aps.integer("mutable-content", 1)
      aps["interruption-level"] = subject.level.inPayload
    }
    payload.object("communication") { communication in
      communication["kind"] = MessageKind.message.rawValue
      communication.object("sender") { person in
        person["id"] = sender.id.rawValue
        person["name"] = name
        person["avatar"] = sender.avatar.nonEmpty
      }
      communication.object("conversation") { conversation in
        conversation["id"] = subject.room.rawValue
        conversation["name"] = title
        conversation.bool("group", isGroup)
        // An intent's recipients contain neither its sender nor the user whom it tells.
        if isGroup { conversation.integer("recipientCount", subject.memberCount - 2) }
      }
      communication.bool("mentionsMe", subject.isMention)
      communication.bool("replyToMe", subject.isReply)
      communication.bool("notifyAnyway", subject.isNotifyAnyway)
      communication["notification"] = subject.notification
    }
    payload.object("message") { message in
      message["room"] = subject.room.rawValue
      message["epoch"] = subject.epoch
      message.integer("seq", subject.seq)
    }
  }
}

extension Level {
  /// As `aps.interruption-level` spells it.
  var inPayload: String { self == .timeSensitive ? "time-sensitive" : rawValue }
}

extension String? {
  /// An empty text is none: Apple's framework takes an absent one better.
  fileprivate var nonEmpty: String? { self?.isEmpty == false ? self : nil }
}
