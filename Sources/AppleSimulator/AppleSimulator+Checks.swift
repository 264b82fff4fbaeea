// SPDX-License-Identifier: Apache-2.0
// The checks of the path, the headers and the payload of a request. They need no state.
import RelayJSON
import RelayProtocol

extension AppleSimulator {
  /// A valid notification.
  struct Notification: Equatable, Sendable {
    /// The device token in lower case.
    var token: String
    /// The app's bundle id: the topic without the suffix of its push type.
    var bundle: String
    /// The expiry in seconds since 1970. 0: deliver at once or never. `nil`: keep it for the longest time.
    var expiration: Int64?
    var collapseID: String?
  }

  /// The checks of a request that need only the request and the settings.
  ///
  /// Apple does not document the order of the checks. Here it is: path, provider token, headers, payload, device.
  enum Checks {
    /// The largest payload in bytes, of any push type. A longer body is refused without further checks.
    static let maxPayload = PushType.voip.maxPayload

    /// Makes the checks that precede the authentication.
    static func destination(of head: Head) throws(Reason) {
      guard head.method == "POST" else { throw .methodNotAllowed }
      guard let token = head.token else { throw .badPath }
      guard !token.isEmpty else { throw .missingDeviceToken }
      guard !head.isRepeated else { throw .duplicateHeaders }
    }

    /// Checks the headers and the payload.
    /// - Parameter payload: The whole payload, or its first ``maxPayload`` + 1 bytes.
    static func notification(
      _ head: Head, payload: [UInt8], topics: Set<String>, keyTopics: Set<String>?
    ) throws(Reason) -> Notification {
      guard let topic = head.topic, !topic.isEmpty else { throw .missingTopic }
      let (topicType, bundle) = PushType.split(topic)
      guard isBundleID(bundle) else { throw .badTopic }
      guard topics.isEmpty || topics.contains(bundle), keyTopics?.contains(bundle) ?? true else {
        throw .topicDisallowed
      }
      if let id = head.id, !id.isLowercaseUUID { throw .badMessageID }
      let expiration = try head.expiration.map { text throws(Reason) in try self.expiration(text) }
      let type = try head.pushType.map { text throws(Reason) in try self.type(text, topic: topicType) } ?? topicType
      try checkPriority(head.priority, of: type)
      guard head.collapseID?.utf8.count ?? 0 <= APNsLimits.maxCollapseID else { throw .badCollapseID }
      try check(payload, of: type, isTypeSaid: head.pushType != nil)
      return Notification(
        token: head.token?.lowercased() ?? "", bundle: bundle, expiration: expiration, collapseID: head.collapseID)
    }

    /// True for pairs of hexadecimal digits, if their number is in `digits`.
    static func isToken(_ token: String, digits: ClosedRange<Int>) -> Bool {
      let bytes = token.utf8
      return digits.contains(bytes.count) && bytes.count.isMultiple(of: 2)
        && bytes.allSatisfy { byte in
          switch byte {
          case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"),
            UInt8(ascii: "A")...UInt8(ascii: "F"):
            true
          default: false
          }
        }
    }

    private static func isBundleID(_ text: String) -> Bool {
      !text.isEmpty && text.utf8.count <= 155
        && text.utf8.allSatisfy { byte in
          switch byte {
          case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "-"):
            true
          default: false
          }
        }
    }

    private static func expiration(_ text: String) throws(Reason) -> Int64 {
      // Only whole seconds are valid. A value with more digits is in milliseconds.
      guard !text.isEmpty, text.utf8.count <= 11, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
        let seconds = Int64(text)
      else { throw .badExpirationDate }
      return seconds
    }

    /// Returns the type in the header. The topic must have the suffix of this type.
    private static func type(_ text: String, topic: PushType?) throws(Reason) -> PushType {
      guard let type = PushType(rawValue: text) else { throw .invalidPushType }
      guard topic == (type.topicSuffix.isEmpty ? nil : type) else { throw .badTopic }
      return type
    }

    /// Checks the priority. A missing priority is 10, which is too high for a background push.
    private static func checkPriority(_ text: String?, of type: PushType?) throws(Reason) {
      let priority = text ?? "10"
      guard ["10", "5", "1"].contains(priority) else { throw .badPriority }
      guard type != .background || priority == "5" else { throw .badPriority }
    }

    /// Checks the payload. Apple documents no reason for a payload that is not JSON. Here it is `PayloadEmpty`.
    private static func check(_ payload: [UInt8], of type: PushType?, isTypeSaid: Bool) throws(Reason) {
      guard !payload.isEmpty else { throw .payloadEmpty }
      guard payload.count <= (type ?? .alert).maxPayload else { throw .payloadTooLarge }
      guard let json = JSON(reading: payload), case .object(let members) = json, !members.isEmpty else {
        throw .payloadEmpty
      }
      guard let type, isTypeSaid else { return }
      guard type.fits(json) else { throw .invalidPushType }
    }
  }
}
