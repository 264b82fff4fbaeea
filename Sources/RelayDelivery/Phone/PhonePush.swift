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
  /// The notifications that the phone should remove. The payload has those of ``carried``.
  public var removals: Removals
  /// The time until which the service may keep the push for a device that it cannot reach. Is `nil` if the service
  /// tries the push once.
  public var keptUntil: Timestamp?
  /// The time from which the relay does not hand the push to a service any more. Is `nil` if it does not expire.
  public var expires: Timestamp?
  /// The maximum size of the payload, in bytes. Longer texts are shortened.
  public var maxSize = Push.maxPayload

  public enum Content: Equatable, Sendable {
    /// A notification of one message, or of several that were held back together.
    case alert(DigestSubject)
    /// A call that opens the phone's call screen, and the time until the end of the ringing.
    case ring(PayloadSubject, for: Duration)
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
    case .ring(let subject, for: _): subject
    case .badge, .wake, .removal: nil
    }
  }

  /// The level of the notification. Is `nil` for a push that shows nothing.
  public var level: Level? {
    switch content {
    case .alert(let digest): digest.newest.level
    case .ring(let subject, for: _): subject.level
    case .change: .passive
    case .badge, .wake, .removal: nil
    }
  }

  /// The message by which a phone knows the notification: a removal names it. It stays the same when a later push takes
  /// the place of the notification. Is `nil` for a push that shows no notification, and for a notification without a
  /// room.
  public var identity: MessageReference? {
    switch content {
    case .alert(let digest), .change(let digest, _): digest.newest.identity
    case .ring, .badge, .wake, .removal: nil
    }
  }

  /// The newest message of each room in the notification, the newest room first. A read mark removes the notification
  /// when it has reached all of them. Is empty for a push without ``identity``.
  public var messages: [MessageReference] {
    switch content {
    case .alert(let digest), .change(let digest, _):
      guard !digest.newest.room.id.isNotifications else { return [] }
      return [digest.newest.message] + digest.others.map { MessageReference(room: $0.room, seq: $0.seq) }
    case .ring, .badge, .wake, .removal: return []
    }
  }

  /// The badge that the push sets. Is `nil` if the badge stays the same.
  public var badge: Int? {
    switch content {
    case .alert(let digest), .change(let digest, _): digest.newest.style.badge.count(unread: digest.newest.badge)
    case .badge(let count): PushBadge.unread.count(unread: count)
    case .ring, .wake, .removal: nil
    }
  }

  /// The removals in the payload, as many of ``removals`` as fit. The others follow with a later push.
  public var carried: Removals {
    switch content {
    case .ring: return Removals()
    case .alert, .change:
      let part = removals.fitting(Removals.maxSizeInAlert)
      // Names and pictures are more important than removals.
      return part.isEmpty || shown?.fits(part, maxSize: maxSize) == true ? part : Removals()
    case .badge, .wake, .removal: return removals.fitting(maxSize - silentPayload(Removals()).count)
    }
  }

  /// The text of the notification for a service that has no translations of the app. If the text is a key of the app's
  /// translations, this is the relay's own English text, "New message" or "Incoming call". For a digest it is the
  /// title. Is `nil` for a push that shows nothing.
  public var plainText: String? {
    switch content {
    case .alert(let digest), .change(let digest, .current):
      if digest.total > 1, case .localized(let key, let arguments) = digest.title {
        return PushTexts.fill(key, arguments)
      }
      let body = digest.total > 1 ? digest.title : digest.newest.body
      if case .text(let text) = body { return text }
      if digest.newest.invitation != nil, case .localized(let key, let arguments) = body {
        return PushTexts.fill(key, arguments)
      }
      return digest.newest.plainText
    case .change(let digest, let text): return text.key.map(digest.newest.app.texts.plainText)
    case .ring(let subject, for: _): return subject.plainText
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

extension PhonePush {
  /// The notification that the push shows. Is `nil` for a push that shows no notification, and for a call screen.
  fileprivate var shown: DigestSubject? {
    switch content {
    case .alert(let digest): return digest
    case .change(var digest, let text):
      digest.newest.level = .passive
      digest.newest.isNotifyAnyway = false
      digest.newest.ownText = text.key
      return digest
    case .ring, .badge, .wake, .removal: return nil
    }
  }

  /// The payload of a push that shows no notification.
  fileprivate func silentPayload(_ carried: Removals) -> [UInt8] {
    JSONWriter.object { payload in
      payload.object("aps") { aps in
        if let badge { aps.integer("badge", badge) }
        // A badge alone does not wake the app.
        if badge == nil || !removals.isEmpty { aps.integer("content-available", 1) }
      }
      if case .wake(let message, let epoch, let data) = content {
        if !message.room.isNotifications {
          payload.object("message") {
            $0["room"] = message.room.rawValue
            $0["epoch"] = epoch
            $0.integer("seq", message.seq)
          }
        }
        payload.members(of: data)
      }
      payload.object("push") { $0["recipient"] = recipient.rawValue }
      carried.write(to: &payload)
    }
  }
}

extension Push {
  /// Renders a push for Apple's service, and for the services that take the same payload.
  ///
  /// Throws an error if the payload exceeds ``PhonePush/maxSize`` even without texts.
  public init(_ push: PhonePush) throws(PayloadError) {
    switch push.content {
    case .alert, .change:
      guard var digest = push.shown else { preconditionFailure("an alert shows a notification") }
      digest.newest.removals = push.carried
      try self.init(digest, maxSize: push.maxSize)
      id = push.id
    case .ring(let subject, let rest):
      try self.init(ringing: subject, for: rest, maxSize: min(push.maxSize, Self.maxVoIPPayload))
    case .badge: self.init(push, .alert, collapseID: "/badge")
    case .wake: self.init(push, .background, collapseID: "/silent")
    case .removal: self.init(push, .background, collapseID: "/removal")
    }
    // A call is tried once, because a late call is of no use.
    if headers.type != .voip { headers.expiration = push.keptUntil.map { max(1, $0.rawValue / 1000) } ?? 0 }
    expires = push.expires
  }

  /// A push that shows nothing. It has a low priority.
  private init(_ push: PhonePush, _ type: PushHeaders.PushType, collapseID: String) {
    self.init(
      id: push.id,
      headers: PushHeaders(type: type, priority: .low, expiration: 0, collapseID: collapseID, topic: push.topic),
      payload: push.silentPayload(push.carried))
  }
}
