// SPDX-License-Identifier: Apache-2.0

/// Why a gateway did not take a push; safe as a metric label.
///
/// In Apple's words, from "Handling notification responses from APNs", and in words of their style where the reason is
/// ours.
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

  /// The service's host has no address that may be connected to.
  case addressRefused = "AddressRefused"
  /// What is stored of a subscription is none, or of a service that is not allowed any more.
  case badSubscription = "BadSubscription"
  /// The relay was stopped meanwhile.
  case cancelled = "Cancelled"
  case connectFailed = "ConnectFailed"
  /// The connection or the stream ended before the answer.
  case connectionLost = "ConnectionLost"
  /// Its time was over before there was a connection for it.
  case expired = "Expired"
  /// The device's app has no credential.
  case noCredential = "NoCredential"
  /// The service named another place, which is not followed.
  case redirected = "Redirected"
  case timeout = "Timeout"
  /// More wait for the gateway than it lets wait.
  case tooManyWaiting = "TooManyWaiting"
  /// A word that is not known here, as the attempt has it.
  case other = "Other"

  /// - Parameter words: What the service said.
  init(words: String?) { self = words.flatMap(Self.init(rawValue:)) ?? .other }
}
