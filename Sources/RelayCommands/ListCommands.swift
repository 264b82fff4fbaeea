// SPDX-License-Identifier: Apache-2.0

// The lists of an operator: all sessions, users and rooms. `ListPushes` lists the push queue.

import RelayHub
import RelayJSON
import RelayProtocol
import RelayRequests
import RelayState
import RelayStore

private enum ListFields {
  /// The number of objects of the hub that a request visits before others run.
  static let slice = 512

  static func prefix(_ meaning: String) -> Field<String?> {
    .made(
      "prefix", maxLength: RoomID.maxLength, "the beginning of a name: 1 to 255 of A-Z a-z 0-9 and -_.:@!|+=~", meaning
    ) { NameRange.isPrefix($0) ? $0 : nil }
  }
}

/// Lists the open sessions of all users.
struct ListAllSessions: Command {
  private static let prefix = ListFields.prefix("Only sessions of users whose names begin with this text.")
  private static let room = Field<RoomID?>.name("room", "Only sessions that have joined this room.")

  package static let declaration = Declaration(
    "GET", "/v1/sessions", by: .backend, fields: [Self.prefix, Self.room, ListSessions.after, SharedFields.limit],
    reach: .everything)

  private let range: NameRange
  private let room: RoomID?
  private let limit: Int
  /// The last session of the page before.
  private let after: SessionHandle?

  init(_ request: Request) throws(RequestError) {
    range = NameRange(prefix: try Self.prefix.value(in: request))
    room = try Self.room.value(in: request)
    limit = try SharedFields.limit.value(in: request)
    after = try ListSessions.after.value(in: request).map(SessionHandle.init(rawValue:))
  }

  package func run(_ relay: Relay, on core: isolated Core) async throws -> Reply {
    if let after, !core.hub.hasExisted(after) {
      throw RequestError(
        .badRequest, "the relay does not know this session: begin with the first page", at: "/after")
    }
    var found: [(user: UserID, session: OpenSession)] = []
    var position = after.map(HubPosition.init(after:))
    while true {
      let slice = core.hub.sessions(after: position, count: ListFields.slice)
      found += slice.handles.compactMap { entry($0, on: core) }
      position = slice.next
      // One session more than the page shows whether there are more.
      guard position != nil, found.count <= limit else { break }
      await Task.yield()
    }
    return Reply { [found] in
      $0.array("sessions") { list in
        for (user, session) in found.prefix(limit) {
          list.object { $0.members(of: session, user) }
        }
      }
      $0.bool("more", found.count > limit)
    }
  }

  /// Is `nil` for a session outside of the list.
  private func entry(_ session: SessionHandle, on core: isolated Core) -> (user: UserID, session: OpenSession)? {
    if let room {
      guard let room = core.hub.room(room), core.hub.isJoined(session, to: room) else { return nil }
    }
    guard let user = core.hub.user(of: session).flatMap(core.hub.name(of:)), range.contains(user.rawValue),
      let facts = core.hub.facts(of: session)
    else { return nil }
    return (user, facts)
  }
}

/// Lists the users whom the store knows.
struct ListUsers: Command {
  private static let prefix = ListFields.prefix("Only users whose names begin with this text.")
  private static let online = Field<Bool>.flag("online", "true: only users who are online.")
  private static let after = Field<UserID?>.name("after", "The last user of the page before.")

  package static let declaration = Declaration(
    "GET", "/v1/users", by: .backend, fields: [Self.prefix, Self.online, Self.after, SharedFields.limit],
    reach: .everything)

  private let prefix: String?
  private let isOnline: Bool
  private let limit: Int
  /// The last user of the page before.
  private let after: UserID?

  init(_ request: Request) throws(RequestError) {
    prefix = try Self.prefix.value(in: request)
    isOnline = try Self.online.value(in: request)
    limit = try SharedFields.limit.value(in: request)
    after = try Self.after.value(in: request)
  }

  package func run(_ relay: Relay, on core: isolated Core) async throws -> Reply {
    // One user more than the page has shows if there are more.
    let found = try await core.store.read { [prefix, isOnline, after, limit] reader in
      isOnline
        ? try reader.people.onlineUsers(after: after, in: NameRange(prefix: prefix), limit: limit + 1)
        : try reader.people.users(in: NameRange(prefix: prefix, after: after?.rawValue), limit: limit + 1)
    }
    guard let found else {
      throw RequestError(.badRequest, "after is not a user, or the user was erased", at: "/after")
    }
    let shown = found.prefix(limit).map { user in
      let handle = core.hub.user(user.id)
      return (
        user: user, isOnline: handle.map(core.hub.isOnline) ?? false, sessions: handle.map(core.hub.sessionCount) ?? 0,
        isSuspended: relay.restrictions.suspension(of: user.id, on: core) != nil
      )
    }
    return Reply {
      $0.array("users") { list in
        for (user, isOnline, sessions, isSuspended) in shown {
          list.object {
            $0["user"] = user.id.rawValue
            $0["name"] = user.name
            $0.bool("online", isOnline)
            if !isOnline { $0.integer("lastSeen", user.lastSeen?.rawValue) }
            $0.integer("sessions", sessions)
            $0.integer("devices", user.devices)
            if isSuspended { $0.bool("suspended", true) }
          }
        }
      }
      $0.bool("more", found.count > limit)
    }
  }
}

/// Lists all rooms: those of the store, and the live rooms in memory.
struct ListAllRooms: Command {
  private static let prefix = ListFields.prefix("Only rooms whose names begin with this text.")
  private static let after = Field<RoomID?>.name("after", "The last room of the page before.")
  private static let recent = Field<Bool>.flag(
    "recent",
    "true: only the stored rooms with the newest messages, the newest first. Not together with `prefix` or `after`.")

  package static let declaration = Declaration(
    "GET", "/v1/rooms", by: .backend, fields: [Self.prefix, Self.recent, Self.after, SharedFields.limit],
    reach: .everything)

  private let range: NameRange
  private let isRecent: Bool
  private let limit: Int

  init(_ request: Request) throws(RequestError) {
    let prefix = try Self.prefix.value(in: request)
    let after = try Self.after.value(in: request)
    range = NameRange(prefix: prefix, after: after?.rawValue)
    isRecent = try Self.recent.value(in: request)
    limit = try SharedFields.limit.value(in: request)
    if isRecent, prefix != nil || after != nil {
      throw request.fields.wrong("recent", "must not come together with prefix or after")
    }
  }

  package func run(_ relay: Relay, on core: isolated Core) async throws -> Reply {
    if isRecent {
      let recent = try await core.store.read { [limit] in try $0.rooms.recentRooms(limit: limit) }
      return reply(recent.map { entry($0, on: core) }, hasMore: false)
    }
    // One room more than the page has shows if there are more.
    let live = await liveRooms(limit + 1, on: core)
    let stored = try await core.store.read { [range, limit] in try $0.rooms.rooms(in: range, limit: limit + 1) }
    // A room whose pattern has changed may be in both.
    let names = Set(stored.map(\.room))
    let entries =
      (stored.map { entry($0, on: core) }
      + live.filter { !names.contains($0) }.map { entry($0, on: core) }).sorted { $0.room < $1.room }
    return reply(entries.prefix(limit), hasMore: entries.count > limit)
  }

  private func reply(_ entries: some Sequence<RoomEntry>, hasMore: Bool) -> Reply {
    let entries = Array(entries)
    return Reply {
      $0.array("rooms") { list in
        for entry in entries { list.object { $0.members(of: entry) } }
      }
      $0.bool("more", hasMore)
    }
  }

  /// The first live rooms of the range, in the order of their names.
  private func liveRooms(_ count: Int, on core: isolated Core) async -> [RoomID] {
    var first = FirstNames<RoomID>(in: range, max: count)
    var position: HubPosition?
    while true {
      let slice = core.hub.liveRooms(after: position, count: ListFields.slice)
      for room in slice.handles { if let name = core.hub.name(of: room) { first.add(name) } }
      position = slice.next
      guard position != nil else { return first.names }
      await Task.yield()
    }
  }

  private func entry(_ room: ListedRoom, on core: isolated Core) -> RoomEntry {
    let sessions = core.hub.room(room.room).map(core.hub.sessionCount(in:)) ?? 0
    return RoomEntry(
      room: room.room, kind: room.kind, title: room.title, seq: room.seq, members: room.members, sessions: sessions,
      isStored: true)
  }

  /// A room that has ended meanwhile is empty. It stays in the page, because the next page begins after the last entry.
  private func entry(_ room: RoomID, on core: isolated Core) -> RoomEntry {
    let handle = core.hub.room(room)
    return RoomEntry(
      room: room, kind: .group, title: nil, seq: handle.flatMap { core.hub.position(of: $0)?.seq } ?? 0,
      members: handle.map { core.hub.memberCount(of: $0) } ?? 0,
      sessions: handle.map { core.hub.sessionCount(in: $0) } ?? 0, isStored: false)
  }
}

/// A room in the list of all rooms.
private struct RoomEntry: Sendable {
  var room: RoomID
  var kind: RoomKind
  var title: String?
  var seq: Int64
  var members: Int
  var sessions: Int
  var isStored: Bool
}

extension JSONWriter.Object {
  fileprivate mutating func members(of entry: RoomEntry) {
    self["room"] = entry.room.rawValue
    self["kind"] = entry.kind.rawValue
    self["title"] = entry.title
    integer("seq", entry.seq)
    integer("members", entry.members)
    integer("sessions", entry.sessions)
    bool("stored", entry.isStored)
  }
}

/// The first names of a range among names in any order. Pure.
struct FirstNames<N: Name> {
  private let range: NameRange
  private let max: Int
  /// At most `max` names, in their order.
  private(set) var names: [N] = []

  init(in range: NameRange, max: Int) {
    self.range = range
    self.max = max
  }

  mutating func add(_ name: N) {
    guard range.contains(name.rawValue) else { return }
    if names.count == max {
      guard let last = names.last, name < last else { return }
      names.removeLast()
    }
    var (low, high) = (0, names.count)
    while low < high {
      let middle = (low + high) / 2
      if names[middle] < name { low = middle + 1 } else { high = middle }
    }
    names.insert(name, at: low)
  }
}
