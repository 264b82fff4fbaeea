// SPDX-License-Identifier: Apache-2.0

/// A text that the relay writes into pushes by itself.
///
/// The raw value is the key of the text in the app's own translations. It is English, because an app that has no
/// translation for a key shows the key itself. Each `%@` stands for an argument.
public enum PushTextKey: String, Sendable, CaseIterable {
  case newMessage = "New message"
  case incomingCall = "Incoming call"
  case missedCall = "Missed call"
  case callAnswered = "Answered on another device"
  case callDeclined = "Declined on another device"
  case messageDeleted = "Message deleted"
  case messages = "%@ messages"
  case messagesInRoom = "%@ messages in %@"
  case messagesInRooms = "%@ messages in %@ rooms"
  case invitationToRoom = "%@ invites you to %@"
  case invitationToGroup = "%@ invites you to a group"
  case invitationToWrite = "%@ wants to write to you"

  /// The number of arguments.
  public var argumentCount: Int { rawValue.count { $0 == "@" } }
}
