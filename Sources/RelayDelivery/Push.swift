// SPDX-License-Identifier: Apache-2.0
public import RelayProtocol

/// A push for one device, as a gateway receives it.
public struct Push: Equatable, Sendable {
  /// A lower-case UUID, the same at every attempt. It is the value of `apns-id`.
  public var id: String
  public var headers: PushHeaders
  /// A JSON object.
  public var payload: [UInt8]
  /// The time from which the push is not handed to a service any more. Is `nil` when it does not expire.
  public var expires: Timestamp?
  /// The number of rooms in the payload's `digest`. Is 0 for a push that is no digest.
  public internal(set) var listedRooms = 0

  public init(id: String, headers: PushHeaders, payload: [UInt8], expires: Timestamp? = nil) {
    self.id = id
    self.headers = headers
    self.payload = payload
    self.expires = expires
  }

  /// The maximum size of a payload, in bytes. Source: Apple's "Generating a remote notification".
  public static let maxPayload = APNsLimits.maxPayload
  /// The maximum size of the payload of a VoIP push, in bytes.
  public static let maxVoIPPayload = APNsLimits.maxVoIPPayload

  /// The headers under Apple's names, in a fixed order.
  public var fields: [(name: String, value: String)] {
    var fields = [
      (name: "apns-id", value: id),
      ("apns-push-type", headers.type.rawValue),
      ("apns-priority", String(headers.priority.rawValue)),
      ("apns-expiration", String(headers.expiration)),
    ]
    // A VoIP push replaces no notification, so it has no collapse id.
    if headers.type != .voip { fields.append(("apns-collapse-id", headers.collapseID)) }
    fields.append(("apns-topic", headers.topic))
    return fields
  }
}

/// The headers of a push. Source: Apple's "Sending notification requests to APNs".
public struct PushHeaders: Equatable, Sendable {
  public var type: PushType
  public var priority: Priority
  /// The expiry in seconds since 1970. At 0, the service tries the push once.
  public var expiration: Int64
  /// A push replaces an earlier one with the same value on the device. At most ``maxCollapseID`` bytes.
  public var collapseID: String
  /// The app's bundle id, with ``voipSuffix`` for a VoIP push.
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
    /// The service sends the push at once.
    case high = 10
    /// The service may delay the push to save the device's battery.
    case low = 5
  }

  public static let maxCollapseID = APNsLimits.maxCollapseID
  /// Source: Apple's "Sending notification requests to APNs".
  public static let voipSuffix = ".voip"
}
