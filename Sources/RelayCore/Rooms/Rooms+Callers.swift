// SPDX-License-Identifier: Apache-2.0
package import RelayHub
import RelayIdentity
import RelayJSON
package import RelayProtocol
import RelayStore

/// A room in memory, with the rights of a caller.
package struct RoomAccess {
  package let room: RoomID
  package let handle: RoomHandle
  package let rights: Rights
}

extension Rooms {
  /// Checks that the caller may use the room of a request, and pins the room until the matching ``unpin(_:on:)``.
  ///
  /// A session must have joined the room, and a user must be a member. Throws `not_joined`, `not_found`, and
  /// `forbidden` if the caller lacks a right.
  package func admit(_ request: Request, needs needed: Rights, on relay: isolated Relay) async throws -> RoomAccess {
    let room = try request.room
    pin(room)
    do {
      let handle = try await self.room(request, room, on: relay)
      let rights = relay.access.rights(of: request.caller, in: room, on: relay)
      try rights.check(needed, in: room, at: request.fields.pointer(to: "room"))
      return RoomAccess(room: room, handle: handle, rights: rights)
    } catch {
      unpin(room, on: relay)
      throw error
    }
  }

  private func room(_ request: Request, _ room: RoomID, on relay: isolated Relay) async throws -> RoomHandle {
    switch request.caller {
    case .backend: return try await existing(room, on: relay)
    case .session(let caller):
      guard let handle = relay.hub.room(room), relay.hub.isJoined(caller.session, to: handle) else {
        throw HubRefusal.notThere
      }
      return handle
    case .user, .reporter:
      let name = try request.caller.me
      let handle = try await self.room(room, for: name, on: relay)
      guard let handle, let member = relay.hub.user(name), relay.hub.isMember(member, of: handle) else {
        throw RequestError(.notJoined, "you are not a member of the room", at: "/path/room")
      }
      return handle
    }
  }

  /// Throws `unsupported` if the room keeps no messages.
  func checkKeeps(_ access: RoomAccess, _ request: Request, on relay: isolated Relay) throws(RequestError) {
    guard policy(of: access.room, on: relay).isStored else {
      throw RequestError(
        .unsupported, "a room that keeps nothing has no messages to change", at: request.fields.pointer(to: "room"),
        status: 422)
    }
  }
}
