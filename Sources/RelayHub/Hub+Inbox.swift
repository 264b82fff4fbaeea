// SPDX-License-Identifier: Apache-2.0
import CRelay

// The members of a room that get the events of their list of rooms.

extension Hub {
  /// Sets whether a session of the user gets the events of the list of rooms. ``inboxUsers(of:)`` lists such users.
  public func setHasInbox(_ hasInbox: Bool, of user: UserHandle) {
    _ = relay_user_set_has_inbox(hub, user.rawValue, hasInbox)
  }

  /// The members with ``setHasInbox(_:of:)``. The time is proportional to the number of all members.
  public func inboxUsers(of room: RoomHandle) -> [UserHandle] {
    let members = memberCount(of: room)
    return withUnsafeTemporaryAllocation(of: UInt64.self, capacity: members) { buffer in
      let count = relay_room_inbox(hub, room.rawValue, buffer.baseAddress, members)
      return buffer.prefix(count).map(UserHandle.init(rawValue:))
    }
  }
}
