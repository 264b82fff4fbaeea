// SPDX-License-Identifier: Apache-2.0
import RelayJSON
import RelayProtocol

extension AppleSimulator {
  /// What a notification is for. From Apple's "Sending notification requests to APNs".
  enum PushType: String, Sendable, CaseIterable {
    case alert, background, complication, controls, fileprovider, liveactivity, location, mdm, pushtotalk, voip, widgets

    /// What stands behind the app's bundle id in the topic.
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

    /// Bytes of a payload at most.
    var largestPayload: Int { self == .voip ? APNsLimits.maxVoIPPayload : APNsLimits.maxPayload }

    /// The type of which `topic` has the suffix, and the app's bundle id.
    static func split(_ topic: String) -> (type: PushType?, bundle: String) {
      for type in allCases where !type.topicSuffix.isEmpty && topic.hasSuffix(type.topicSuffix) {
        return (type, String(topic.dropLast(type.topicSuffix.count)))
      }
      return (nil, topic)
    }

    /// Whether a payload is of this type.
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
