// SPDX-License-Identifier: Apache-2.0
import RelayHub
import RelayProtocol
import RelayStore

/// What sessions may do.
extension Relay {
  /// From now on the session has what its token gives, until that ends.
  func admit(_ session: SessionHandle, as identity: Identity) {
    hub.setExpiry(identity.expires.map { $0 + identityGrace }, of: session)
    guard identity.permissions != .standard, hub.tellEnd(of: session) else {
      permissions[session] = nil
      return
    }
    permissions[session] = identity.permissions
  }

  func rights(of session: SessionHandle, in room: RoomID) -> Rights {
    rights(permissions[session] ?? .standard, in: room)
  }

  func rights(_ permissions: Permissions, in room: RoomID) -> Rights {
    permissions.grants?.rights(in: room) ?? policy(of: room).can
  }

  func rights(of caller: Caller, in room: RoomID) -> Rights {
    switch caller {
    case .backend: [.standard, .moderate]
    case .user(let identity): rights(identity.permissions, in: room)
    }
  }

  /// Throws `forbidden` where one of them is missing.
  func check(_ needed: Rights, of rights: Rights, in room: RoomID, at place: String) throws(RequestError) {
    let missing = needed.subtracting(rights)
    guard missing.isEmpty else {
      throw RequestError(
        .forbidden, "the right \(missing.names.joined(separator: ", ")) is needed in \(room)", at: place)
    }
  }

  /// The rights that the sessions in a room have now are others, since its pattern is.
  func withdraw(in room: RoomHandle) {
    guard let name = hub.name(of: room) else { return }
    for session in hub.sessions(in: room) { withdraw(from: session, in: room, rights(of: session, in: name)) }
  }

  private func withdraw(from session: SessionHandle, in room: RoomHandle, _ rights: Rights) {
    guard !rights.contains(.join) else { return hub.setRights(RoomRights(rights), of: session, in: room) }
    try? hub.leave(session, room)
    let name = hub.name(of: room)
    let error = RequestError(.forbidden, "the right join was withdrawn: this session no longer hears the room")
    hub.push(refusal(nil, error, room: name), to: session)
  }

  /// What the session did with rights that it has no longer ends.
  func withdraw(from session: SessionHandle, _ permissions: Permissions, _ user: UserHandle) {
    for room in hub.rooms(of: session) {
      if let name = hub.name(of: room) { withdraw(from: session, in: room, rights(permissions, in: name)) }
    }
    judgeWatches(of: session, user)
  }
}

extension RoomRights {
  /// What the hub looks at.
  init(_ rights: Rights) {
    self = []
    if rights.contains(.send) { insert(.send) }
    if rights.contains(.presence) { insert(.presence) }
  }
}
