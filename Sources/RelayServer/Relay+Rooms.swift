// SPDX-License-Identifier: Apache-2.0
import Foundation
import RelayDelivery
import RelayHub
import RelayJSON
import RelayProtocol
import RelayStore

/// Rooms: into memory and out of it, joining, leaving, history.
extension Relay {
  func pin(_ room: RoomID) { pins[room, default: 0] += 1 }

  func unpin(_ room: RoomID) {
    guard let count = pins[room] else { return }
    pins[room] = count == 1 ? nil : count - 1
    guard count == 1, let handle = hub.room(room), policies[handle]?.isStored == true, hub.memberCount(of: handle) == 0
    else { return }
    // The store may have deleted the room with its last member. In memory it would look like a room that exists.
    _ = hub.release(handle)
  }

  func forgetIdle(_ room: RoomHandle) {
    guard let name = hub.name(of: room), pins[name] == nil else { return }
    _ = hub.release(room)
  }

  // MARK: Into memory

  /// A stored room with its members, in memory; nil when there is none. The caller has pinned it.
  func load(_ room: RoomID) async throws -> RoomHandle? {
    if let handle = hub.room(room) { return handle }
    let task = loads[room] ?? Task { try await self.read(room) }
    loads[room] = task
    defer { loads[room] = nil }
    return try await task.value
  }

  private func read(_ room: RoomID) async throws -> RoomHandle? {
    beginReading()
    defer { endReading() }
    let since = changes
    let found = try await store.read { reader in
      guard let snapshot = try reader.rooms.snapshot(room) else { return nil as (RoomSnapshot, [MessageHead])? }
      return (snapshot, try reader.messages.undecided(in: room))
    }
    // A first join may have made it meanwhile.
    if let handle = hub.room(room) { return handle }
    guard let (snapshot, undecided) = found else { return nil }
    let newer = try await newerRecords(of: snapshot.members.map(\.user.id), since: since)
    // Once more: a first join, or another load, may have come meanwhile.
    if let handle = hub.room(room) { return handle }
    let state = snapshot.state
    let handle = makeRoom(room, epoch: state.epoch, seq: state.seq, cursor: state.cursor)
    if snapshot.changed > 0 { changedRooms[handle] = RoomChanges(newest: snapshot.changed) }
    for member in snapshot.members {
      let user = adopt(newer[member.user.id] ?? member.record)
      hub.restoreMember(user, of: handle, read: member.read, received: member.received)
      hub.release(user)
    }
    for message in undecided {
      hub.restoreMessage(message.seq, time: message.time, from: hub.user(message.traits.from), in: handle)
      deliveries.stored(
        message.seq, message.traits, at: message.time, in: handle, waits: true,
        isReported: message.reports, on: self)
    }
    hub.resume(handle)
    return handle
  }

  /// Who came into memory, changed and went again while something was read, as they are now.
  private func newerRecords(of users: [UserID], since: Int) async throws -> [UserID: UserRecord] {
    var newer: [UserID: UserRecord] = [:]
    var stale = users.filter { hub.user($0) == nil && hasChanged($0, since: since) }
    while !stale.isEmpty {
      let since = changes
      for record in try await store.read({ [stale] in try $0.people.users(stale) }) { newer[record.user.id] = record }
      stale = stale.filter { hub.user($0) == nil && hasChanged($0, since: since) }
    }
    return newer
  }

  static func newEpoch() -> String {
    String(UInt64.random(in: 1...UInt64.max), radix: 36)
  }

  /// The room in memory; one that is not is loaded only for a member. The caller has pinned it.
  func room(_ room: RoomID, for member: UserID) async throws -> RoomHandle? {
    if let handle = hub.room(room) { return handle }
    guard policy(of: room).isStored, try await store.read({ try $0.rooms.isMember(member, of: room) }) else {
      return nil
    }
    return try await load(room)
  }

  // MARK: Joining

  func join(_ request: HubRequest, _ user: UserHandle) async throws {
    let room = try request.fields.room
    let after = try request.fields.position
    let newest = Int(try request.fields.integer("history", 0...Int64(limits.history)) ?? 0)
    try spend(.membership, of: user)
    pin(room)
    defer { unpin(room) }
    let asked = try await rights(permissions(of: request.session), of: user, joining: room)
    try check(.join, of: asked, in: room, at: "/room")
    try hub.checkMayJoin(request.session, hub.room(room))
    let handle = try await membership(
      of: user, in: room, session: request.session, asked, at: "/room", isBounded: true
    ).room
    var found = asked.contains(.history) ? nil : Replay.nothing
    for _ in 0..<Self.mostReplays where found == nil {
      // Messages that were shown while this one was read are in the hub's tail; when that is too short, again.
      let seen = changedRooms[handle]?.count
      found = try await replay(room, handle, after: after, newest: newest)
      if seen != changedRooms[handle]?.count { found = nil }
    }
    let history = found ?? Replay.nothing
    // The configuration may have been read again since.
    let rights = self.rights(of: request.session, in: room)
    try check(.join, of: rights, in: room, at: "/room")
    guard let position = hub.position(of: handle) else { throw HubRefusal.gone }
    let first = position.seq - Int64(history.messages.count) + 1
    try hub.join(request.session, handle, rights: RoomRights(rights), givenFrom: first)
    tally.count(after == nil ? .notAsked : history.isComplete ? .recovered : .notRecovered)
    let facts = hub.facts(of: handle, for: user)
    finish(request) {
      $0["room"] = room.rawValue
      $0["epoch"] = position.epoch
      $0.integer("seq", position.seq)
      $0.integer("read", facts.read)
      if after != nil { $0.bool("recovered", history.isComplete) }
      $0.raw("messages", history.messages.array)
      if !facts.isLarge, rights.contains(.presence) { $0.raw("members", hub.entries(of: handle, seenBy: user)) }
      $0.integer("memberCount", facts.memberCount)
      if rights.contains(.presence) { $0.integer("onlineCount", facts.onlineCount) }
      // The reply moves the client's position past these changes. As events they could be lost behind it.
      if !history.changes.isEmpty {
        $0.raw("changes", JSONWriter.array(history.changes.map { Replies.change($0, in: room) }))
      }
    }
  }

  /// The room with the user as a member of it. The caller has pinned it.
  /// - Parameters:
  ///   - session: The session that joins. Is `nil` when a backend adds the member.
  ///   - rights: The rights of the caller. Throws `forbidden` when the room is to be made and `create` is missing.
  ///   - place: The room's name in the request.
  ///   - isBounded: True if a new membership counts against the room's rate.
  func membership(
    of user: UserHandle, in room: RoomID, session: SessionHandle?, _ rights: Rights, at place: String,
    isBounded: Bool
  ) async throws -> (room: RoomHandle, isNew: Bool) {
    let policy = policy(of: room)
    guard policy.isStored else {
      guard let session else {
        throw RequestError(
          .unsupported, "a room that keeps nothing has members only while they are connected", status: 422)
      }
      guard hub.isOpen(session) else { throw HubRefusal.gone }
      let handle = makeRoom(room, epoch: Self.newEpoch())
      let isNew = !hub.isMember(user, of: handle)
      if isNew, isBounded { try spend(.membership, of: handle) }
      do {
        try hub.addMember(user, to: handle)
      } catch .tooMany {
        throw StoreError.tooMany(.membersPerRoom)
      }
      if isNew { judgeWatches(of: user) }
      return (handle, isNew)
    }
    let loaded = try await load(room)
    if let loaded, hub.isMember(user, of: loaded) { return (loaded, false) }
    if loaded == nil { try check(.create, of: rights, in: room, at: place) }
    if isBounded, let loaded { try spend(.membership, of: loaded) }
    guard let profile = hub.profile(of: user) else { throw HubRefusal.gone }
    let now = hub.now
    let bounds = MembershipBounds(
      membersPerRoom: policy.members ?? limits.membersPerRoom, roomsPerUser: limits.roomsPerUser)
    // The store may have deleted a room in memory with its last member. It then stores the room with the same epoch.
    let epoch = hub.room(room).flatMap { hub.position(of: $0)?.epoch } ?? Self.newEpoch()
    let mayCreate = rights.contains(.create)
    return try await withCheckedThrowingContinuation { continuation in
      joins[room, default: 0] += 1
      store.submit({
        try $0.rooms.join(profile, room: room, epoch: epoch, now: now, within: bounds, mayCreate: mayCreate)
      }) { [self] result in
        assumeIsolated { relay in
          relay.endJoin(of: room)
          continuation.resume(
            with: Result {
              // The last member may have left since the room was loaded.
              if case .failure(.noRoom) = result { try relay.check(.create, of: rights, in: room, at: place) }
              return try relay.admit(user, profile.id, to: room, result.get())
            })
        }
      }
    }
  }

  /// Adds a stored member to the hub. The completion of the commit calls this, so that the hub adds the member before
  /// the messages that the store has committed after the join.
  private func admit(
    _ user: UserHandle, _ name: UserID, to room: RoomID, _ joined: JoinedRoom
  ) throws(HubRefusal) -> (room: RoomHandle, isNew: Bool) {
    noteChange(of: name)
    let state = joined.record
    let handle = makeRoom(room, epoch: state.epoch, seq: state.seq, cursor: state.cursor)
    if joined.isNewMember {
      forgetWithdrawn(user, from: room)
      try hub.addMember(user, to: handle)
    } else {
      hub.restoreMember(user, of: handle, read: joined.read, received: joined.received)
    }
    judgeWatches(of: user)
    return (handle, joined.isNewMember)
  }

  private func endJoin(of room: RoomID) {
    guard let count = joins[room] else { return }
    joins[room] = count == 1 ? nil : count - 1
  }

  // MARK: History

  struct Replay {
    var messages: MessagesText
    /// True if `messages` and `changes` are all that the client missed since the position that it named.
    var isComplete: Bool
    /// The newest states of messages that the client has, and that may have changed since.
    var changes: [ChangedMessage] = []

    static let nothing = Replay(messages: .none, isComplete: false)
  }

  /// The messages and changes in a reply to `join`, up to the newest message that the hub has shown.
  /// - Returns: `nil` when the hub has shown more messages meanwhile than its tail holds.
  private func replay(_ room: RoomID, _ handle: RoomHandle, after: Position?, newest: Int) async throws -> Replay? {
    guard let position = hub.position(of: handle) else { throw HubRefusal.gone }
    let kept = policy(of: room).history.count
    if let after, after.epoch == position.epoch, after.seq <= position.seq,
      position.seq - after.seq <= Int64(min(limits.history, kept))
    {
      if let changes = try await changedMessages(room, handle, since: after.seq, kept: kept) {
        if let tail = hub.tail(of: handle, after: after.seq) {
          return Replay(messages: tail, isComplete: true, changes: changes)
        }
        let from = after.seq
        let page = try await store.read { [limits] in
          try $0.messages.page(room, after: from, limit: limits.history, kept: kept, mostBytes: Self.mostRecovered)
        }
        if let page, !page.exceeds, !page.more, page.first <= from + 1 || page.newest == from {
          return shown(page, in: handle, newest: .max).map {
            Replay(messages: $0, isComplete: true, changes: changes)
          }
        }
      }
    }
    let newest = min(newest, kept)
    guard newest > 0, position.seq > 0 else {
      return Replay(messages: .none, isComplete: false)
    }
    if let tail = hub.tail(of: handle, after: max(0, position.seq - Int64(newest))) {
      return Replay(messages: tail, isComplete: false)
    }
    guard
      let page = try await store.read({
        try $0.messages.page(room, before: nil, limit: newest, kept: kept, pageBytes: Self.mostRecovered)
      })
    else {
      return Replay(messages: .none, isComplete: false)
    }
    return shown(page, in: handle, newest: Int64(newest)).map { Replay(messages: $0, isComplete: false) }
  }

  /// The messages up to `seq` that may have changed since a client knew the room up to there; `nil` when there are more
  /// than a reply may contain. Reads only when the room has changed since.
  private func changedMessages(
    _ room: RoomID, _ handle: RoomHandle, since seq: Int64, kept: Int
  ) async throws -> [ChangedMessage]? {
    guard seq > 0, let known = changedRooms[handle], known.newest >= seq else { return [] }
    return try await store.read { [limits] in
      try $0.messages.changes(
        room, upTo: seq, kept: kept, limit: limits.history, maxBytes: min(Self.maxChanged, limits.outgoingQueue))
    }
  }

  /// The maximum of bytes of bodies in the `messages` of a reply to `join`.
  static let mostRecovered = 512 << 10
  /// The maximum of bytes of bodies in the `changes` of a reply to `join`. The limit `outgoingQueue` may be lower.
  static let maxChanged = 128 << 10
  /// The maximum of attempts to read the history for a `join`. After them the reply contains no history.
  static let mostReplays = 3
  /// Bytes of bodies in a page of history; the next page continues behind them. A larger page would hold more memory
  /// for each client that does not read.
  static let mostPaged = 256 << 10

  /// The newest messages of a page and of the messages that the hub has shown since the page was read.
  private func shown(_ page: MessagePage, in room: RoomHandle, newest: Int64) -> MessagesText? {
    guard let shown = hub.position(of: room)?.seq else { return nil }
    let before = shown - newest
    let messages = Replies.text(of: page.messages.filter { $0.seq > before && $0.seq <= shown })
    guard shown > page.newest else { return messages }
    return hub.tail(of: room, after: max(page.newest, before)).map { messages + $0 }
  }

  func history(_ request: HubRequest) async throws {
    let room = try request.fields.room
    let query = try HistoryQuery(request.fields, most: limits.history)
    guard let handle = hub.room(room), hub.isJoined(request.session, to: handle) else { throw HubRefusal.notThere }
    try check(.history, of: rights(of: request.session, in: room), in: room, at: "/room")
    let members = try await historyMembers(room, query)
    finish(request, members)
  }

  /// The members of a reply with history. The caller has checked the rights. Throws ``StoreError/noRoom(_:)``.
  func historyMembers(_ room: RoomID, _ query: HistoryQuery) async throws -> (inout JSONWriter.Object) -> Void {
    let kept = policy(of: room).history.count
    guard kept > 0 else {
      guard let handle = hub.room(room), let position = hub.position(of: handle) else { throw StoreError.noRoom(room) }
      return {
        $0["epoch"] = position.epoch
        $0.integer("first", position.seq + 1)
        $0.raw("messages", Array("[]".utf8))
        $0.bool("more", false)
      }
    }
    // The reader's thread writes the text too, so that its size costs the hub's thread a copy at most.
    let found = try await store.read { reader in
      let page =
        if let after = query.after {
          try reader.messages.page(room, after: after, limit: query.limit, kept: kept, pageBytes: Self.mostPaged)
        } else {
          try reader.messages.page(
            room, before: query.before, limit: query.limit, kept: kept, pageBytes: Self.mostPaged)
        }
      return page.map { (epoch: $0.epoch, first: $0.first, more: $0.more, text: Replies.text(of: $0.messages).array) }
    }
    guard let page = found else { throw StoreError.noRoom(room) }
    return {
      $0["epoch"] = page.epoch
      $0.integer("first", page.first)
      $0.raw("messages", page.text)
      $0.bool("more", page.more)
    }
  }

  // MARK: Leaving

  /// Ends a membership, if it is one. The caller has pinned the room.
  func remove(_ user: UserHandle, from room: RoomID, _ handle: RoomHandle, byOthers: Bool = false) async throws {
    guard let name = hub.name(of: user) else { throw HubRefusal.gone }
    guard policy(of: room).isStored else { return dismiss(user, from: handle, byOthers: byOthers) }
    noteChange(of: name)
    try await withCheckedThrowingContinuation { continuation in
      store.submit({ _ = try $0.rooms.leave(name, room: room) }) { [self] result in
        assumeIsolated { relay in
          continuation.resume(
            with: result.map {
              relay.noteChange(of: name)
              relay.dismiss(user, from: handle, byOthers: byOthers)
            })
        }
      }
    }
  }

  /// Removes a member from the hub. The completion of the commit calls this, so that the hub applies joins, leaves and
  /// messages in the order of the store.
  private func dismiss(_ user: UserHandle, from room: RoomHandle, byOthers: Bool) {
    if let name = hub.name(of: room) { forgetWithdrawn(user, from: name) }
    try? hub.removeMember(user, from: room, byOthers: byOthers)  // another session may have left at the same time
    judgeWatches(of: user)
  }

  func leave(_ request: HubRequest, _ user: UserHandle) async throws {
    let room = try request.fields.room
    let stays = try request.fields.bool("stay") ?? false
    try spend(.membership, of: user)
    pin(room)
    defer { unpin(room) }
    guard let name = hub.name(of: user), let handle = try await self.room(room, for: name),
      hub.isMember(user, of: handle)
    else {
      throw HubRefusal.notThere
    }
    if stays {
      try hub.leave(request.session, handle)
    } else {
      try spend(.membership, of: handle)
      try await remove(user, from: room, handle)
    }
    finish(request) { $0["room"] = room.rawValue }
  }
}
