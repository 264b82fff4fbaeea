// SPDX-License-Identifier: Apache-2.0
public import RelayProtocol

/// An event for the app. A client delivers events in the order in which they happened.
public enum Event: Equatable, Sendable {
  case stateChanged(ConnectionState)
  /// A room was joined, or joined again after a reconnect. `isRecovered` is true if the relay supplied all missed
  /// messages. It is `nil` after the first join.
  case joined(RoomID, Position, isRecovered: Bool?)
  /// The room continues after a gap: the relay cannot supply all missed messages.
  case reset(RoomID, Position, ResetReason)
  /// The room is no longer joined. The code is `removed`, or that of a join that the relay refused permanently.
  case left(RoomID, code: String)
  case message(Message)
  /// The members of a room or their visible presence have changed.
  case peopleChanged(RoomID, People)
  /// Another user has invited this user, or an invitation has ended.
  case invitation(InvitationEvent)
  /// A frame of type `edited`, `deleted`, `reactions`, `pinned`, `signal`, `receipt`, `delivery`, `member`, `counts`,
  /// `room`, `presence`, `inbox`, `call` or `response`, or an `error` without a request.
  ///
  /// ``RoomEntry`` parses an `inbox` frame with `event` `changed`. With `event` `reset`, the app lists its rooms again.
  /// `CallEvent` parses a `call` frame.
  case frame(Frame)
  /// Events were lost here, because the reader was slower than the limit of its sequence allows.
  case missed

  public enum ResetReason: String, Sendable {
    /// The relay has discarded the room's history, and has begun a new epoch.
    case epoch
    /// The client missed more messages than the relay returns at once, or than it still stores.
    case gap
  }

  /// The room of the event. Is `nil` if the event belongs to no room or to several rooms.
  public var room: RoomID? {
    switch self {
    case .stateChanged, .missed: nil
    case .joined(let room, _, _), .reset(let room, _, _), .left(let room, _), .peopleChanged(let room, _): room
    case .message(let message): message.room
    case .invitation(let change): change.room
    case .frame(let frame): frame.room
    }
  }
}
