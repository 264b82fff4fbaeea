// SPDX-License-Identifier: Apache-2.0
import RelayDelivery
import RelayJSON
import RelayProtocol

/// The body of `POST /_matrix/push/v1/notify`, and its answer.
///
/// Source: the "Push Gateway API" of the Matrix specification, so existing gateways can be used. The values come from
/// the push's payload. A value that the payload lacks is left out.
enum MatrixNotification {
  /// - Parameter topic: The app's id at the gateway.
  static func json(of push: Push, to device: Device, topic: String) -> [UInt8] {
    let payload = JSON(reading: push.payload)
    let (aps, communication) = (payload?["aps"], payload?["communication"])
    return JSONWriter.object {
      $0.object("notification") { notification in
        // Each attempt sends the same id, as an event of Matrix has one id.
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

  /// Returns the pushkeys that the gateway rejects, or `nil` if the answer is not from a Matrix push gateway.
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

  /// The text of the alert, when the value is `aps`. An alert that is a string is the text itself.
  fileprivate var alertText: String? { self["alert"]?.text ?? self["alert"]?["body"]?.text }
}
