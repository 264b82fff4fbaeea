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
  /// Checks that the caller may use the room of a request, and retains the room until the matching ``release(_:on:)``.
  ///
  /// The declaration decides: its ``Declaration/room`` must be a ``RoomUse/Scope/joined`` or a
  /// ``RoomUse/Scope/member``.
  /// Throws `not_joined`, `not_found`, and `forbidden` if the caller lacks a right.
  func admit(_ request: Request, _ declaration: Declaration, on relay: isolated Relay) async throws -> RoomAccess {
    guard let use = declaration.room else { preconditionFailure("the command declares no use of a room") }
    let room = try request.room
    retain(room)
    do {
      let handle = try await self.room(request, room, needsSession: use.scope == .joined, on: relay)
      let rights = relay.access.rights(of: request.caller, in: room, on: relay)
      try use.check(rights, of: request.caller, in: room, at: request.fields.pointer(to: "room"))
      return RoomAccess(room: room, handle: handle, rights: rights)
    } catch {
      release(room, on: relay)
      throw error
    }
  }

  private func room(
    _ request: Request, _ room: RoomID, needsSession: Bool, on relay: isolated Relay
  ) async throws -> RoomHandle {
    switch request.caller {
    case .backend: return try await existing(room, on: relay)
    case .session(let caller) where needsSession:
      guard let handle = relay.hub.room(room), relay.hub.isJoined(caller.session, to: handle) else {
        throw HubRefusal.notThere
      }
      return handle
    case .session, .user, .reporter:
      let name = try request.caller.me
      let handle = try await self.room(room, for: name, on: relay)
      guard let handle, let member = relay.hub.user(name), relay.hub.isMember(member, of: handle) else {
        throw RequestError(.notJoined, "you are not a member of the room", at: request.fields.pointer(to: "room"))
      }
      return handle
    }
  }

  /// Loads the room of a user who changes the membership of another user. Throws `forbidden` unless the caller is a
  /// moderator. The caller of the method retains the room.
  func moderated(_ room: RoomID, _ request: Request, on relay: isolated Relay) async throws -> RoomAccess {
    guard let name = request.caller.owner else { preconditionFailure("a backend needs no role") }
    let handle = try await self.room(room, for: name, on: relay)
    let rights = relay.access.rights(of: request.caller, in: room, on: relay)
    guard let handle, let user = relay.hub.user(name), relay.hub.isMember(user, of: handle), rights.contains(.moderate)
    else {
      throw RequestError(
        .forbidden, "only a moderator may do this with another user", at: request.fields.pointer(to: "user"))
    }
    return RoomAccess(room: room, handle: handle, rights: rights)
  }

  /// Throws `restricted` if a moderator has restricted the caller, or if only moderators send to the room. A backend
  /// always sends.
  func checkMaySend(_ access: RoomAccess, _ request: Request, on relay: isolated Relay) throws(RequestError) {
    try checkIsNotRestricted(access, request, on: relay)
    guard relay.hub.isReadOnly(access.handle), !access.rights.contains(.moderate) else { return }
    throw RequestError(
      .restricted, "the room is read-only: only moderators and owners send", at: request.fields.pointer(to: "room"))
  }

  /// Throws `restricted` if a moderator has restricted the caller.
  func checkIsNotRestricted(
    _ access: RoomAccess, _ request: Request, on relay: isolated Relay
  ) throws(RequestError) {
    guard let user = request.caller.owner.flatMap(relay.hub.user),
      let until = relay.hub.restriction(of: user, in: access.handle)
    else { return }
    throw RequestError(
      .restricted, "a moderator has restricted you in this room, see `until`", at: request.fields.pointer(to: "room"),
      until: until)
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
