// SPDX-License-Identifier: Apache-2.0

/// The properties of a message that its delivery depends on. They are the same for all recipients.
public struct MessageTraits: Equatable, Sendable {
  public var from: UserID
  public var mentions: Mentions
  public var push: PushRequest
  public var isDeleted: Bool
  /// A call does not ring for these members, because its sender calls them too often. Is `nil` for a message that was
  /// not counted as a call. The store does not keep it.
  public var unrung: Set<UserID>?

  public init(
    from: UserID, mentions: Mentions = [], push: PushRequest = PushRequest(), isDeleted: Bool = false,
    unrung: Set<UserID>? = nil
  ) {
    self.from = from
    self.mentions = mentions
    self.push = push
    self.isDeleted = isDeleted
    self.unrung = unrung
  }

  /// True if the message has a body and nothing else.
  public var isPlain: Bool { mentions.isEmpty && push == PushRequest() && !isDeleted }
}
