// SPDX-License-Identifier: Apache-2.0
import RelayDelivery
import RelayProtocol

/// What a client asks the relay. Times are from when it is asked, so that it means as much in another course.
enum Ask: Sendable {
  case join(RoomID, after: After, history: Int)
  case leave(RoomID, stays: Bool)
  case send(RoomID, key: Int?, PushWish)
  /// `back` messages before the newest that the client has heard of.
  case received(RoomID, back: Int)
  case read(RoomID, back: Int)
  case activity(Activity)
  case history(RoomID, back: Int, limit: Int)
  case edit(RoomID, back: Int)
  case delete(RoomID, back: Int)
  /// nil: all who were quiet.
  case notify(RoomID, back: Int, users: [UserID]?)
  case register(DeviceID, Registration)
  case forget(DeviceID)
  case focus(DeviceID, Bool?, FocusAuthorization, Stamp)
  /// nil: none is active.
  case filter(DeviceID, allow: [String]?, Stamp)
  case prefer(Preference)
  case block(UserID)
  case unblock(UserID)
  case watch(UserID)
}

/// What a sender asks of the pushes of a message.
struct PushWish: Hashable, Sendable {
  var isAsked = true
  var isCall = false
  var level = Level.active
  var criteria: String?
  /// nil: the default.
  var lifetime: Duration?
  var mentions: [UserID] = []
  /// An answer to the newest message but so many.
  var replyBack: Int?
  var reports = false

  func expires(from time: Timestamp) -> Timestamp {
    time + (lifetime ?? (isCall ? .seconds(45) : .seconds(28 * 24 * 3600)))
  }
}

/// What a device says of itself.
struct Registration: Hashable, Sendable {
  let token: Int
  var criteria: String?
  var allowsAlerts = true
  var allowsTimeSensitive = true
  /// It has a token for calls.
  var rings = false
}

/// How a report says when it was made; nil: not at all.
struct Stamp: Hashable, Sendable {
  /// From now.
  var at: Duration?
  /// From the number of the device's newest report.
  var number: Int64?
}

/// One change of preferences.
enum Preference: Sendable {
  case onFocus(SilenceMode)
  case level(RoomID, RoomLevel, lasts: Duration?)
  case label(RoomID, String?)
  /// nil: none.
  case quietHours(QuietWish?)
  case shareFocus(Audience)
  case shareOnline(Audience)
}

/// Quiet hours near the time at which they are asked for.
struct QuietWish: Hashable, Sendable {
  /// From this minute on, so many minutes.
  let start: Int
  let minutes: Int
  let zone: World.Zone
  /// Of the day before the first: on which days they begin.
  let days: ClosedRange<Int>
  let mode: SilenceMode
}

extension Ask {
  /// The room that it is about.
  var room: RoomID? {
    switch self {
    case .join(let room, _, _), .leave(let room, _), .send(let room, _, _), .received(let room, _),
      .read(let room, _), .history(let room, _, _), .edit(let room, _), .delete(let room, _), .notify(let room, _, _):
      room
    case .activity, .register, .forget, .focus, .filter, .prefer, .block, .unblock, .watch: nil
    }
  }

  /// Whether the session has to have joined the room.
  var needsRoom: Bool {
    if case .join = self { false } else { room != nil }
  }

  /// The device that it is about.
  var device: DeviceID? {
    switch self {
    case .register(let device, _), .forget(let device), .focus(let device, _, _, _), .filter(let device, _, _): device
    default: nil
    }
  }

  /// Whether it needs a message to be about.
  var needsMessage: Bool {
    switch self {
    case .edit, .delete, .notify: true
    default: false
    }
  }

  var back: Int {
    switch self {
    case .received(_, let back), .read(_, let back), .history(_, let back, _), .edit(_, let back),
      .delete(_, let back), .notify(_, let back, _):
      back
    default: 0
    }
  }

  /// Its kind, for the tally.
  var name: String { String("\(self)".prefix { $0 != "(" }) }
}
