// SPDX-License-Identifier: Apache-2.0

/// The picture of a communication notification.
public struct NotificationPicture: Equatable, Sendable {
  public var url: String
  /// The expected SHA-256 in lower-case hexadecimal digits, if the relay knows it.
  public var sha256: String?
  /// True if the picture shows the group, false if it shows the sender.
  public var isOfGroup: Bool

  public init(url: String, sha256: String? = nil, isOfGroup: Bool = false) {
    self.url = url
    self.sha256 = sha256
    self.isOfGroup = isOfGroup
  }
}

extension CommunicationPayload {
  /// The picture to load: that of a group with a name, otherwise that of the sender. Is `nil` if there is none, so that
  /// the system draws initials.
  public var picture: NotificationPicture? {
    if kind == .message, conversation.isGroup, conversation.name != nil, let avatar = conversation.avatar {
      return NotificationPicture(url: avatar, isOfGroup: true)
    }
    return sender.avatar.map { NotificationPicture(url: $0, sha256: sender.avatarSHA256) }
  }
}
