// SPDX-License-Identifier: Apache-2.0
public import RelayProtocol

/// What is handed to a gateway for one device.
public struct Push: Equatable, Sendable {
  /// A lower-case UUID, the same at every attempt: `apns-id`.
  public var id: String
  public var headers: PushHeaders
  /// A JSON object.
  public var payload: [UInt8]
  /// From when on no service is handed it any more; nil: it is whenever that is.
  public var expires: Timestamp?

  public init(id: String, headers: PushHeaders, payload: [UInt8], expires: Timestamp? = nil) {
    self.id = id
    self.headers = headers
    self.payload = payload
    self.expires = expires
  }

  /// Bytes of a payload at most. From Apple's "Generating a remote notification".
  public static let largestPayload = APNsLimits.maxPayload
  /// The same of a VoIP push.
  public static let largestVoIPPayload = APNsLimits.maxVoIPPayload

  /// The headers under Apple's names, in a fixed order.
  public var fields: [(name: String, value: String)] {
    var fields = [
      (name: "apns-id", value: id),
      ("apns-push-type", headers.type.rawValue),
      ("apns-priority", String(headers.priority.rawValue)),
      ("apns-expiration", String(headers.expiration)),
    ]
    // A call replaces no notification.
    if headers.type != .voip { fields.append(("apns-collapse-id", headers.collapseID)) }
    fields.append(("apns-topic", headers.topic))
    return fields
  }
}

/// How a gateway is to treat a push. From Apple's "Sending notification requests to APNs".
public struct PushHeaders: Equatable, Sendable {
  public var type: PushType
  public var priority: Priority
  /// Seconds since 1970; 0: tried once.
  public var expiration: Int64
  /// A push replaces the one on the device that has the same; at most ``longestCollapseID`` bytes.
  public var collapseID: String
  /// The app's bundle id, of a VoIP push with ``voipSuffix``.
  public var topic: String

  public init(type: PushType, priority: Priority, expiration: Int64, collapseID: String, topic: String) {
    self.type = type
    self.priority = priority
    self.expiration = expiration
    self.collapseID = collapseID
    self.topic = topic
  }

  public enum PushType: String, Sendable {
    case alert
    /// Wakes the app and shows nothing.
    case background
    /// Wakes the app, which has to report a call.
    case voip
  }

  public enum Priority: Int, Sendable {
    /// At once.
    case high = 10
    /// When it suits the device's battery.
    case low = 5
  }

  public static let longestCollapseID = APNsLimits.maxCollapseID
  /// From Apple's "Sending notification requests to APNs".
  public static let voipSuffix = ".voip"
}
