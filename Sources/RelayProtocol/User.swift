// SPDX-License-Identifier: Apache-2.0

/// The profile of a user. Its sources are the token, a backend, and in open mode the frame `hello`.
public struct User: Equatable, Sendable {
  public var id: UserID
  /// The name that other users see: one line of at most ``maxNameLength`` bytes, see ``Swift/String/isLine``.
  public var name: String?
  /// An https URL of at most ``maxAvatarLength`` bytes.
  public var avatar: String?
  /// The SHA-256 of the picture at ``avatar``, in lower-case hexadecimal digits. Only phones receive it.
  public var avatarSHA256: String?
  /// A real address of the user, such as a telephone number: one line of 1 to ``maxHandleLength`` bytes. Only phones
  /// receive it.
  public var handle: String?
  /// The type of ``handle``: one line of at most ``maxHandleLength`` bytes.
  public var handleType: String?

  public init(
    id: UserID, name: String? = nil, avatar: String? = nil, handle: String? = nil, handleType: String? = nil,
    avatarSHA256: String? = nil
  ) {
    self.id = id
    self.name = name
    self.avatar = avatar
    self.handle = handle
    self.handleType = handleType
    self.avatarSHA256 = avatarSHA256
  }

  public static let maxNameLength = 256
  public static let maxAvatarLength = 2048
  public static let maxHandleLength = 256
}

/// The activity that a session reports. Other users see the most active state of all sessions of a user.
public enum Activity: String, Sendable, CaseIterable, Codable {
  /// The user may be looking at the app.
  case active
  case idle
  /// The app is hidden. Delivery treats the session as absent.
  case background
}

/// The treatment of the messages of an erased user.
public enum MessageErasure: String, Sendable, CaseIterable {
  /// The messages lose their contents, as if the sender had deleted them.
  case delete
  /// The messages stay, with a pseudonym as their sender.
  case anonymize
}
