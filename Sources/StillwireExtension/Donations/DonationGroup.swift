// SPDX-License-Identifier: Apache-2.0
// The group of the interactions that an app and its service extension donate. Has no dependency on Apple's frameworks.
public import RelayProtocol

/// The interactions of one conversation of one account: `INInteraction.groupIdentifier`. An app deletes all of them at
/// once, for example when the person leaves the room.
public struct DonationGroup: Hashable, Sendable {
  /// The account on this phone. Is `nil` if the payload does not name it.
  public var account: UserID?
  /// The id of the conversation, as in ``PayloadConversation/id``: the name of the room for a message.
  public var conversation: String

  public init(account: UserID?, conversation: String) {
    self.account = account
    self.conversation = conversation
  }

  /// `stillwire/`, the account, `/` and the conversation. The name of an account has no `/`.
  public var identifier: String { "stillwire/\(account?.rawValue ?? "")/\(conversation)" }
}
