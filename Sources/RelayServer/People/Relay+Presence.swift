// SPDX-License-Identifier: Apache-2.0
import RelayHub
import RelayIdentity
import RelayJSON
import RelayProtocol
import RelayStore

/// Presence of people and of rooms, as it may be seen.
extension Relay {
  func presence(_ request: HubRequest, _ user: UserHandle) async throws {
    let fields = request.fields
    let entries: [UInt8]
    // Read before `users`: a value of a wrong type is an error, although `users` takes precedence.
    let named: RoomID? = try fields.name("room")
    if let users: [UserID] = try fields.names("users", most: 256) {
      entries = JSONWriter.array(
        try await self.entries(of: users, seenBy: user, permissions(of: request.session)))
    } else {
      let name = try fields.required("room", named)
      guard let room = hub.room(name), hub.isJoined(request.session, to: room) else { throw HubRefusal.notThere }
      try check(.presence, of: rights(of: request.session, in: name), in: name, at: "/room")
      guard !hub.facts(of: room, for: nil).isLarge else {
        throw RequestError(.tooLarge, "the room has more members than `memberList`")
      }
      entries = hub.entries(of: room, seenBy: user)
    }
    hub.noteTold(request.session)
    finish(request) { $0.raw("presence", entries) }
  }

  /// The users' entries as `viewer` may see them; nil: an API key, which sees all. Throws `forbidden` for one with whom
  /// no room is shared and who may not be watched.
  func entries(
    of users: [UserID], seenBy viewer: UserHandle?, _ permissions: Permissions
  ) async throws -> [[UInt8]] {
    if let viewer { try spend(.request, of: viewer, count: users.count / Self.namesPerRead) }
    let handles = try await retain(users)
    defer { handles.forEach(hub.release) }
    guard let viewer else { return handles.map { hub.entry(of: $0, seenBy: nil, isRelated: true) ?? [] } }
    let relatives = try await relatives(of: viewer, permissions, among: users)
    return try zip(users, handles).map { name, handle in
      let isSeen = sees(handle, name, by: viewer, relatives)
      if !isSeen { try checkMayWatch(name, permissions) }
      return hub.entry(of: handle, seenBy: viewer, isRelated: isSeen) ?? []
    }
  }
}
