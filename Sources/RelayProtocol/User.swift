// SPDX-License-Identifier: Apache-2.0

/// Who a user is, as told by the token (or, in open mode, by `hello`).
public struct User: Equatable, Sendable {
  public var id: UserID
  /// At most ``longestName`` bytes.
  public var name: String?
  /// An https URL of at most ``longestAvatar`` bytes.
  public var avatar: String?
  /// The SHA-256 of the picture at ``avatar``, in lower-case hexadecimal digits. Only phones receive it.
  public var avatarSHA256: String?
  /// A real address of the user, such as a telephone number, at most ``longestHandle`` bytes; never empty. It is told to
  /// phones only.
  public var handle: String?
  /// What kind of address it is; as long at most.
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

  public static let longestName = 256
  public static let longestAvatar = 2048
  public static let longestHandle = 256
}
