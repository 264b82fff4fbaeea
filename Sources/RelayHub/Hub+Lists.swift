// SPDX-License-Identifier: Apache-2.0
import CRelay

// Lists of all sessions and rooms, in slices that do not stop the loop.

/// A part of a list of all objects of one type. The order of the list is stable: an object that exists during the whole
/// list is in it once.
public struct HubSlice<H: Handle>: Sendable {
  public let handles: [H]
  /// The position of the next slice. Is `nil` in the last one.
  public let next: HubPosition?
}

/// A position in a list of all objects of one type. It stays valid when objects end.
public struct HubPosition: Equatable, Sendable {
  fileprivate let rawValue: UInt64

  /// The position behind a session, which may have ended.
  public init(after session: SessionHandle) { rawValue = session.rawValue }

  fileprivate init?(id: UInt64) {
    guard id != 0 else { return nil }
    rawValue = id
  }
}

extension Hub {
  /// The open sessions of all users.
  /// - Parameters:
  ///   - position: Is `nil` for the first slice.
  ///   - count: The maximum number of sessions to visit.
  public func sessions(after position: HubPosition?, count: Int) -> HubSlice<SessionHandle> {
    slice(after: position, count: count) { relay_sessions_after(hub, $0, $1, $2) }
  }

  /// The rooms that are not stored. The parameters are those of ``sessions(after:count:)``.
  public func liveRooms(after position: HubPosition?, count: Int) -> HubSlice<RoomHandle> {
    slice(after: position, count: count) { relay_live_rooms_after(hub, $0, $1, $2) }
  }

  private func slice<H: Handle>(
    after position: HubPosition?, count: Int,
    _ read: (UnsafeMutablePointer<UInt64>, UnsafeMutablePointer<UInt64>?, Int) -> Int
  ) -> HubSlice<H> {
    var next = position?.rawValue ?? 0
    let ids = [UInt64](unsafeUninitializedCapacity: count) { buffer, filled in
      filled = read(&next, buffer.baseAddress, count)
    }
    return HubSlice(handles: ids.map(H.init(rawValue:)), next: HubPosition(id: next))
  }

  /// True if the handle belongs to a session of this hub, which may have ended.
  public func hasExisted(_ session: SessionHandle) -> Bool { relay_session_has_existed(hub, session.rawValue) }

  /// The user of an open session.
  public func user(of session: SessionHandle) -> UserHandle? {
    UserHandle(id: relay_session_user(hub, session.rawValue))
  }

  /// The number of sessions that have joined a room.
  public func sessionCount(in room: RoomHandle) -> Int { relay_room_sessions(hub, room.rawValue, nil, 0) }

  /// The number of sessions of a user.
  public func sessionCount(of user: UserHandle) -> Int { relay_user_sessions(hub, user.rawValue, nil, 0) }
}
