// SPDX-License-Identifier: Apache-2.0
import RelayJSON
import RelayProtocol

extension AppleSimulator {
  /// The type of a notification. Source: Apple's "Sending notification requests to APNs".
  enum PushType: String, Sendable, CaseIterable {
    case alert, background, complication, controls, fileprovider, liveactivity, location, mdm, pushtotalk, voip, widgets

    /// The suffix of the topic, after the app's bundle id.
    var topicSuffix: String {
      switch self {
      case .alert, .background, .mdm: ""
      case .complication: ".complication"
      case .controls: ".push-type.controls"
      case .fileprovider: ".pushkit.fileprovider"
      case .liveactivity: ".push-type.liveactivity"
      case .location: ".location-query"
      case .pushtotalk: ".voip-ptt"
      case .voip: ".voip"
      case .widgets: ".push-type.widgets"
      }
    }

    /// The largest payload in bytes.
    var maxPayload: Int { self == .voip ? APNsLimits.maxVoIPPayload : APNsLimits.maxPayload }

    /// Splits a topic into the type of its suffix and the app's bundle id.
    static func split(_ topic: String) -> (type: PushType?, bundle: String) {
      for type in allCases where !type.topicSuffix.isEmpty && topic.hasSuffix(type.topicSuffix) {
        return (type, String(topic.dropLast(type.topicSuffix.count)))
      }
      return (nil, topic)
    }

    /// True if a payload matches this type.
    func fits(_ payload: JSON) -> Bool {
      let aps = payload["aps"]
      switch self {
      case .alert: return ["alert", "badge", "sound"].contains { aps?[$0] != nil }
      case .background:
        return aps?["content-available"] == .number("1")
          && !["alert", "badge", "sound"].contains { aps?[$0] != nil }
      case .liveactivity: return ["start", "update", "end"].contains(aps?["event"]?.text)
      case .mdm: return payload["mdm"]?.text != nil
      default: return true
      }
    }
  }
}
