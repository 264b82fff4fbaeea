// SPDX-License-Identifier: Apache-2.0
public import RelayDelivery
public import RelayProtocol

/// A claimed job of the push queue: the first push of messages, or an update.
public struct Claim: Equatable, Sendable {
  /// A lower-case UUID, the same at every attempt.
  public var id: String
  /// The number of attempts, including this one. A claim whose push did not reach the gateway does not count.
  public var attempts: Int
  /// The time at which the job was made, or the time of the newest request for the update.
  public var created: Timestamp
  /// The sum of the steps of the wall clock at ``created``.
  public var steps = Duration.zero
  public var recipient: UserID
  /// The device as it is registered now.
  public var device: Device
  public var content: Content
  /// The removals in the push.
  public var removals = Removals()
  /// The time until which the service may keep a `change` or a `phone`. Is `nil` if the service tries it once, and for an
  /// `alert` and a `silent`, which the service may keep until they expire.
  public var keptUntil: Timestamp?

  public enum Content: Equatable, Sendable {
    /// The first push of messages.
    case alert(ShownMessages)
    /// A notification gets another text.
    case change(EntryText, ShownMessages)
    /// The badge and the removals of a device.
    case phone(PhoneUpdate)
    /// A message that wakes the app and shows nothing.
    case silent(RoomID, epoch: String, StoredMessage, PushRequest)
  }

  /// The messages in the notification. Is `nil` for `phone` and `silent`.
  public var shown: ShownMessages? {
    switch content {
    case .alert(let shown), .change(_, let shown): shown
    case .phone, .silent: nil
    }
  }

  /// The lane whose capacity the job uses.
  public var lane: Lane {
    let lane = Lane(of: device)
    return if case .alert = content { lane } else { lane.forUpdates }
  }
}
