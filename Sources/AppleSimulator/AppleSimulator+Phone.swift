// SPDX-License-Identifier: Apache-2.0
public import RelayProtocol

extension AppleSimulator {
  /// A device that a script speaks of; every other is on and has every app.
  public struct Phone: Equatable, Sendable {
    public var isOn = true
    /// The bundle ids for which its token is good; nil: all.
    public var topics: Set<String>?
    /// Whose token it is; nil: of both.
    public var environment: Environment?
    /// Since when the app is gone.
    public var unregistered: Timestamp?
    /// Since when its token is replaced by another.
    public var expired: Timestamp?
    /// What waits for it to be on: one for each app.
    public internal(set) var stored: [String: Received] = [:]
    /// What it showed, oldest first.
    public internal(set) var shown: [Received] = []

    public init() {}

    public static let mostShown = 100

    /// What became of a notification that was taken.
    enum Delivery: Equatable {
      case shown, stored, dropped
    }

    func refusal(of bundle: String, in environment: Environment) -> Refusal? {
      if let owner = self.environment, owner != environment { return Refusal(.badDeviceToken) }
      if let unregistered { return Refusal(.unregistered, timestamp: unregistered) }
      if let expired { return Refusal(.expiredToken, timestamp: expired) }
      guard topics?.contains(bundle) ?? true else { return Refusal(.deviceTokenNotForTopic) }
      return nil
    }

    mutating func take(_ received: Received, for bundle: String, now: Timestamp) -> Delivery {
      if isOn {
        show(received)
        return .shown
      }
      guard !received.isExpired(at: now) else { return .dropped }
      stored[bundle] = received
      return .stored
    }

    /// It is on again: what waited is shown, unless it has expired.
    mutating func turnOn(now: Timestamp) {
      isOn = true
      let inOrder = stored.values.sorted { ($0.time, $0.bundle) < ($1.time, $1.bundle) }
      for received in inOrder where !received.isExpired(at: now) {
        show(received)
      }
      stored = [:]
    }

    private mutating func show(_ received: Received) {
      if let id = received.collapseID { shown.removeAll { $0.collapseID == id && $0.bundle == received.bundle } }
      if shown.count == Self.mostShown { shown.removeFirst() }
      shown.append(received)
    }
  }

  /// A notification on a device, or waiting for it.
  public struct Received: Equatable, Sendable {
    /// `apns-id`.
    public var id: String
    public var bundle: String
    public var collapseID: String?
    /// Seconds since 1970, 0: now or never; nil: as long as the service likes, which is 30 days.
    public var expiration: Int64?
    /// When it came.
    public var time: Timestamp
    /// JSON.
    public var payload: [UInt8]

    static let longestStorage = Duration.seconds(30 * 24 * 3600)

    func isExpired(at now: Timestamp) -> Bool {
      if now - time > Self.longestStorage { return true }
      guard let expiration else { return false }
      return expiration <= now.rawValue / 1000
    }
  }
}
