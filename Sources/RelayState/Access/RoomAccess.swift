// SPDX-License-Identifier: Apache-2.0
package import RelayHub
package import RelayProtocol

/// A room in memory, with the rights of a caller.
package struct RoomAccess {
  package let room: RoomID
  package let handle: RoomHandle
  package let rights: Rights

  package init(room: RoomID, handle: RoomHandle, rights: Rights) {
    (self.room, self.handle, self.rights) = (room, handle, rights)
  }
}
