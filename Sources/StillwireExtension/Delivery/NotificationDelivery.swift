// SPDX-License-Identifier: Apache-2.0
// Decides the steps until the one delivery of a notification service extension. Has no dependencies.

/// The state of a notification in a service extension, from its arrival until its delivery.
///
/// The steps are in this order: load the pictures, donate the intent, update the content, deliver it. Each step has a
/// timeout, so that a picture server that does not answer cannot delay the notification for long. The system gives the
/// extension about 30 s.
public struct NotificationDelivery: Equatable, Sendable {
  /// The content of a notification.
  public struct Content: Equatable, Sendable {
    /// True for the communication notification, false for the content of the push.
    public var isCommunication: Bool
    /// True if the communication notification has the picture of the sender or of the group.
    public var hasPicture = false
    /// True if the notification has its image as an attachment.
    public var hasImage = false

    public init(isCommunication: Bool, hasPicture: Bool = false, hasImage: Bool = false) {
      self.isCommunication = isCommunication
      self.hasPicture = hasPicture
      self.hasImage = hasImage
    }
  }

  /// The next step.
  public enum Action: Equatable, Sendable {
    /// Donate the intent, with the picture if it is loaded. ``Event/donationEnded`` follows.
    case donate(hasPicture: Bool)
    /// Update the content, and deliver it.
    case deliver(Content)
  }

  /// The result of work, or the end of a time.
  public enum Event: Equatable, Sendable, CaseIterable {
    case pictureLoaded
    /// The picture could not be loaded or is not allowed.
    case pictureFailed
    case imageLoaded
    /// The image could not be loaded or is not allowed.
    case imageFailed
    /// ``loadingLimit(of:)`` is over.
    case loadingTimedOut
    /// The system has the intent now, or has refused it. Both end the wait for the donation.
    case donationEnded
    /// The relay has the receipt, or has refused it.
    case reportEnded
    /// ``reportLimit`` is over.
    case reportTimedOut
    /// The time for all steps is over.
    case timedOut
    /// The system called `serviceExtensionTimeWillExpire()`.
    case expired
  }

  /// Maximum time for all steps, by default.
  public static let limit = Duration.seconds(8)
  /// The highest permitted limit. The system ends the extension after about 30 s.
  public static let maxLimit = Duration.seconds(25)
  /// Maximum time to wait for the receipt. The system may suspend the extension after the delivery, so that a receipt
  /// that has not begun would be lost.
  public static let reportLimit = Duration.seconds(1)

  /// Maximum time for the pictures: three quarters of the time for all steps. The rest is for the donation.
  public static func loadingLimit(of limit: Duration) -> Duration { limit * 3 / 4 }

  private enum Phase: Equatable {
    case loading, donating, reporting, delivered
  }

  /// The content to deliver if the time ends now. It never becomes worse.
  public private(set) var bestAttempt: Content
  private var phase = Phase.loading
  private var waitsForPicture: Bool
  private var waitsForImage: Bool
  private var waitsForReport: Bool

  /// - Parameters:
  ///   - isCommunication: True if the push is a message or a call of a person. A digest and a plain notification are not.
  ///   - hasPicture: True if the picture of the sender or of the group is being loaded.
  ///   - hasImage: True if the image of the notification is being loaded.
  ///   - hasReport: True if a receipt is being sent.
  public init(isCommunication: Bool, hasPicture: Bool = false, hasImage: Bool = false, hasReport: Bool = false) {
    bestAttempt = Content(isCommunication: isCommunication)
    waitsForPicture = isCommunication && hasPicture
    waitsForImage = hasImage
    waitsForReport = hasReport
  }

  /// True after a step has returned ``Action/deliver(_:)``.
  public var isDelivered: Bool { phase == .delivered }

  /// Returns the first step, or `nil` if it must wait. Call this once, before all events.
  public mutating func begin() -> Action? { advance() }

  /// Applies an event. Returns the next step, or `nil` if it must wait. Each step is returned once, the delivery last.
  public mutating func take(_ event: Event) -> Action? {
    guard !isDelivered else { return nil }
    switch event {
    case .pictureLoaded:
      if waitsForPicture { bestAttempt.hasPicture = true }
      waitsForPicture = false
    case .pictureFailed: waitsForPicture = false
    case .imageLoaded:
      if waitsForImage { bestAttempt.hasImage = true }
      waitsForImage = false
    case .imageFailed: waitsForImage = false
    case .loadingTimedOut: (waitsForPicture, waitsForImage) = (false, false)
    case .donationEnded: if phase == .donating { phase = .reporting }
    case .reportEnded, .reportTimedOut: waitsForReport = false
    case .timedOut, .expired:
      phase = .delivered
      return .deliver(bestAttempt)
    }
    return advance()
  }

  private mutating func advance() -> Action? {
    if phase == .loading, !waitsForPicture, !waitsForImage {
      guard !bestAttempt.isCommunication else {
        phase = .donating
        return .donate(hasPicture: bestAttempt.hasPicture)
      }
      phase = .reporting
    }
    guard phase == .reporting, !waitsForReport else { return nil }
    phase = .delivered
    return .deliver(bestAttempt)
  }
}
