// SPDX-License-Identifier: Apache-2.0
import RelayJSON
import RelayProtocol

/// The error of a push whose payload is too large.
public struct PayloadError: Error, Equatable, CustomStringConvertible {
  public enum Code: String, Sendable {
    /// The payload is too large even without the text of the message.
    case tooLarge = "too_large"
  }

  public var code: Code
  /// The size of the smallest payload that could be made, in bytes.
  public var size: Int
  /// The limit that it exceeds, in bytes.
  public var maxSize = Push.maxPayload

  public var description: String { "the payload needs \(size) bytes, \(maxSize) are allowed" }
}

extension Push {
  /// The push of a message: a communication notification.
  ///
  /// If the payload is too large, these parts are shortened or left out, in this order, until it fits:
  /// 1. The end of the text. The text is cut between characters and ends with `…`.
  /// 2. The avatars.
  /// 3. The names of sender and room.
  /// - Parameter maxSize: The maximum size of the payload, in bytes.
  public init(_ subject: PayloadSubject, maxSize: Int = Self.maxPayload) throws(PayloadError) {
    let fitting = subject.lighter.lazy.compactMap { try? fittedPayload(of: $0, maxSize: maxSize) }.first
    // The error has the size of the smallest version.
    let payload = if let fitting { fitting } else { try fittedPayload(of: subject.lightest, maxSize: maxSize) }
    self.init(subject, payload: payload)
  }

  /// The push of one message, or of a digest whose newest message is `subject`.
  init(_ subject: PayloadSubject, payload: [UInt8]) {
    self.init(
      id: subject.notification,
      headers: PushHeaders(
        type: .alert,
        priority: subject.level == .passive ? .low : .high,
        // Apple tries a push with the expiration 0 only once, so the least value is 1.
        expiration: max(1, subject.expires.rawValue / 1000),
        collapseID: subject.collapseID,
        topic: subject.app.topic),
      payload: payload, expires: subject.expires)
  }
}

func fittedPayload(of subject: PayloadSubject, maxSize: Int) throws(PayloadError) -> [UInt8] {
  var text: String?
  if case .text(let body) = subject.body { text = body }
  return try fitted(text, maxSize: maxSize) { text in
    JSONWriter.object { payload in
      payload.object("aps") { aps in
        aps.object("alert") { alert in
          subject.title.write(to: &alert, as: "title", "title-")
          subject.subtitle?.write(to: &alert, as: "subtitle", "subtitle-")
          (text.map(PushText.text) ?? subject.body).write(to: &alert, as: "body", "")
        }
        subject.writeStyle(to: &aps, thread: subject.thread)
        subject.writeContent(to: &aps)
      }
      subject.writeOrigin(to: &payload, isCommunication: subject.isCommunication)
      subject.writeExtras(to: &payload)
    }
  }
}

extension PayloadSubject {
  /// The versions of the push to try, largest first: complete, without avatars, without names. Long names and avatars
  /// must not stop this message, or others of the same digest.
  var lighter: [PayloadSubject] {
    var plain = self
    plain.sender.avatar = nil
    plain.sender.avatarSHA256 = nil
    plain.room.avatar = nil
    return [self, plain, lightest]
  }

  var lightest: PayloadSubject {
    var subject = self
    subject.sender = User(id: sender.id)
    subject.room.title = nil
    subject.room.avatar = nil
    subject.invitation?.title = nil
    subject.hasNames = false
    return subject
  }

  /// Writes the members of `aps` that a message and a digest share, without the texts.
  func writeStyle(to aps: inout JSONWriter.Object, thread: String?) {
    if let count = style.badge.count(unread: badge) { aps.integer("badge", count) }
    sound?.write(to: &aps, level)
    aps["thread-id"] = thread
    aps.integer("mutable-content", 1)
    aps["interruption-level"] = level.inPayload
    aps.decimal("relevance-score", style.relevance)
    aps["filter-criteria"] = criteria
  }

  /// Writes the category (the buttons of the notification) and the target that a tap opens.
  func writeContent(to aps: inout JSONWriter.Object) {
    aps["category"] = style.category?.rawValue
    aps["target-content-id"] = style.target
  }

  /// Writes the sender's image and custom keys, and the invitation, which are outside of `aps`.
  func writeExtras(to payload: inout JSONWriter.Object) {
    if let invitation {
      payload.object("invitation") {
        $0["room"] = invitation.room.rawValue
        $0["kind"] = invitation.kind.rawValue
        $0["title"] = invitation.title
      }
    }
    payload["image"] = style.image
    payload.members(of: style.data)
  }

  /// Writes the members that the app's extension reads: the intent's fields, the ids of the push, and the message.
  /// - Parameter isCommunication: False for a push that is not about one person's message, such as a digest. iOS then
  ///   keeps the title of the push.
  func writeOrigin(to payload: inout JSONWriter.Object, isCommunication: Bool) {
    if isCommunication {
      payload.object("communication") { communication in
        communication["kind"] = kind.rawValue
        communication.object("sender") { writeSender(to: &$0) }
        communication.object("conversation") { writeConversation(to: &$0) }
        communication.bool("mentionsMe", isMention)
        communication.bool("replyToMe", isReply)
        communication.bool("notifyAnyway", isNotifyAnyway)
        writeIDs(to: &communication)
      }
    } else {
      payload.object("push") { writeIDs(to: &$0) }
    }
    removals.write(to: &payload)
    guard !room.id.isNotifications else { return }
    payload.object("message") { message in
      message["room"] = room.id.rawValue
      message["epoch"] = epoch
      message.integer("seq", seq)
    }
  }

  private func writeIDs(to object: inout JSONWriter.Object) {
    object["recipient"] = recipient.rawValue
    object["notification"] = notification
    object["receipt"] = receipt
    // Without it, the phone knows the notification by `message`.
    if let identity, identity != message { object.object("replaces") { identity.write(to: &$0) } }
  }

  private func writeSender(to person: inout JSONWriter.Object) {
    person["id"] = sender.id.rawValue
    person["name"] = sender.shownName
    // iOS matches Allowed People by the handle, so every sender has one.
    if let handle = sender.handle.nonEmpty {
      person["handle"] = handle
      person["handleType"] = sender.handleType.nonEmpty
    } else {
      person["handle"] = sender.id.rawValue
    }
    guard let avatar = sender.avatar, avatar.isSecureURL else { return }
    person["avatar"] = avatar
    person["avatarSHA256"] = sender.avatarSHA256
  }

  private func writeConversation(to conversation: inout JSONWriter.Object) {
    // A notification has no room. Its conversation is that with the sender, with an id that no room can have.
    conversation["id"] = room.id.isNotifications ? "/from/\(sender.id.rawValue)" : room.id.rawValue
    conversation["name"] = conversationName
    conversation.bool("group", room.isGroup)
    // `INSendMessageIntentDonationMetadata.recipientCount` counts the recipients of the message, and the user of this
    // phone is one of them. Read in Apple's documentation, not tested on a device.
    if room.isGroup { conversation.integer("recipientCount", room.recipientCount) }
    if let avatar = room.avatar, avatar.isSecureURL { conversation["avatar"] = avatar }
  }
}

extension User {
  var shownName: String { name.nonEmpty ?? id.rawValue }
}

extension Level {
  /// The level as `aps.interruption-level` spells it.
  var inPayload: String { self == .timeSensitive ? "time-sensitive" : rawValue }
}

extension String? {
  /// Is `nil` for an empty text, because Apple's framework handles an absent text better than an empty one.
  var nonEmpty: String? { self?.isEmpty == false ? self : nil }
}
