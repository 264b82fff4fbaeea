// SPDX-License-Identifier: Apache-2.0

/// The reason why a gateway did not accept a push. The set is bounded, so a reason can be a metric label.
///
/// The first group contains Apple's reasons, from "Handling notification responses from APNs". The relay's own reasons
/// follow in the same style.
public enum GatewayReason: String, Sendable, CaseIterable {
  case badCertificate = "BadCertificate"
  case badCertificateEnvironment = "BadCertificateEnvironment"
  case badCollapseID = "BadCollapseId"
  case badDeviceToken = "BadDeviceToken"
  case badEnvironmentKeyIDInToken = "BadEnvironmentKeyIdInToken"
  case badExpirationDate = "BadExpirationDate"
  case badMessageID = "BadMessageId"
  case badPath = "BadPath"
  case badPriority = "BadPriority"
  case badTopic = "BadTopic"
  case deviceTokenNotForTopic = "DeviceTokenNotForTopic"
  case duplicateHeaders = "DuplicateHeaders"
  case expiredProviderToken = "ExpiredProviderToken"
  case expiredToken = "ExpiredToken"
  case forbidden = "Forbidden"
  case idleTimeout = "IdleTimeout"
  case internalServerError = "InternalServerError"
  case invalidProviderToken = "InvalidProviderToken"
  case invalidPushType = "InvalidPushType"
  case methodNotAllowed = "MethodNotAllowed"
  case missingDeviceToken = "MissingDeviceToken"
  case missingProviderToken = "MissingProviderToken"
  case missingTopic = "MissingTopic"
  case payloadEmpty = "PayloadEmpty"
  case payloadTooLarge = "PayloadTooLarge"
  case serviceUnavailable = "ServiceUnavailable"
  case shutdown = "Shutdown"
  case tooManyProviderTokenUpdates = "TooManyProviderTokenUpdates"
  case tooManyRequests = "TooManyRequests"
  case topicDisallowed = "TopicDisallowed"
  case unregistered = "Unregistered"
  case unrelatedKeyIDInToken = "UnrelatedKeyIdInToken"

  /// The service's host has no address that the relay may connect to.
  case addressRefused = "AddressRefused"
  /// The stored subscription is invalid, or its service is no longer allowed.
  case badSubscription = "BadSubscription"
  /// The relay stopped before the push was complete.
  case cancelled = "Cancelled"
  case connectFailed = "ConnectFailed"
  /// The connection or the stream ended before the answer.
  case connectionLost = "ConnectionLost"
  /// The push expired before a connection was available.
  case expired = "Expired"
  /// The device's app has no credential.
  case noCredential = "NoCredential"
  /// The service redirected the request. The relay does not follow redirects.
  case redirected = "Redirected"
  case timeout = "Timeout"
  /// The gateway's queue of waiting requests is full.
  case tooManyWaiting = "TooManyWaiting"
  /// A reason that this list does not contain. The attempt has its text.
  case other = "Other"

  /// True if the service itself fails, so that other pushes fail as well.
  public var isOutage: Bool {
    switch self {
    case .internalServerError, .serviceUnavailable, .shutdown: true
    default: Self.unreachable.contains(self)
    }
  }

  /// The reasons without an answer of the service, which therefore has not asked for a wait.
  public static let unreachable: Set<Self> = [.addressRefused, .connectFailed, .connectionLost, .timeout]

  /// - Parameter words: The reason in the service's answer.
  init(words: String?) { self = words.flatMap(Self.init(rawValue:)) ?? .other }
}
