// SPDX-License-Identifier: Apache-2.0
import RelayHub
import RelayIdentity
import RelayJSON
import RelayProtocol
import RelayStore

/// Who is a member of a room, and what they have read.
extension Relay {
  static let memberRoutes = [
    Route(
      "/v1/rooms/{room}/members",
      .called("GET") { relay, call in try await relay.members(call) }),
    Route(
      "/v1/rooms/{room}/members/{user}",
      .called("PUT") { relay, call in try await relay.putMember(call) },
      .called("DELETE") { relay, call in try await relay.deleteMember(call) }),
    Route(
      "/v1/rooms/{room}/read",
      .called("PUT") { relay, call in try await relay.putRead(call) }),
  ]

  /// Members in a page.
  static let mostMembers = 100

  private func members(_ call: HTTPCall) async throws -> HTTPResponse {
    let arguments = try call.request.arguments(numbers: ["limit"], texts: ["after"])
    let limit = try arguments.integer("limit", 1...Int64(Self.mostMembers)).map(Int.init) ?? Self.mostMembers
    let after: UserID? = try arguments.name("after")
    return try await withRoom(call, needs: .presence) { _, handle in
      var viewer: UserHandle?
      if case .user(let identity) = call.caller { viewer = hub.user(identity.id) }
      let page = hub.entries(of: handle, seenBy: viewer, after: after, limit: limit)
      let facts = hub.facts(of: handle, for: viewer)
      return .json(200) {
        $0.raw("members", page.entries)
        $0.bool("more", page.hasMore)
        $0.integer("memberCount", facts.memberCount)
        $0.integer("onlineCount", facts.onlineCount)
      }
    }
  }

  private func putMember(_ call: HTTPCall) async throws -> HTTPResponse {
    let room = try call.room
    let user = try call.user
    pin(room)
    defer { unpin(room) }
    let handle = try await retain(user)
    defer { hub.release(handle) }
    var rights = rights(of: call.caller, in: room)
    if case .user(let identity) = call.caller {
      try spend(.membership, of: handle)
      rights = try await self.rights(identity.permissions, of: handle, joining: room)
    }
    try check(.join, of: rights, in: room, at: "/path/room")
    let joined = try await membership(
      of: handle, in: room, session: nil, rights, at: "/path/room", isBounded: call.caller.owner != nil)
    guard let position = hub.position(of: joined.room) else { throw HubRefusal.gone }
    let facts = hub.facts(of: joined.room, for: handle)
    return .json(joined.isNew ? 201 : 200) {
      $0["room"] = room.rawValue
      $0["user"] = user.rawValue
      $0["epoch"] = position.epoch
      $0.integer("seq", position.seq)
      $0.integer("read", facts.read)
      $0.integer("memberCount", facts.memberCount)
    }
  }

  private func deleteMember(_ call: HTTPCall) async throws -> HTTPResponse {
    let room = try call.room
    let user = try call.user
    pin(room)
    defer { unpin(room) }
    let handle: RoomHandle
    if case .backend = call.caller {
      let found = try await policy(of: room).isStored ? load(room) : hub.room(room)
      guard let found else { throw StoreError.noRoom(room) }
      handle = found
    } else {
      guard let found = try await self.room(room, for: user) else { return HTTPResponse(status: 204) }
      handle = found
    }
    if let member = hub.user(user), hub.isMember(member, of: handle) {
      hub.retain(member)
      defer { hub.release(member) }
      if case .user = call.caller {
        try spend(.membership, of: member)
        try spend(.membership, of: handle)
      }
      // A backend that acts as somebody lets them leave; else it takes them out.
      let byOthers = if case .backend(let acting) = call.caller { acting != user } else { false }
      try await remove(member, from: room, handle, byOthers: byOthers)
    }
    return HTTPResponse(status: 204)
  }

  private func putRead(_ call: HTTPCall) async throws -> HTTPResponse {
    try await withRoom(call, needs: []) { room, handle in
      let fields = try parser.parse(call.request.body)
      let seq = try fields.required("seq", fields.integer("seq", 0...largestInteger))
      let user = try call.actor("user", fields)
      guard let member = hub.user(user), hub.isMember(member, of: handle) else {
        throw RequestError(.notJoined, "\(user) is no member of the room", at: "/path/room")
      }
      guard let newest = hub.position(of: handle)?.seq, seq <= newest else {
        throw fields.wrong("seq", "is above the newest of the room")
      }
      hub.setRead(seq, member, in: handle)
      return .json(200) {
        $0["room"] = room.rawValue
        $0.integer("read", hub.facts(of: handle, for: member).read)
      }
    }
  }
}
