// SPDX-License-Identifier: Apache-2.0
// The notifications that a push removes from the phone, as a pure function. Has no dependency on Apple's frameworks.
public import RelayJSON
public import RelayProtocol

/// The part of a push that removes notifications: `read` and `removed` beside `aps`.
///
/// An alert, a badge and a background push may have it.
public struct Withdrawal: Equatable, Sendable {
  /// Maximum number of entries of ``read`` and ``removed`` together. Further entries are ignored.
  public static let maxEntries = NotificationRemoval.maxEntries

  /// The account of the push. Notifications of other accounts stay.
  public var origin: PushOrigin
  /// The recipient has read each room up to this message.
  public var read: [MessageReference]
  /// The notifications that the phone removes, each by ``DeliveredNotification/identity``.
  public var removed: [MessageReference]

  public init(origin: PushOrigin, read: [MessageReference] = [], removed: [MessageReference] = []) {
    self.origin = origin
    self.read = Array(read.prefix(Self.maxEntries))
    self.removed = Array(removed.prefix(Self.maxEntries - self.read.count))
  }

  /// Reads a payload of any kind. Ignores entries that are not valid.
  public init(_ payload: JSON) {
    let entries = ["read", "removed"].map { key in
      (payload[key]?.items ?? []).lazy.compactMap(MessageReference.init).prefix(Self.maxEntries)
    }
    self.init(origin: PushOrigin(payload), read: Array(entries[0]), removed: Array(entries[1]))
  }

  /// Reads the text of a payload. A text that is not JSON, or is longer than ``CommunicationPayload/maxSize``, removes
  /// nothing.
  public init(reading text: some Collection<UInt8>) {
    guard let payload = JSON(payload: text) else {
      self.init(origin: .other)
      return
    }
    self.init(payload)
  }

  /// True if the push removes nothing.
  public var isEmpty: Bool { read.isEmpty && removed.isEmpty }

  /// Returns the identifiers of the notifications to remove. Notifications without a message, of another account or of
  /// another sender stay.
  /// - Parameter delivered: The notifications that the phone shows.
  public func identifiers(in delivered: [DeliveredNotification]) -> [String] {
    guard origin != .other, !isEmpty else { return [] }
    return delivered.filter { $0.origin == origin && removes($0) }.map(\.identifier)
  }

  private func removes(_ notification: DeliveredNotification) -> Bool {
    NotificationRemoval.removes(notification.identity, contents: notification.contents, read: read, removed: removed)
  }
}

/// A notification that the phone shows.
public struct DeliveredNotification: Equatable, Sendable {
  /// `UNNotificationRequest.identifier`.
  public var identifier: String
  public var origin: PushOrigin
  /// The message that names the notification in ``Withdrawal/removed``. Is `nil` if the notification has no message.
  public var identity: MessageReference?
  /// The newest message of each room in the notification. A digest may have several rooms.
  public var contents: [MessageReference]

  public init(
    identifier: String, origin: PushOrigin, identity: MessageReference? = nil, contents: [MessageReference] = []
  ) {
    self.identifier = identifier
    self.origin = origin
    self.identity = identity
    self.contents = contents
  }

  /// Reads the payload of a notification, of any kind.
  public init(identifier: String, _ payload: JSON) {
    let message = payload["message"].flatMap(MessageReference.init)
    let rooms = (payload["digest"]?.items ?? []).compactMap(MessageReference.init)
    self.init(
      identifier: identifier, origin: PushOrigin(payload),
      identity: payload.push?["replaces"].flatMap(MessageReference.init) ?? message,
      contents: rooms.isEmpty ? message.map { [$0] } ?? [] : rooms)
  }

  /// Reads the text of a payload. A text that is not JSON, or is longer than ``CommunicationPayload/maxSize``, is not
  /// that of the relay.
  public init(identifier: String, reading text: some Collection<UInt8>) {
    guard let payload = JSON(payload: text) else {
      self.init(identifier: identifier, origin: .other)
      return
    }
    self.init(identifier: identifier, payload)
  }
}

extension MessageReference {
  /// Reads `room` and `seq` of an object. Returns `nil` if one of them is not valid. The notification of an invitation
  /// has the seq 0.
  init?(_ json: JSON) {
    guard let room: RoomID = json.name("room"), let seq = json["seq"]?.integer, seq >= 0 else { return nil }
    self.init(room: room, seq: seq)
  }
}
