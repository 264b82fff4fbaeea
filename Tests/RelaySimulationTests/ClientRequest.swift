// SPDX-License-Identifier: Apache-2.0
import RelayDelivery
import RelayProtocol

/// A request of a client. Times are relative to the time of the request, so that it can be replayed in another run.
enum ClientRequest: Sendable {
  case join(RoomID, after: After, history: Int)
  case leave(RoomID, stays: Bool)
  /// Creates a group. The user becomes its owner.
  case create(RoomID)
  case govern(RoomID, Governance)
  case send(RoomID, key: Int?, PushOptions)
  /// The message that is `back` messages before the newest one that the client knows.
  case received(RoomID, back: Int)
  case read(RoomID, back: Int)
  case activity(Activity)
  case history(RoomID, back: Int, limit: Int)
  case edit(RoomID, back: Int)
  case delete(RoomID, back: Int)
  case react(RoomID, back: Int, key: Int)
  case unreact(RoomID, back: Int, key: Int)
  /// Pins a message, or ends its pin.
  case pin(RoomID, back: Int, Bool)
  /// Without users, all silenced users.
  case notify(RoomID, back: Int, users: [UserID]?)
  /// A request about the call that is `back` calls before the newest one of the room.
  case call(RoomID, Call.Action, back: Int)
  case register(DeviceID, Registration)
  case forget(DeviceID)
  case focus(DeviceID, Bool?, FocusAuthorization, Stamp)
  /// Without `allow`, no filter is active.
  case filter(DeviceID, allow: [String]?, Stamp)
  case prefer(Preference)
  case block(UserID)
  case unblock(UserID)
  case watch(UserID)
  /// Opens or dismisses the notification that is `back` notifications before the newest one on the device.
  case respond(DeviceID, back: Int, isDismissal: Bool)
}

/// The sender's options for the pushes of a message.
struct PushOptions: Hashable, Sendable {
  var isRequested = true
  var isCall = false
  var level = Level.active
  var criteria: String?
  /// Is `nil` for the default.
  var lifetime: Duration?
  var mentions: [UserID] = []
  /// The message is a reply to the one that is this many messages before the newest one.
  var replyBack: Int?
  var reports = false
  /// The sender of the answered message, unless it is the sender of this one.
  var answered: UserID?

  /// True if the message mentions the user, or answers a message of the user.
  func mention(_ user: UserID) -> Bool { mentions.contains(user) || answered == user }

  func expires(from time: Timestamp) -> Timestamp {
    time + (lifetime ?? (isCall ? .seconds(45) : .seconds(28 * 24 * 3600)))
  }
}

/// A device's registration.
struct Registration: Hashable, Sendable {
  let token: Int
  var criteria: String?
  var allowsAlerts = true
  var allowsTimeSensitive = true
  /// True if the device has a token for calls.
  var rings = false
}

/// The time and the number of a report. Each is `nil` when the report has none.
struct Stamp: Hashable, Sendable {
  /// Relative to the present time.
  var at: Duration?
  var number: Number?

  enum Number: Hashable, Sendable {
    /// Relative to the number of the device's newest report.
    case next(Int64)
    /// The device's clock in milliseconds, which is ahead by this.
    case clock(ahead: Duration)
  }
}

/// One change of preferences.
enum Preference: Sendable {
  case onFocus(SilenceMode)
  case level(RoomID, RoomLevel, lasts: Duration?)
  case label(RoomID, String?)
  /// Without hours, none.
  case quietHours(QuietHoursOptions?)
  case shareFocus(Audience)
  case shareOnline(Audience)
}

/// Quiet hours near the time of the request.
struct QuietHoursOptions: Hashable, Sendable {
  /// The first minute, relative to the present one. `minutes` is the length.
  let start: Int
  let minutes: Int
  let zone: World.Zone
  /// The days on which they begin, relative to the day of the first minute.
  let days: ClosedRange<Int>
  let mode: SilenceMode
}

extension ClientRequest {
  /// The room of the request.
  var room: RoomID? {
    switch self {
    case .join(let room, _, _), .leave(let room, _), .send(let room, _, _), .received(let room, _),
      .read(let room, _), .history(let room, _, _), .edit(let room, _), .delete(let room, _), .notify(let room, _, _),
      .react(let room, _, _), .unreact(let room, _, _), .pin(let room, _, _), .call(let room, _, _), .create(let room),
      .govern(let room, _):
      room
    case .activity, .register, .forget, .focus, .filter, .prefer, .block, .unblock, .watch, .respond: nil
    }
  }

  /// True if the session must have joined the room.
  var needsRoom: Bool {
    switch self {
    case .join, .call, .create, .govern: false
    default: room != nil
    }
  }

  /// The other user whose membership the request changes.
  var governed: UserID? { if case .govern(_, let request) = self { request.user } else { nil } }

  /// The device of the request.
  var device: DeviceID? {
    switch self {
    case .register(let device, _), .forget(let device), .focus(let device, _, _, _), .filter(let device, _, _),
      .respond(let device, _, _):
      device
    default: nil
    }
  }

  /// True if the request needs an existing message.
  var needsMessage: Bool { if case .notify = self { true } else { changesMessage } }

  /// True if the request may change an existing message.
  var changesMessage: Bool {
    switch self {
    case .edit, .delete, .react, .unreact, .pin: true
    default: false
    }
  }

  /// True if a client repeats the request when the reply is late, and the repetition has the effect of one request.
  var isRepeatable: Bool {
    switch self {
    case .send(_, let key, _): key != nil
    case .join, .received, .read, .history, .activity, .focus, .filter: true
    default: false
    }
  }

  var back: Int {
    switch self {
    case .received(_, let back), .read(_, let back), .history(_, let back, _), .edit(_, let back),
      .delete(_, let back), .notify(_, let back, _), .react(_, let back, _), .unreact(_, let back, _),
      .pin(_, let back, _), .call(_, _, let back), .respond(_, let back, _):
      back
    default: 0
    }
  }

  /// The kind of the request, for the tally.
  var name: String {
    switch self {
    case .call(_, let action, _): action.rawValue
    case .govern(_, let request): request.type
    case .respond(_, _, let isDismissal): isDismissal ? "dismiss" : "open"
    case .pin(_, _, let isPinned): isPinned ? "pin" : "unpin"
    default: String("\(self)".prefix { $0 != "(" })
    }
  }
}
