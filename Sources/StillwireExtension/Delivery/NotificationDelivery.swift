// SPDX-License-Identifier: Apache-2.0
// Decides the content and the moment of the one delivery of a notification service extension. Has no dependencies.

/// The state of a notification in a service extension, from its arrival until its delivery.
///
/// The system gives the extension about 30 s. The best attempt at any moment is the communication notification without
/// a picture, so that a slow picture cannot prevent the breakthrough of a Focus.
public struct NotificationDelivery: Equatable, Sendable {
  /// The content of a notification.
  public enum Content: Equatable, Sendable {
    /// The content of the push, unchanged.
    case original
    /// The communication notification without a picture.
    case communication
    /// The communication notification with a picture.
    case communicationWithPicture
  }

  /// The result of work that began when the push arrived.
  public enum Event: Equatable, Sendable, CaseIterable {
    /// The system has the intent now, or has refused it. Both end the wait for the donation.
    case donationEnded
    case pictureLoaded
    /// The picture could not be loaded or is not allowed.
    case pictureFailed
    /// The time for the picture and the donation is over.
    case timedOut
    /// The system called `serviceExtensionTimeWillExpire()`.
    case expired
  }

  /// The content to deliver if the time ends now. It never becomes worse.
  public private(set) var bestAttempt: Content
  /// True after ``begin()`` or ``take(_:)`` has returned a content.
  public private(set) var isDelivered = false
  private var waitsForDonation: Bool
  private var waitsForPicture: Bool

  /// - Parameters:
  ///   - isCommunication: True if the extension has made a communication notification from the push. A digest, a plain
  ///     notification, or a push whose intent the system rejects is delivered unchanged.
  ///   - hasPicture: True if a picture is being loaded.
  public init(isCommunication: Bool, hasPicture: Bool) {
    bestAttempt = isCommunication ? .communication : .original
    waitsForDonation = isCommunication
    waitsForPicture = isCommunication && hasPicture
  }

  /// Returns the content to deliver immediately, or `nil` if the delivery waits. Call this once, before all events.
  public mutating func begin() -> Content? { deliverWhenComplete() }

  /// Applies an event. Returns the content to deliver now, exactly once in all.
  public mutating func take(_ event: Event) -> Content? {
    guard !isDelivered else { return nil }
    switch event {
    case .donationEnded: waitsForDonation = false
    case .pictureLoaded:
      if waitsForPicture { bestAttempt = .communicationWithPicture }
      waitsForPicture = false
    case .pictureFailed: waitsForPicture = false
    case .timedOut, .expired: (waitsForDonation, waitsForPicture) = (false, false)
    }
    return deliverWhenComplete()
  }

  private mutating func deliverWhenComplete() -> Content? {
    guard !isDelivered, !waitsForDonation, !waitsForPicture else { return nil }
    isDelivered = true
    return bestAttempt
  }
}
