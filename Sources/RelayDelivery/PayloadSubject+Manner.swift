// SPDX-License-Identifier: Apache-2.0
import RelayJSON
import RelayProtocol

/// What a push shows: as its sender says, else what the message and its room are called.
extension PayloadSubject {
  var title: PushText { shown(manner.title) ?? .text(sender.shownName) }

  /// True if the app's extension makes an intent of the push. A call always names its caller.
  var isCommunication: Bool { kind == .call || (manner.isCommunication ?? true) }

  /// The name of the conversation: the room's title, or else the subtitle, because the extension's intent replaces the
  /// subtitle by this name.
  var conversationName: String? {
    guard hasNames else { return nil }
    if let title = room.title.nonEmpty { return title }
    guard case .text(let text) = shown(manner.subtitle) else { return nil }
    return text
  }

  var subtitle: PushText? { shown(manner.subtitle) ?? room.title.nonEmpty.map(PushText.text) }

  var body: PushText {
    if let body = shown(manner.body) { return body }
    if hasPreview, let text, !text.isBlank { return .text(text) }
    return app.texts.text(kind == .call ? .incomingCall : .newMessage)
  }

  /// nil: the app's own group.
  var thread: String? {
    switch manner.thread {
    case .room: room.id.isNotifications ? nil : room.id.rawValue
    case .own(let name): name
    case .app: nil
    }
  }

  /// A push replaces the one on the phone that has the same.
  var collapseID: String {
    let own = MessageReference(room: room.id, seq: seq)
    let replaced = replaces ?? own
    if manner.collapse == .room, replaced == own { return RelayDelivery.collapseID(room: room.id) }
    return RelayDelivery.collapseID(room: replaced.room, seq: replaced.seq)
  }

  /// Without a preview a text is not shown, and neither is a key that would lack its arguments.
  private func shown(_ text: PushText?) -> PushText? {
    switch text {
    case .text where !hasPreview: nil
    case .localized(_, let arguments) where !hasPreview && !arguments.isEmpty: nil
    default: text
    }
  }
}

extension PushText {
  /// - Parameters:
  ///   - name: The key of a text in `alert`.
  ///   - part: What the keys of its localization begin with.
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
  /// The file that the push plays. Is `nil` when the sender wants no sound, and at the level `passive`.
  var sound: SoundFile? {
    guard level != .passive else { return nil }
    switch manner.sound {
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
