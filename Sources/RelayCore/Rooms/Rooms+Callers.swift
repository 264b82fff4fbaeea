// SPDX-License-Identifier: Apache-2.0
package import RelayHub
import RelayIdentity
import RelayJSON
package import RelayProtocol
import RelayStore

/// A room in memory, with the rights of the caller that requested it.
package struct Place {
  package let room: RoomID
  package let handle: RoomHandle
  package let rights: Rights
}

extension Rooms {
  /// Returns the room of a request, and pins it until the matching ``unpin(_:on:)``.
  ///
  /// A session has to have joined the room, and a user has to be a member. Throws `not_joined`, `not_found`, and
  /// `forbidden` if the caller lacks a right.
  package func enter(_ request: Request, needs needed: Rights = [], on relay: isolated Relay) async throws -> Place {
    let room = try request.room
    pin(room)
    do {
      let handle = try await self.room(request, room, on: relay)
      let rights = relay.access.rights(of: request.caller, in: room, on: relay)
      try rights.check(needed, in: room, at: request.fields.pointer(to: "room"))
      return Place(room: room, handle: handle, rights: rights)
    } catch {
      unpin(room, on: relay)
      throw error
    }
  }

  private func room(_ request: Request, _ room: RoomID, on relay: isolated Relay) async throws -> RoomHandle {
    switch request.caller {
    case .backend, .reporter: return try await existing(room, on: relay)
    case .session(let caller):
      guard let handle = relay.hub.room(room), relay.hub.isJoined(caller.session, to: handle) else {
        throw HubRefusal.notThere
      }
      return handle
    case .user(let user):
      let handle = try await self.room(room, for: user.id, on: relay)
      guard let handle, let member = relay.hub.user(user.id), relay.hub.isMember(member, of: handle) else {
        throw RequestError(.notJoined, "you are no member of the room", at: "/path/room")
      }
      return handle
    }
  }

  /// Throws `unsupported` if the room keeps no messages.
  func checkKeeps(_ place: Place, _ request: Request, on relay: isolated Relay) throws(RequestError) {
    guard policy(of: place.room, on: relay).isStored else {
      throw RequestError(
        .unsupported, "a room that keeps nothing has no messages to change", at: request.fields.pointer(to: "room"),
        status: 422)
    }
  }
}
