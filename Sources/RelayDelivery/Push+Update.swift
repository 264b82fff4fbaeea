// SPDX-License-Identifier: Apache-2.0
import RelayJSON
public import RelayProtocol

extension Push {
  /// A push that changes the notification of a message on a phone. It makes no sound and has the level `passive`.
  /// - Parameters:
  ///   - id: The id of this push, not of the push that it replaces.
  ///   - subject: The message as it is now.
  ///   - body: The new text. Is `nil` when the notification shows the message's own text.
  public init(
    id: String, changing subject: PayloadSubject, to body: PushText?, maxSize: Int = Self.maxPayload
  ) throws(PayloadError) {
    var passive = subject
    passive.level = .passive
    passive.isNotifyAnyway = false
    if let body { passive.style.body = body }
    try self.init(passive, maxSize: maxSize)
    self.id = id
  }

  /// A push that changes only the badge. It has a low priority.
  /// - Parameter count: The number of unread messages.
  public init(id: String, badge count: Int, expires: Timestamp, topic: String) {
    self.init(
      id: id,
      headers: PushHeaders(
        type: .alert, priority: .low, expiration: max(1, expires.rawValue / 1000), collapseID: "/badge", topic: topic),
      payload: JSONWriter.object { $0.object("aps") { $0.integer("badge", max(0, count)) } }, expires: expires)
  }

  /// A push that wakes the app for a message and shows nothing.
  /// - Parameter data: The sender's custom keys: the text of a JSON object, or empty.
  public init(
    id: String, waking message: MessageReference, epoch: String, data: [UInt8], expires: Timestamp,
    topic: String
  ) {
    self.init(
      id: id,
      headers: PushHeaders(
        type: .background, priority: .low, expiration: max(1, expires.rawValue / 1000), collapseID: "/silent",
        topic: topic),
      payload: JSONWriter.object { payload in
        payload.object("aps") { $0.integer("content-available", 1) }
        if !message.room.isNotifications {
          payload.object("message") {
            $0["room"] = message.room.rawValue
            $0["epoch"] = epoch
            $0.integer("seq", message.seq)
          }
        }
        payload.members(of: data)
      }, expires: expires)
  }
}
