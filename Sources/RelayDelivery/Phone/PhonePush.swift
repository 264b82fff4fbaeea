// SPDX-License-Identifier: Apache-2.0
import RelayJSON
public import RelayProtocol

/// A push to one phone, before a gateway renders it for its service.
public struct PhonePush: Equatable, Sendable {
  /// A lower-case UUID, the same at every attempt.
  public var id: String
  /// The account that the push is for.
  public var recipient: UserID
  /// The bundle id of the app.
  public var topic: String
  public var content: Content
  /// The notifications that the phone removes when it gets the push.
  public var removals: Removals
  /// The time until which the service may keep the push for a device that it cannot reach. Is `nil` if the service
  /// tries the push once.
  public var keptUntil: Timestamp?
  /// The time from which the relay does not hand the push to a service any more. Is `nil` if it does not expire.
  public var expires: Timestamp?
  /// The largest payload to render, in bytes. Texts are shortened to fit.
  public var maxSize = Push.maxPayload

  public enum Content: Equatable, Sendable {
    /// A notification of one message, or of several that were held back together.
    case alert(DigestSubject)
    /// A call that opens the phone's call screen.
    case ring(PayloadSubject)
    /// A notification that takes the place of an earlier one of the same messages. It makes no sound.
    case change(DigestSubject, EntryText)
    /// The number on the app's icon.
    case badge(Int)
    /// Wakes the app for a message, with the sender's custom keys, and shows nothing.
    case wake(MessageReference, epoch: String, data: [UInt8])
    /// Removes notifications, and shows nothing.
    case removal
  }

  public init(
    id: String, to recipient: UserID, topic: String, _ content: Content, removals: Removals = Removals(),
    keptUntil: Timestamp? = nil, expires: Timestamp? = nil
  ) {
    self.id = id
    self.recipient = recipient
    self.topic = topic
    self.content = content
    self.removals = removals
    self.keptUntil = keptUntil
    self.expires = expires
  }

  /// The message whose notification the push shows or changes. For a digest it is the newest message. Is `nil` for a
  /// push that shows nothing.
  public var subject: PayloadSubject? {
    switch content {
    case .alert(let digest), .change(let digest, _): digest.newest
    case .ring(let subject): subject
    case .badge, .wake, .removal: nil
    }
  }

  /// The level of the notification. Is `nil` for a push that shows nothing.
  public var level: Level? {
    switch content {
    case .alert(let digest): digest.newest.level
    case .ring(let subject): subject.level
    case .change: .passive
    case .badge, .wake, .removal: nil
    }
  }

  /// The newest message of each room in the notification, that of the head first. Is empty for a push that shows
  /// nothing.
  public var messages: [MessageReference] {
    switch content {
    case .alert(let digest), .change(let digest, _):
      [digest.newest.replaces ?? digest.newest.message] + (digest.total > 1 ? [digest.newest.message] : [])
        + digest.others.map { MessageReference(room: $0.room, seq: $0.seq) }
    case .ring, .badge, .wake, .removal: []
    }
  }

  /// The badge that the push sets. Is `nil` if the badge stays the same.
  public var badge: Int? {
    switch content {
    case .alert(let digest), .change(let digest, _):
      switch digest.newest.style.badge {
      case .unread: max(0, digest.newest.badge)
      case .number(let number): Int(number)
      case .unchanged: nil
      }
    case .badge(let count): max(0, count)
    case .ring, .wake, .removal: nil
    }
  }

  /// The text of the notification for a service that has no translations of the app. A key of the app becomes the
  /// relay's own text. Is `nil` for a push that shows nothing.
  public var plainText: String? {
    switch content {
    case .alert(let digest), .change(let digest, .current):
      if digest.total > 1, case .localized(let key, let arguments) = digest.title {
        return PushTexts.fill(key, arguments)
      }
      if case .text(let text) = digest.total > 1 ? digest.title : digest.newest.body { return text }
      return (digest.newest.kind == .call ? PushTextKey.incomingCall : .newMessage).rawValue
    case .change(let digest, let text):
      guard let key = text.key else { return nil }
      if case .text(let text) = digest.newest.app.texts.text(key) { return text }
      return key.rawValue
    case .ring: return PushTextKey.incomingCall.rawValue
    case .badge, .wake, .removal: return nil
    }
  }

  /// True if the push is a ringing call, as a call screen or as an alert.
  public var isRinging: Bool {
    switch content {
    case .ring: true
    case .alert(let digest): digest.newest.kind == .call
    case .change, .badge, .wake, .removal: false
    }
  }
}

extension Push {
  /// Renders a push for Apple's service, and for the services that take the same payload.
  ///
  /// Throws an error if the payload exceeds ``PhonePush/maxSize`` even without texts.
  public init(_ push: PhonePush) throws(PayloadError) {
    switch push.content {
    case .alert(var digest):
      digest.newest.removals = push.removals
      try self.init(digest, maxSize: push.maxSize)
    case .ring(let subject): try self.init(ringing: subject, maxSize: min(push.maxSize, Self.maxVoIPPayload))
    case .change(var digest, let text):
      digest.newest.removals = push.removals
      digest.newest.level = .passive
      digest.newest.isNotifyAnyway = false
      if let key = text.key { digest.newest.style.body = digest.newest.app.texts.text(key) }
      try self.init(digest, maxSize: push.maxSize)
      id = push.id
    case .badge(let count):
      self.init(push, .alert, collapseID: "/badge") { payload in
        payload.object("aps") { aps in
          aps.integer("badge", max(0, count))
          if !push.removals.isEmpty { aps.integer("content-available", 1) }
        }
      }
    case .wake(let message, let epoch, let data):
      self.init(push, .background, collapseID: "/silent") { payload in
        payload.object("aps") { $0.integer("content-available", 1) }
        if !message.room.isNotifications {
          payload.object("message") {
            $0["room"] = message.room.rawValue
            $0["epoch"] = epoch
            $0.integer("seq", message.seq)
          }
        }
        payload.members(of: data)
      }
    case .removal:
      self.init(push, .background, collapseID: "/removal") { payload in
        payload.object("aps") { $0.integer("content-available", 1) }
      }
    }
    // A call is tried once, because a late call is of no use.
    if headers.type != .voip { headers.expiration = push.keptUntil.map { max(1, $0.rawValue / 1000) } ?? 0 }
    expires = push.expires
  }

  /// A push that shows nothing. It has a low priority.
  private init(
    _ push: PhonePush, _ type: PushHeaders.PushType, collapseID: String, _ write: (inout JSONWriter.Object) -> Void
  ) {
    self.init(
      id: push.id,
      headers: PushHeaders(type: type, priority: .low, expiration: 0, collapseID: collapseID, topic: push.topic),
      payload: JSONWriter.object { payload in
        write(&payload)
        payload.object("push") { $0["recipient"] = push.recipient.rawValue }
        push.removals.write(to: &payload)
      })
  }
}
