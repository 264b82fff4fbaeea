// SPDX-License-Identifier: Apache-2.0
import RelayJSON
public import RelayProtocol

/// The texts of a push: the sender's own, or else those that follow from the message and its room.
extension PayloadSubject {
  var title: PushText { shown(style.title) ?? .text(sender.shownName) }

  /// True if the app's extension makes an intent of the push. A call always names its caller.
  var isCommunication: Bool { kind == .call || (style.isCommunication ?? true) }

  /// The name of the conversation: the room's title, or else the subtitle, because the extension's intent replaces the
  /// subtitle by this name.
  var conversationName: String? {
    guard hasNames else { return nil }
    if let title = room.title.nonEmpty { return title }
    guard case .text(let text) = shown(style.subtitle) else { return nil }
    return text
  }

  var subtitle: PushText? { shown(style.subtitle) ?? room.title.nonEmpty.map(PushText.text) }

  var body: PushText {
    if let ownText { return app.texts.text(ownText) }
    if let invitation { return text(of: invitation) }
    if let body = shown(style.body) { return body }
    if hasPreview, let text, !text.isBlank { return .text(text) }
    return app.texts.text(textKey)
  }

  private func text(of invitation: PayloadInvitation) -> PushText {
    let inviter = sender.shownName
    guard invitation.kind == .group else { return app.texts.text(.invitationToWrite, inviter) }
    guard let title = invitation.title.nonEmpty else { return app.texts.text(.invitationToGroup, inviter) }
    return app.texts.text(.invitationToRoom, inviter, title)
  }

  /// The key of the relay's own text for a message without a text.
  private var textKey: PushTextKey { kind == .call ? .incomingCall : .newMessage }

  /// The relay's own text for a service that has no translations of the app.
  var plainText: String { app.texts.plainText(textKey) }

  /// The thread of the notification. Is `nil` for the app's own group.
  var thread: String? {
    switch style.thread {
    case .room: room.id.isNotifications ? nil : room.id.rawValue
    case .own(let name): name
    case .app: nil
    }
  }

  /// The value of `apns-collapse-id`: on the phone, a push replaces an earlier one with the same value.
  var collapseID: String {
    let own = MessageReference(room: room.id, seq: seq)
    let replaced = replaces ?? own
    let scope = replaced == own ? style.collapse : replacesScope
    return scope == .room
      ? CollapseID.newest(in: replaced.room, for: recipient) : CollapseID.of(replaced, for: recipient)
  }

  /// Returns the text if it may be shown. Without a preview, neither a text nor a localized text with arguments may.
  private func shown(_ text: PushText?) -> PushText? {
    switch text {
    case .text where !hasPreview: nil
    case .localized(_, let arguments) where !hasPreview && !arguments.isEmpty: nil
    default: text
    }
  }
}

extension PushBadge {
  /// The number that a push sets. Is `nil` if it leaves the badge as it is.
  public func count(unread: Int) -> Int? {
    switch self {
    case .unread: max(0, unread)
    case .number(let number): Int(number)
    case .unchanged: nil
    }
  }
}

extension PushText {
  /// Writes a text, or the key and the arguments of its localization.
  /// - Parameters:
  ///   - name: The member of `alert` for a text.
  ///   - part: The prefix of the members for a localization: `title-` gives `title-loc-key`.
  func write(to alert: inout JSONWriter.Object, as name: String, _ part: String) {
    switch self {
    case .text(let text): alert[name] = text
    case .localized(let key, let arguments):
      alert["\(part)loc-key"] = key
      if !arguments.isEmpty { alert.array("\(part)loc-args") { list in arguments.forEach { list.string($0) } } }
    }
  }
}

extension PayloadSubject {
  /// The file of the sound. Is `nil` when the push makes no sound.
  public var soundName: String? { sound?.name }

  /// The sound that the device plays. Is `nil` when the sender requests no sound, and at the level `passive`.
  var sound: SoundFile? {
    guard level != .passive else { return nil }
    switch style.sound {
    case .standard: return SoundFile(name: kind == .call ? app.ringtone ?? Self.standardSound : Self.standardSound)
    case .none: return nil
    case .file(let file): return file
    }
  }

  private static let standardSound = "default"
}

extension SoundFile {
  /// Writes `sound` of `aps`: a critical sound at the level `critical`, and an ordinary one below that level.
  func write(to aps: inout JSONWriter.Object, _ level: Level) {
    guard level == .critical else {
      guard let volume else { return aps["sound"] = name }
      return aps.object("sound") {
        $0["name"] = name
        $0.decimal("volume", volume)
      }
    }
    aps.object("sound") {
      $0.integer("critical", 1)
      $0["name"] = name
      $0.decimal("volume", volume ?? 1)
    }
  }
}
