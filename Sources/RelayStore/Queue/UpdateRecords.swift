// SPDX-License-Identifier: Apache-2.0
public import RelayProtocol

/// A push that changes an earlier push, or that shows nothing. The relay may drop a late one.
public enum UpdateKind: String, Sendable, CaseIterable {
  /// A message that the phone shows was edited.
  case edited
  /// A message that the phone shows was deleted.
  case deleted
  /// Nobody answered the call.
  case missed
  /// The user answered the call on another device.
  case answered
  /// The user declined the call on another device.
  case declined
  /// The user read messages on another device.
  case badge
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
  public var content: Content
  public var device: Device

  public enum Content: Equatable, Sendable {
    /// A change of the push of a job. The kind is ``UpdateKind/edited``, `deleted`, `missed`, `answered` or `declined`.
    case change(UpdateKind, Claim)
    /// The number of unread messages of the recipient.
    case badge(Int)
    case silent(RoomID, epoch: String, StoredMessage, PushRequest)
  }

  public init(id: String, attempts: Int, created: Timestamp, content: Content, device: Device) {
    self.id = id
    self.attempts = attempts
    self.created = created
    self.content = content
    self.device = device
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
