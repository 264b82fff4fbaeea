// SPDX-License-Identifier: Apache-2.0
import RelayJSON
public import RelayProtocol

extension PushRequest {
  /// Throws where the payload would be too large for some recipient, however short its text is made: so that the sender
  /// hears of it, and not whoever looks for the push later.
  /// - Parameter largest: Bytes of a payload at most.
  public func checkSize(
    sender: UserID, room: RoomID, hasPreview: Bool, largest: Int = Push.largestPayload
  ) throws(PayloadError) {
    // A lower level has the longer name, and `critical` the longer sound.
    for level in Set([level, .timeSensitive]) {
      let subject = PayloadSubject(
        notification: "00000000-0000-0000-0000-000000000000", sender: User(id: sender),
        room: PayloadRoom(id: room, memberCount: 100_000_000),
        epoch: String(repeating: "e", count: Position.longestEpoch), seq: largestInteger,
        kind: kind, text: nil, manner: manner, hasPreview: hasPreview, level: level,
        badge: Int(PushManner.largestBadge),
        // A recipient's own label, each byte of which JSON may write with six.
        criteria: String(repeating: "\u{1}", count: FilterReport.longestCriteria), expires: Timestamp(rawValue: 0),
        app: PayloadApp(topic: "", ringtone: String(repeating: "r", count: PushManner.longestSound)),
        receipt: String(repeating: "r", count: PayloadSubject.longestReceipt))
      _ = try Push(subject, largest: largest)
    }
  }
}

extension PushManner {
  /// What a person reads of a message among others; nil: no text.
  /// - Parameters:
  ///   - text: Of the message's body.
  ///   - hasPreview: Whether texts of the message go out.
  public func line(_ text: String?, hasPreview: Bool) -> String? {
    guard hasPreview else { return nil }
    switch body {
    case .text(let own): return own
    case .localized: return nil
    case nil: return text
    }
  }
}
