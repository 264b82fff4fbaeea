// SPDX-License-Identifier: Apache-2.0
import RelayDelivery
import RelayJSON
import RelayProtocol

/// The body of `POST /_matrix/push/v1/notify`, and its answer.
///
/// Source: the "Push Gateway API" of the Matrix specification, so existing gateways can be used. A value that the push
/// lacks is left out. A message keeps its `event_id`: an edit, a deletion and the end of a call have the id of the
/// message that they change, and a `content` that says so.
enum MatrixNotification {
  /// - Parameter topic: The app's id at the gateway.
  static func json(of push: PhonePush, to device: Device, topic: String) -> [UInt8] {
    JSONWriter.object {
      $0.object("notification") { notification in
        if let subject = push.subject {
          notification["event_id"] = eventID(of: subject)
          let room = subject.invitation?.room ?? subject.room.id
          notification["room_id"] = room.isNotifications ? nil : room.rawValue
          notification["room_name"] = subject.invitation?.title ?? subject.room.title
          notification["sender"] = subject.sender.id.rawValue
          notification["sender_display_name"] = subject.sender.name
          notification["type"] = type(of: push, subject)
          if subject.invitation != nil { notification.bool("user_is_target", true) }
          notification.object("content") { write(push, subject, to: &$0) }
        } else if !push.carried.isEmpty {
          notification.object("content") { write(push.carried, to: &$0) }
        }
        notification["prio"] = push.level.map { $0 > .passive } == true ? "high" : "low"
        if let badge = push.badge { notification.object("counts") { $0.integer("unread", badge) } }
        notification.array("devices") {
          $0.object {
            $0["app_id"] = topic
            $0["pushkey"] = device.token
            $0.integer("pushkey_ts", device.registered.map { $0.rawValue / 1000 })
            $0.object("tweaks") { tweaks in
              if let sound = push.subject?.soundName, push.level != .passive { tweaks["sound"] = sound }
              if push.subject?.isMention == true { tweaks.bool("highlight", true) }
            }
          }
        }
      }
    }
  }

  /// The id of an event. It is the same for a message and for all its changes.
  private static func eventID(of subject: PayloadSubject) -> String {
    subject.identity.map(eventID) ?? "$\(subject.notification)"
  }

  private static func eventID(_ message: MessageReference) -> String { "$\(message.room.rawValue)/\(message.seq)" }

  private static func write(_ removals: Removals, to content: inout JSONWriter.Object) {
    for (name, list) in [("removed", removals.removed), ("read", removals.read)] where !list.isEmpty {
      content.array(name) { array in for message in list { array.string(eventID(message)) } }
    }
  }

  /// The type of an event that changes an earlier one.
  private static func type(of push: PhonePush, _ subject: PayloadSubject) -> String {
    switch push.content {
    case .change(_, .deleted): "m.room.redaction"
    case .change(_, .missed), .change(_, .answered): "m.call.hangup"
    case .change(_, .declined): "m.call.reject"
    default:
      switch subject.kind {
      case .call: "m.call.invite"
      case .invitation: "m.room.member"
      case .message: "m.room.message"
      }
    }
  }

  private static func write(_ push: PhonePush, _ subject: PayloadSubject, to content: inout JSONWriter.Object) {
    content["msgtype"] = "m.text"
    content["body"] = push.plainText
    if subject.kind == .call { content["call_id"] = eventID(of: subject) }
    if subject.kind == .invitation { content["membership"] = "invite" }
    write(push.carried, to: &content)
    guard case .change(_, let text) = push.content else { return }
    let changed = eventID(of: subject)
    switch text {
    case .deleted: content["redacts"] = changed
    case .current:
      content.object("m.relates_to") {
        $0["rel_type"] = "m.replace"
        $0["event_id"] = changed
      }
    case .missed: content["reason"] = "invite_timeout"
    case .answered: content["reason"] = "answered_elsewhere"
    case .declined: content["reason"] = "user_busy"
    }
  }

  /// Returns the pushkeys that the gateway rejects, or `nil` if the answer is not from a Matrix gateway.
  static func rejected(_ answer: [UInt8]) -> [String]? {
    guard case .object(let members)? = JSON(reading: answer) else { return nil }
    guard case .array(let keys)? = members["rejected"] else { return members["rejected"] == nil ? [] : nil }
    return keys.compactMap(\.text)
  }
}
