// SPDX-License-Identifier: Apache-2.0

/// A person in a push payload.
public struct PayloadPerson: Equatable, Sendable {
  public var id: String
  public var name: String
  /// An address of the person, such as a telephone number. It is never empty.
  public var handle: String?
  public var handleType: String?
  /// An https URL of a picture.
  public var avatar: String?
  /// The SHA-256 of that picture in lower-case hexadecimal digits, if the relay knows it.
  public var avatarSHA256: String?

  public init(
    id: String, name: String, handle: String? = nil, handleType: String? = nil, avatar: String? = nil,
    avatarSHA256: String? = nil
  ) {
    self.id = id
    self.name = name
    self.handle = handle
    self.handleType = handleType
    self.avatar = avatar
    self.avatarSHA256 = avatarSHA256
  }
}

/// The conversation in a push payload.
public struct PayloadConversation: Equatable, Sendable {
  public var id: String
  public var name: String?
  public var isGroup: Bool
  /// The number of members of a group without the sender. It includes the user.
  public var recipientCount: Int?
  /// An https URL of a picture.
  public var avatar: String?

  public init(
    id: String, name: String? = nil, isGroup: Bool = false, recipientCount: Int? = nil, avatar: String? = nil
  ) {
    self.id = id
    self.name = name
    self.isGroup = isGroup
    self.recipientCount = recipientCount
    self.avatar = avatar
  }
}
