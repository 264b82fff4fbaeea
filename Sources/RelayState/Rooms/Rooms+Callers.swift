// SPDX-License-Identifier: Apache-2.0
package import RelayHub
package import RelayIdentity
import RelayJSON
package import RelayProtocol
package import RelayRequests
import RelayStore

extension Rooms {
  /// Checks that the caller may use the room of a request, and retains the room until the matching ``RoomMemory/release(_:on:)``.
  ///
  /// The declaration decides: its ``Declaration/room`` must be a ``RoomUse/Scope/joined`` or a
  /// ``RoomUse/Scope/member``.
  /// Throws `not_joined`, `not_found`, and `forbidden` if the caller lacks a right.
  package func admit(_ request: Request, _ declaration: Declaration, on core: isolated Core) async throws -> RoomAccess
  {
    guard let use = declaration.room else { preconditionFailure("the command declares no use of a room") }
    let room = try request.room
    memory.retain(room)
    do {
      let handle = try await self.room(request, room, needsSession: use.scope == .joined, on: core)
      let rights = access.rights(of: request.caller, in: room, on: core)
      try use.check(rights, of: request.caller, in: room, at: request.fields.pointer(to: "room"))
      return RoomAccess(room: room, handle: handle, rights: rights)
    } catch {
      memory.release(room, on: core)
      throw error
    }
  }

  private func room(
    _ request: Request, _ room: RoomID, needsSession: Bool, on core: isolated Core
  ) async throws -> RoomHandle {
    switch request.caller {
    case .backend: return try await existing(room, on: core)
    case .session(let caller) where needsSession:
      guard let handle = core.hub.room(room), core.hub.isJoined(caller.session, to: handle) else {
        throw HubRefusal.notThere
      }
      return handle
    case .session, .user, .reporter:
      let name = try request.caller.me
      let handle = try await self.room(room, for: name, on: core)
      guard let handle, let member = core.hub.user(name), core.hub.isMember(member, of: handle) else {
        throw RequestError(.notJoined, "you are not a member of the room", at: request.fields.pointer(to: "room"))
      }
      return handle
    }
  }

  /// The rights of a user who may not be a member yet. Reads the store only if the rights depend on the membership. The
  /// caller retains the room.
  package func rights(
    _ permissions: Permissions, of user: UserHandle, joining room: RoomID, on core: isolated Core
  ) async throws -> Rights {
    let rights = access.rights(permissions, in: room, isMember: false, on: core)
    guard access.rights(permissions, in: room, on: core) != rights else { return rights }
    guard let name = core.hub.name(of: user) else { throw HubRefusal.gone }
    let handle = try await self.room(room, for: name, on: core)
    var isMember = handle.map { core.hub.isMember(user, of: $0) } ?? false
    // An invited user has the rights of a member.
    if !isMember { isMember = try await core.store.read { try $0.invitations.isInvited(name, to: room) } }
    return access.rights(permissions, in: room, isMember: isMember, on: core)
  }

  /// Loads the room of a user who changes the membership of another user. Throws `forbidden` unless the caller is a
  /// moderator. The caller of the method retains the room.
  package func moderated(_ room: RoomID, _ request: Request, on core: isolated Core) async throws -> RoomAccess {
    guard let name = request.caller.owner else { preconditionFailure("a backend needs no role") }
    let handle = try await self.room(room, for: name, on: core)
    let rights = access.rights(of: request.caller, in: room, on: core)
    guard let handle, let user = core.hub.user(name), core.hub.isMember(user, of: handle), rights.contains(.moderate)
    else {
      throw RequestError(
        .forbidden, "only a moderator may do this with another user", at: request.fields.pointer(to: "user"))
    }
    return RoomAccess(room: room, handle: handle, rights: rights)
  }

  /// Throws `restricted` if a moderator has restricted the caller, or if only moderators send to the room. A backend
  /// always sends.
  package func checkMaySend(_ access: RoomAccess, _ request: Request, on core: isolated Core) throws(RequestError) {
    try checkIsNotRestricted(access, request, on: core)
    guard core.hub.isReadOnly(access.handle), !access.rights.contains(.moderate) else { return }
    throw RequestError(
      .restricted, "the room is read-only: only moderators and owners send", at: request.fields.pointer(to: "room"))
  }

  /// Throws `restricted` if a moderator has restricted the caller.
  package func checkIsNotRestricted(
    _ access: RoomAccess, _ request: Request, on core: isolated Core
  ) throws(RequestError) {
    guard let user = request.caller.owner.flatMap(core.hub.user),
      let until = core.hub.restriction(of: user, in: access.handle)
    else { return }
    throw RequestError(
      .restricted, "a moderator has restricted you in this room, see `until`", at: request.fields.pointer(to: "room"),
      until: until)
  }

  /// Throws `unsupported` if the room keeps no messages.
  package func checkKeeps(_ access: RoomAccess, _ request: Request, on core: isolated Core) throws(RequestError) {
    guard memory.policy(of: access.room, on: core).isStored else {
      throw RequestError(
        .unsupported, "a room that keeps nothing has no messages to change", at: request.fields.pointer(to: "room"),
        status: 422)
    }
  }
}
