// SPDX-License-Identifier: Apache-2.0
public import RelayProtocol

/// What is sent to a phone beside the pushes of jobs. Nothing depends on it: what is late is left out.
public enum UpdateKind: String, Sendable, CaseIterable {
  /// A message that a phone shows says something else.
  case edited
  /// It was taken back.
  case deleted
  /// Nobody took the call.
  case missed
  /// Something was read elsewhere.
  case badge
  /// A message that wakes the app and shows nothing.
  case silent
}

/// An update that is to be sent now.
public struct UpdateClaim: Equatable, Sendable {
  /// A lower-case UUID, the same at every attempt.
  public var id: String
  public var attempts: Int
  /// The time at which the change was last asked for.
  public var created: Timestamp
  public var content: Content
  public var device: Device

  public enum Content: Equatable, Sendable {
    /// Of the push of a job; its kind is ``UpdateKind/edited``, `deleted` or `missed`.
    case change(UpdateKind, Claim)
    /// How many messages the recipient has unread.
    case badge(Int)
    case silent(RoomID, epoch: String, StoredMessage)
  }

  public init(id: String, attempts: Int, created: Timestamp, content: Content, device: Device) {
    self.id = id
    self.attempts = attempts
    self.created = created
    self.content = content
    self.device = device
  }
}
