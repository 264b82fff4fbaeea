// SPDX-License-Identifier: Apache-2.0
package import RelayHub
package import RelayJSON
import RelayProtocol
package import RelayRequests

/// The table of all commands: all operations except the frames in ``hubFrames``, which the hub parses in C.
///
/// The dispatch of frames, the routes of HTTP, and the tests of both documents use it.
package enum Commands {
  package static let all: [any Command.Type] = [
    // Rooms and members
    CreateRoom.self, OpenDirectRoom.self, GetRoom.self, UpdateRoom.self, DeleteRoom.self,
    JoinRoom.self, LeaveRoom.self, ListMembers.self, AddMember.self, RemoveMember.self, SetRole.self,
    SetRead.self, ListRooms.self, ListInvitations.self, AcceptInvitation.self, DeclineInvitation.self,
    // Moderation
    RestrictMember.self, ReportMessage.self, ListReports.self, ListAllReports.self, EndReport.self,
    // Messages
    ReadHistory.self, PostMessage.self, EditMessage.self, DeleteMessage.self, NotifyAnyway.self,
    React.self, Unreact.self, PinMessage.self, UnpinMessage.self, ListPins.self,
    // Calls
    Ring.self, AnswerCall.self, DeclineCall.self, HangUpCall.self, GetCall.self, ListCalls.self,
    // Presence
    QueryPresence.self, GetPresence.self, Watch.self, Unwatch.self,
    // A user's own settings and devices
    SetStatus.self, SetFocus.self, SetFilter.self, GetPreferences.self, SetPreferences.self, Block.self, Unblock.self,
    GetDevice.self, RegisterDevice.self, ForgetDevice.self, RevokeDeviceReportKeys.self, RefreshToken.self,
    // Notifications
    Respond.self, GetCategories.self, SetCategories.self, NotifyUser.self, ExplainDecision.self,
    // Operation
    SetProfile.self, GetAccess.self, SetAccess.self, RevokeReportKeys.self, Disconnect.self, LintPush.self,
    // The path of one push would match `/v1/pushes/retry`, too.
    ListPushes.self, RetryPushes.self, GetPush.self,
    RetryPush.self, GetSimulatedPhone.self, SetSimulatedPhone.self, ListAuditEntries.self, ConfirmClock.self,
    // People, for backends
    ListSessions.self, ListDevices.self, ListAllSessions.self, ListUsers.self, ListAllRooms.self, ExportUser.self,
    EraseUser.self, GetErasure.self,
  ]

  /// The command that does over HTTP what a frame does.
  package static func command(of frame: String) -> (any Command.Type)? {
    frame == "send" ? PostMessage.self : byFrame[frame]
  }

  /// The commands by the type of their frame.
  static let byFrame: [String: any Command.Type] = {
    let frames = all.compactMap { command in command.declaration.frame.map { ($0, command) } }
    return Dictionary(uniqueKeysWithValues: frames)
  }()

  /// The schemas of the objects in requests, by their names.
  package static let objects: [OrderedJSON.Member] = all.flatMap { command in
    command.declaration.fields.flatMap(\.type.namedSchemas)
  }

  /// The types of the frames that the hub passes to the relay, with their rates.
  package static let frames = all.compactMap { command in
    command.declaration.frame.map { RequestType(name: $0, rate: command.declaration.rate) }
  }

  /// The types of the frames that the hub handles itself, or passes to the relay as its own kind of event, such as
  /// `HubEvent.send`. Each has its uses of a room. The hub checks the first one: a session has joined a room only with
  /// the right `join`.
  static let hubFrames: [(name: String, uses: [RoomUse], fields: [any DeclaredField])] = [
    ("hello", [.noRoom], HelloDetails.fields), ("send", PostMessage.uses, []),
    ("signal", [.joined(.send, "a signal")], HubFields.signal),
    ("received", [.joined(.join, "the own received mark")], HubFields.mark),
    ("read", [.joined(.join, "the own read mark")], HubFields.mark),
    ("activity", [.noRoom], [HubFields.activity]), ("ping", [.noRoom], []),
  ]

  /// The members of a frame.
  package static func fields(of frame: String) -> [FieldDeclaration] {
    let declared =
      command(of: frame)?.declaration.fields ?? hubFrames.first { $0.name == frame }?.fields.map(\.declaration)
    return declared?.filter(\.isInFrames) ?? []
  }
}

/// The members of the frames that the hub parses in C, except `hello`.
private enum HubFields {
  static let signal: [any DeclaredField] = [
    SharedFields.room,
    FieldDeclaration("name", .text(minLength: 1, maxLength: 128), isRequired: true, "At most 128 bytes."),
    SharedFields.body,
  ]
  static let mark: [any DeclaredField] = [SharedFields.room, SharedFields.seq]
  static let activity = Field<Activity?>.choice("state", schema: "schemas.json#/Activity").required()
}
