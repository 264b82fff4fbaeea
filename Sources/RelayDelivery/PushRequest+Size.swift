// SPDX-License-Identifier: Apache-2.0
import RelayJSON
public import RelayProtocol

extension PushRequest {
  /// Throws an error if the payload could be too large for some recipient even without its text. The relay checks this
  /// when it accepts the message, so that the sender gets the error.
  /// - Parameter maxSize: The maximum size of a payload, in bytes.
  public func checkSize(
    sender: UserID, room: RoomID, hasPreview: Bool, maxSize: Int = Push.maxPayload
  ) throws(PayloadError) {
    // Two levels are checked: `timeSensitive` has the longest name, and `critical` the longest sound.
    for level in Set([level, .timeSensitive]) {
      let subject = PayloadSubject(
        notification: "00000000-0000-0000-0000-000000000000",
        recipient: UserID(unchecked: String(repeating: "u", count: UserID.maxLength)), sender: User(id: sender),
        room: PayloadRoom(id: room, recipientCount: 100_000_000, isGroup: true),
        epoch: String(repeating: "e", count: Position.maxEpochLength), seq: maxInteger,
        kind: kind, text: nil, style: style, hasPreview: hasPreview, level: level,
        badge: Int(PushStyle.maxBadge),
        // The longest label that a recipient may choose. JSON may escape each byte of it with six bytes.
        criteria: String(repeating: "\u{1}", count: FilterReport.maxCriteriaLength), expires: Timestamp(rawValue: 0),
        app: PayloadApp(topic: "", ringtone: String(repeating: "r", count: PushStyle.maxSoundLength)),
        replaces: MessageReference(
          room: RoomID(unchecked: String(repeating: "r", count: RoomID.maxLength)), seq: maxInteger),
        receipt: String(repeating: "r", count: PayloadSubject.maxReceiptLength))
      _ = try Push(subject, maxSize: maxSize)
    }
  }
}

extension PushStyle {
  /// The text of a message in a digest. Is `nil` when there is none to show.
  /// - Parameters:
  ///   - text: The text of the message's body.
  ///   - hasPreview: True if texts of the message may leave the relay.
  public func line(_ text: String?, hasPreview: Bool) -> String? {
    guard hasPreview else { return nil }
    switch body {
    case .text(let own): return own
    case .localized: return nil
    case nil: return text
    }
  }
}
