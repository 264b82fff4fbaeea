// SPDX-License-Identifier: Apache-2.0
import RelayDelivery
import RelayJSON
import RelayProtocol

/// A push as `POST /_matrix/push/v1/notify` takes it.
///
/// From the "Push Gateway API" of the Matrix specification, so that an existing gateway serves. What a push says is
/// found in its payload; where that is silent, so is the notification.
enum MatrixNotification {
  /// - Parameter topic: What the gateway knows the app by.
  static func json(of push: Push, to device: Device, topic: String) -> [UInt8] {
    let payload = JSON(reading: push.payload)
    let (aps, communication) = (payload?["aps"], payload?["communication"])
    return JSONWriter.object {
      $0.object("notification") { notification in
        // The same at every attempt, as Matrix's events are.
        notification["event_id"] = push.id
        notification["room_id"] = payload?["message"]?["room"]?.text
        notification["room_name"] = communication?["conversation"]?["name"]?.text
        notification["sender"] = communication?["sender"]?["id"]?.text
        notification["sender_display_name"] = communication?["sender"]?["name"]?.text
        notification["prio"] = push.headers.priority == .high ? "high" : "low"
        notification["type"] = "m.room.message"
        if let badge = aps?["badge"]?.number { notification.object("counts") { $0.integer("unread", badge) } }
        if let text = aps?.alertText {
          notification.object("content") {
            $0["msgtype"] = "m.text"
            $0["body"] = text
          }
        }
        notification.array("devices") {
          $0.object {
            $0["app_id"] = topic
            $0["pushkey"] = device.token
            $0.integer("pushkey_ts", device.registered.map { $0.rawValue / 1000 })
            $0.object("tweaks") { tweaks in
              if let sound = aps?["sound"]?.text { tweaks["sound"] = sound }
              if communication?["mentionsMe"] == .bool(true) { tweaks.bool("highlight", true) }
            }
          }
        }
      }
    }
  }

  /// The pushkeys that the gateway wants to hear of no more; nil: this is no answer of such a gateway.
  static func rejected(_ answer: [UInt8]) -> [String]? {
    guard case .object(let members)? = JSON(reading: answer) else { return nil }
    guard case .array(let keys)? = members["rejected"] else { return members["rejected"] == nil ? [] : nil }
    return keys.compactMap(\.text)
  }
}

extension JSON {
  fileprivate var number: Int64? {
    guard case .number(let text) = self else { return nil }
    return Int64(text)
  }

  /// Of `aps`: a string is the body.
  fileprivate var alertText: String? { self["alert"]?.text ?? self["alert"]?["body"]?.text }
}
