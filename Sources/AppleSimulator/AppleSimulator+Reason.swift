// SPDX-License-Identifier: Apache-2.0
import RelayJSON
public import RelayProtocol

extension AppleSimulator {
  /// The reasons of Apple's service for refusing a notification, in Apple's spelling.
  ///
  /// Source: Apple's "Handling notification responses from APNs".
  public enum Reason: String, Error, CaseIterable {
    case badCollapseID = "BadCollapseId"
    case badDeviceToken = "BadDeviceToken"
    case badExpirationDate = "BadExpirationDate"
    case badMessageID = "BadMessageId"
    case badPriority = "BadPriority"
    case badTopic = "BadTopic"
    case deviceTokenNotForTopic = "DeviceTokenNotForTopic"
    case duplicateHeaders = "DuplicateHeaders"
    case idleTimeout = "IdleTimeout"
    case invalidPushType = "InvalidPushType"
    case missingDeviceToken = "MissingDeviceToken"
    case missingTopic = "MissingTopic"
    case payloadEmpty = "PayloadEmpty"
    case topicDisallowed = "TopicDisallowed"
    case badCertificate = "BadCertificate"
    case badCertificateEnvironment = "BadCertificateEnvironment"
    case badEnvironmentKeyIDInToken = "BadEnvironmentKeyIdInToken"
    case expiredProviderToken = "ExpiredProviderToken"
    case forbidden = "Forbidden"
    case invalidProviderToken = "InvalidProviderToken"
    case missingProviderToken = "MissingProviderToken"
    case unrelatedKeyIDInToken = "UnrelatedKeyIdInToken"
    case badPath = "BadPath"
    case methodNotAllowed = "MethodNotAllowed"
    case expiredToken = "ExpiredToken"
    case unregistered = "Unregistered"
    case payloadTooLarge = "PayloadTooLarge"
    case tooManyProviderTokenUpdates = "TooManyProviderTokenUpdates"
    case tooManyRequests = "TooManyRequests"
    case internalServerError = "InternalServerError"
    case serviceUnavailable = "ServiceUnavailable"
    case shutdown = "Shutdown"

    /// The HTTP status that Apple documents for the reason.
    public var status: Int {
      switch self {
      case .badCollapseID, .badDeviceToken, .badExpirationDate, .badMessageID, .badPriority, .badTopic,
        .deviceTokenNotForTopic, .duplicateHeaders, .idleTimeout, .invalidPushType, .missingDeviceToken,
        .missingTopic, .payloadEmpty, .topicDisallowed:
        400
      case .badCertificate, .badCertificateEnvironment, .badEnvironmentKeyIDInToken, .expiredProviderToken,
        .forbidden, .invalidProviderToken, .missingProviderToken, .unrelatedKeyIDInToken:
        403
      case .badPath: 404
      case .methodNotAllowed: 405
      case .expiredToken, .unregistered: 410
      case .payloadTooLarge: 413
      case .tooManyProviderTokenUpdates, .tooManyRequests: 429
      case .internalServerError: 500
      case .serviceUnavailable, .shutdown: 503
      }
    }
  }

  /// An answer that is not 200.
  public struct Refusal: Error, Equatable {
    public var status: Int
    /// A value of ``Reason``, or the text of a scripted fault.
    public var reason: String
    /// The time at which the token became invalid; only with status 410.
    public var timestamp: Timestamp?
    /// The seconds in the header `Retry-After`.
    public var retryAfter: Int?

    public init(status: Int, reason: String, timestamp: Timestamp? = nil, retryAfter: Int? = nil) {
      self.status = status
      self.reason = reason
      self.timestamp = timestamp
      self.retryAfter = retryAfter
    }

    public init(_ reason: Reason, timestamp: Timestamp? = nil) {
      self.init(status: reason.status, reason: reason.rawValue, timestamp: timestamp)
    }

    /// `{"reason":…,"timestamp":…}`, the body of the answer.
    var json: [UInt8] {
      JSONWriter.object {
        $0["reason"] = reason
        $0.integer("timestamp", timestamp?.rawValue)
      }
    }
  }
}
