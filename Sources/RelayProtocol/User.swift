// SPDX-License-Identifier: Apache-2.0

/// Who a user is, as told by the token (or, in open mode, by `hello`).
public struct User: Equatable, Sendable {
  public var id: UserID
  /// At most ``longestName`` bytes.
  public var name: String?
  /// A URL of at most ``longestAvatar`` bytes.
  public var avatar: String?

  public init(id: UserID, name: String? = nil, avatar: String? = nil) {
    self.id = id
    self.name = name
    self.avatar = avatar
  }

  public static let longestName = 256
  public static let longestAvatar = 2048
}
