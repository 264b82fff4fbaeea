// SPDX-License-Identifier: Apache-2.0
public import RelayDelivery
public import RelayProtocol

/// A push that follows from a change. The claim decides what it shows, from the facts at that time.
public enum UpdateKind: String, Sendable, CaseIterable {
  /// The notification of a message on one device is planned again: the message, its call or its recipient has changed.
  case entry
  /// The badge and the removals of one device.
  case phone
  /// A message that wakes the app and shows nothing.
  case silent
}

/// A claimed update.
public struct UpdateClaim: Equatable, Sendable {
  /// A lower-case UUID, the same at every attempt.
  public var id: String
  public var attempts: Int
  /// The time of the newest request for the update.
  public var created: Timestamp
  /// The sum of the steps of the wall clock at ``created``.
  public var steps = Duration.zero
  public var recipient: UserID
  public var device: Device
  public var content: Content
  /// The removals in the push.
  public var removals = Removals()
  /// The time until which the service may keep the push. Is `nil` if the service tries it once.
  public var keptUntil: Timestamp?

  public enum Content: Equatable, Sendable {
    /// The notification of a job gets another text. The claim has the message that it shows.
    case change(EntryText, of: String, Claim)
    case phone(PhoneUpdate)
    case silent(RoomID, epoch: String, StoredMessage, PushRequest)
  }
}

/// A claimed job of the push queue.
public enum ClaimedJob: Equatable, Sendable {
  case push(Claim)
  case update(UpdateClaim)

  public var id: String {
    switch self {
    case .push(let claim): claim.id
    case .update(let claim): claim.id
    }
  }

  /// The lane whose capacity the job uses.
  public var lane: Lane {
    switch self {
    case .push(let claim): Lane(of: claim.device)
    case .update(let claim): Lane(of: claim.device).forUpdates
    }
  }
}
