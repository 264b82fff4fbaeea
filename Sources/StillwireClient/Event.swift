// SPDX-License-Identifier: Apache-2.0
public import RelayProtocol

/// What an app is told, in the order in which it happened.
public enum Event: Equatable, Sendable {
  case stateChanged(ConnectionState)
  /// A room has been joined, or joined again; `isRecovered` is nil the first time.
  case joined(RoomID, Position, isRecovered: Bool?)
  /// A room begins anew here: what was missed cannot be had as a whole.
  case reset(RoomID, Position, ResetReason)
  /// The room is joined no longer. The code is that of a join that was refused for good, or `removed`.
  case left(RoomID, code: String)
  case message(Message)
  /// Who is in a room has changed, or what shows of them.
  case peopleChanged(RoomID, People)
  /// `edited`, `deleted`, `signal`, `receipt`, `delivery`, `member`, `counts`, `room`, `response`, and an `error` that
  /// answers nothing.
  case frame(Frame)
  /// More happened than was taken: what stood here is lost.
  case missed

  public enum ResetReason: String, Sendable {
    /// The room's history had to be abandoned.
    case epoch
    /// More was missed than the relay gives at once, or keeps.
    case gap
  }

  /// The room that it is about; nil: none, or several.
  public var room: RoomID? {
    switch self {
    case .stateChanged, .missed: nil
    case .joined(let room, _, _), .reset(let room, _, _), .left(let room, _), .peopleChanged(let room, _): room
    case .message(let message): message.room
    case .frame(let frame): frame.room
    }
  }
}
