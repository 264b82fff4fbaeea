// SPDX-License-Identifier: Apache-2.0

/// Somebody in a push payload.
public struct PayloadPerson: Equatable, Sendable {
  public var id: String
  public var name: String
  /// A real address, such as a telephone number; never empty.
  public var handle: String?
  public var handleType: String?
  /// Of a picture.
  public var avatar: String?

  public init(
    id: String, name: String, handle: String? = nil, handleType: String? = nil, avatar: String? = nil
  ) {
    self.id = id
    self.name = name
    self.handle = handle
    self.handleType = handleType
    self.avatar = avatar
  }
}

/// What a push payload says about where it was written.
public struct PayloadConversation: Equatable, Sendable {
  public var id: String
  public var name: String?
  public var isGroup: Bool
  /// Of a group: who else is there, neither the sender nor the user.
  public var recipientCount: Int?
  /// Of a picture.
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
