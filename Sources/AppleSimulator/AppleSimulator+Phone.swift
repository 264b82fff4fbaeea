// SPDX-License-Identifier: Apache-2.0
public import RelayProtocol

extension AppleSimulator {
  /// A device that a script has set. Every other device is on and has every app.
  public struct Phone: Equatable, Sendable {
    public var isOn = true
    /// The bundle ids for which the token is valid. Is `nil` for all.
    public var topics: Set<String>?
    /// The environment for which the token is valid. Is `nil` for both.
    public var environment: Environment?
    /// The time at which the app was removed, if it was.
    public var unregistered: Timestamp?
    /// The time at which another token replaced this one, if one did.
    public var expired: Timestamp?
    /// The notifications that wait until the device is on: the newest of each app, by bundle id.
    public internal(set) var stored: [String: Received] = [:]
    /// The notifications that the device showed, oldest first.
    public internal(set) var shown: [Received] = []

    public init() {}

    public static let maxShown = 100

    /// The result of an accepted notification.
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

    /// Turns the device on, and shows the waiting notifications that have not expired.
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
      if shown.count == Self.maxShown { shown.removeFirst() }
      shown.append(received)
    }
  }

  /// A notification on a device, or one that waits for the device.
  public struct Received: Equatable, Sendable {
    /// The header `apns-id`.
    public var id: String
    public var bundle: String
    public var collapseID: String?
    /// The expiry in seconds since 1970. 0: deliver at once or never. `nil`: keep it for 30 days.
    public var expiration: Int64?
    /// The time of arrival.
    public var time: Timestamp
    /// The payload as JSON.
    public var payload: [UInt8]

    static let maxStorage = Duration.seconds(30 * 24 * 3600)

    func isExpired(at now: Timestamp) -> Bool {
      if now - time > Self.maxStorage { return true }
      guard let expiration else { return false }
      return expiration <= now.rawValue / 1000
    }
  }
}
