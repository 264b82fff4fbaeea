// SPDX-License-Identifier: Apache-2.0
import RelayProtocol

/// What a push shows: as its sender says, else what the message and its room are called.
extension PayloadSubject {
  var title: PushText { shown(manner.title) ?? .text(sender.shownName) }

  var subtitle: PushText? { shown(manner.subtitle) ?? roomTitle.nonEmpty.map(PushText.text) }

  var body: PushText {
    if let body = shown(manner.body) { return body }
    if hasPreview, let text, !text.isBlank { return .text(text) }
    // An app that has no text under a key shows the key itself, so the key is the English text.
    return .localized(key: kind == .call ? "Incoming call" : "New message")
  }

  /// nil: the app's own group.
  var thread: String? {
    switch manner.thread {
    case .room: room.isNotifications ? nil : room.rawValue
    case .own(let name): name
    case .app: nil
    }
  }

  /// A push replaces the one on the phone that has the same.
  var collapseID: String {
    let own = MessageReference(room: room, seq: seq)
    let replaced = replaces ?? own
    if manner.collapse == .room, replaced == own { return RelayDelivery.collapseID(room: room) }
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

extension PushSound {
  /// At the level critical it is always critical, below it never, and passive makes none.
  func write(to aps: inout JSONWriter.Object, _ level: Level) {
    switch level {
    case .passive: break
    case .active, .timeSensitive:
      guard let volume else { return aps["sound"] = name }
      aps.object("sound") {
        $0["name"] = name
        $0.decimal("volume", volume)
      }
    case .critical:
      aps.object("sound") {
        $0.integer("critical", 1)
        $0["name"] = name
        $0.decimal("volume", volume ?? 1)
      }
    }
  }
}
