// SPDX-License-Identifier: Apache-2.0

/// The properties of a message that its delivery depends on. They are the same for all recipients.
public struct MessageTraits: Equatable, Sendable {
  public var from: UserID
  public var mentions: Mentions
  public var push: PushRequest
  public var isDeleted: Bool

  public init(from: UserID, mentions: Mentions = [], push: PushRequest = PushRequest(), isDeleted: Bool = false) {
    self.from = from
    self.mentions = mentions
    self.push = push
    self.isDeleted = isDeleted
  }

  /// True if the message has a body and nothing else.
  public var isPlain: Bool { mentions.isEmpty && push == PushRequest() && !isDeleted }
}
