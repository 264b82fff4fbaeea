// SPDX-License-Identifier: Apache-2.0

/// A message that a user has reported to the moderators of its room.
public struct MessageReport: Equatable, Sendable {
  public enum State: String, Sendable, CaseIterable {
    case open
    /// A moderator or a backend has acted on it.
    case resolved
    /// A moderator or a backend has found nothing to act on.
    case dismissed
  }

  /// Increases with each report of the relay.
  public var id: Int64
  public var message: MessageReference
  /// The sender of the message.
  public var author: UserID
  /// The user who has reported the message.
  public var user: UserID
  /// 1 to ``maxReasonLength`` bytes.
  public var reason: String
  public var time: Timestamp
  public var state: State
  /// The user who has ended the report. Is `nil` for an open report, for a backend that acts for nobody, and in the reply
  /// to the reporter.
  public var closer: UserID?
  /// The time at which the report was ended. Is `nil` for an open report.
  public var closed: Timestamp?

  public init(
    id: Int64, message: MessageReference, author: UserID, user: UserID, reason: String, time: Timestamp,
    state: State = .open, closer: UserID? = nil, closed: Timestamp? = nil
  ) {
    self.id = id
    self.message = message
    self.author = author
    self.user = user
    self.reason = reason
    self.time = time
    self.state = state
    self.closer = closer
    self.closed = closed
  }

  public static let maxReasonLength = 1_000
  /// The time for which the store keeps a report that was ended.
  public static let retention = Duration.seconds(90 * 24 * 3600)
}
