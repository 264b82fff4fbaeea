// SPDX-License-Identifier: Apache-2.0
import Foundation
import RelayHub
import RelayProtocol
import RelayStore

/// Rooms: into memory and out of it, joining, leaving, history.
extension Relay {
  func pin(_ room: RoomID) { pins[room, default: 0] += 1 }

  func unpin(_ room: RoomID) {
    guard let count = pins[room] else { return }
    pins[room] = count == 1 ? nil : count - 1
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
      guard let snapshot = try reader.room(room) else { return nil as (RoomSnapshot, [StoredMessage])? }
      var undecided: [StoredMessage] = []
      var last = snapshot.state.cursor
      while last < snapshot.state.seq, let page = try reader.messages(room, after: last, limit: 1000) {
        undecided += page.messages
        guard let newest = page.messages.last?.seq else { break }
        last = newest
      }
      return (snapshot, undecided)
    }
    // A first join may have made it meanwhile.
    if let handle = hub.room(room) { return handle }
    guard let (snapshot, undecided) = found else { return nil }
    guard !snapshot.members.contains(where: { hasChanged($0.user.id, since: since) }) else {
      return try await read(room)
    }
    let state = snapshot.state
    let handle = hub.makeRoom(
      room, epoch: state.epoch, seq: state.seq, cursor: state.cursor, traits: RoomPolicy(for: room).traits)
    for member in snapshot.members {
      let user = adopt(
        UserRecord(user: member.user, lastSeen: member.lastSeen, focus: member.focus, devices: member.devices))
      hub.restoreMember(user, of: handle, read: member.read, received: member.received)
      hub.release(user)
    }
    for message in undecided {
      hub.restoreMessage(message.seq, time: message.time, from: hub.user(message.from), in: handle)
    }
    hub.resume(handle)
    return handle
  }

  static func newEpoch() -> String {
    String(UInt64.random(in: 1...UInt64.max), radix: 36)
  }

  // MARK: Joining

  func join(_ request: HubRequest, _ user: UserHandle) async throws {
    let room = try request.fields.room
    let after = try request.fields.position
    let newest = Int(try request.fields.integer("history", 0...Int64(limits.history)) ?? 0)
    try hub.checkMayJoin(request.session, hub.room(room))
    pin(room)
    defer { unpin(room) }
    let handle = try await membership(of: user, in: room, session: request.session)
    var found: Replay?
    for _ in 0..<Self.mostReplays where found == nil {
      // Messages that were shown while this one was read are in the hub's tail; when that is too short, again.
      found = try await replay(room, handle, after: after, newest: newest)
    }
    let history = found ?? Replay(messages: .none, isComplete: false)
    guard let position = hub.position(of: handle) else { throw HubRefusal.gone }
    let first = position.seq - Int64(history.messages.count) + 1
    try hub.join(request.session, handle, rights: [.send, .presence], givenFrom: first)
    let facts = hub.facts(of: handle, for: user)
    finish(request) {
      $0["room"] = room.rawValue
      $0["epoch"] = position.epoch
      $0.integer("seq", position.seq)
      $0.integer("read", facts.read)
      if after != nil { $0.bool("recovered", history.isComplete) }
      $0.raw("messages", history.messages.array)
      if !facts.isLarge { $0.raw("members", hub.entries(of: handle)) }
      $0.integer("memberCount", facts.memberCount)
      $0.integer("onlineCount", facts.onlineCount)
    }
  }

  /// The room with the user as a member of it.
  private func membership(of user: UserHandle, in room: RoomID, session: SessionHandle) async throws -> RoomHandle {
    guard RoomPolicy(for: room).isStored else {
      guard hub.isOpen(session) else { throw HubRefusal.gone }
      let handle = hub.room(room) ?? hub.makeRoom(room, epoch: Self.newEpoch(), seq: 0, cursor: 0, traits: [])
      try hub.addMember(user, to: handle)
      return handle
    }
    let loaded = try await load(room)
    if let loaded, hub.isMember(user, of: loaded) { return loaded }
    guard let profile = hub.profile(of: user) else { throw HubRefusal.gone }
    let now = hub.now
    let joined = try await store.write { try $0.join(profile, room: room, epoch: Self.newEpoch(), now: now) }
    let state = joined.record
    let handle =
      hub.room(room)
      ?? hub.makeRoom(
        room, epoch: state.epoch, seq: state.seq, cursor: state.cursor, traits: RoomPolicy(for: room).traits)
    try hub.addMember(user, to: handle)
    return handle
  }

  // MARK: History

  struct Replay {
    var messages: MessagesText
    /// Everything that was asked for by position is there.
    var isComplete: Bool
  }

  /// What a join is given, up to the newest message that the hub has shown; nil: more was shown meanwhile than the
  /// hub's tail holds.
  private func replay(_ room: RoomID, _ handle: RoomHandle, after: Position?, newest: Int) async throws -> Replay? {
    guard let position = hub.position(of: handle) else { throw HubRefusal.gone }
    if let after, after.epoch == position.epoch, after.seq <= position.seq,
      position.seq - after.seq <= Int64(limits.history)
    {
      if let tail = hub.tail(of: handle, after: after.seq) { return Replay(messages: tail, isComplete: true) }
      let from = after.seq
      let page = try await store.read { [limits] in
        try $0.messages(room, after: from, limit: limits.history, mostBytes: Self.mostRecovered)
      }
      if let page, !page.exceeds, !page.more, page.first <= from + 1 || page.newest == from {
        return rest(of: handle, after: page).map { Replay(messages: $0, isComplete: true) }
      }
    }
    guard newest > 0, position.seq > 0, RoomPolicy(for: room).isStored else {
      return Replay(messages: .none, isComplete: false)
    }
    if let tail = hub.tail(of: handle, after: max(0, position.seq - Int64(newest))) {
      return Replay(messages: tail, isComplete: false)
    }
    guard
      let page = try await store.read({
        try $0.messages(room, before: nil, limit: newest).map { $0.bounded(to: Self.mostPaged, keepsNewest: true) }
      })
    else {
      return Replay(messages: .none, isComplete: false)
    }
    return rest(of: handle, after: page).map { Replay(messages: $0, isComplete: false) }
  }

  static let mostRecovered = 512 << 10
  /// A room that is busier than its history can be read gives none.
  static let mostReplays = 3
  /// Bytes of bodies in a page of history; what is over comes with the next page.
  static let mostPaged = 4 << 20

  /// A page as far as it was shown, and what was shown since it was read.
  private func rest(of room: RoomHandle, after page: MessagePage) -> MessagesText? {
    guard let shown = hub.position(of: room)?.seq else { return nil }
    let messages = Replies.text(of: page.messages.filter { $0.seq <= shown })
    guard shown > page.newest else { return messages }
    return hub.tail(of: room, after: page.newest).map { messages + $0 }
  }

  func history(_ request: HubRequest) async throws {
    let room = try request.fields.room
    let query = try HistoryQuery(request.fields, most: limits.history)
    guard let handle = hub.room(room), hub.isJoined(request.session, to: handle) else { throw HubRefusal.notThere }
    let members = try await historyMembers(room, query)
    finish(request, members)
  }

  /// The members of a reply with history; the caller has checked who asks. Throws ``StoreError/noRoom(_:)``.
  func historyMembers(_ room: RoomID, _ query: HistoryQuery) async throws -> (inout JSONWriter.Object) -> Void {
    guard RoomPolicy(for: room).isStored else {
      guard let handle = hub.room(room), let position = hub.position(of: handle) else { throw StoreError.noRoom(room) }
      return {
        $0["epoch"] = position.epoch
        $0.integer("first", position.seq + 1)
        $0.raw("messages", Array("[]".utf8))
        $0.bool("more", false)
      }
    }
    let page = try await store.read { reader in
      let page =
        if let after = query.after { try reader.messages(room, after: after, limit: query.limit) } else {
          try reader.messages(room, before: query.before, limit: query.limit)
        }
      return page.map { $0.bounded(to: Self.mostPaged, keepsNewest: query.after == nil) }
    }
    guard let page else { throw StoreError.noRoom(room) }
    return {
      $0["epoch"] = page.epoch
      $0.integer("first", page.first)
      $0.raw("messages", Replies.text(of: page.messages).array)
      $0.bool("more", page.more)
    }
  }

  // MARK: Leaving

  func leave(_ request: HubRequest, _ user: UserHandle) async throws {
    let room = try request.fields.room
    let stays = try request.fields.bool("stay") ?? false
    pin(room)
    defer { unpin(room) }
    let policy = RoomPolicy(for: room)
    guard let handle = policy.isStored ? try await load(room) : hub.room(room), hub.isMember(user, of: handle) else {
      throw HubRefusal.notThere
    }
    if stays {
      try hub.leave(request.session, handle)
    } else {
      if policy.isStored, let name = hub.name(of: user) {
        _ = try await store.write { try $0.leave(name, room: room) }
      }
      try? hub.removeMember(user, from: handle)  // another session may have left at the same time
    }
    finish(request) { $0["room"] = room.rawValue }
  }
}

extension MessagePage {
  /// Fewer messages, so that their bodies are together at most so many bytes; one at least.
  func bounded(to bytes: Int, keepsNewest: Bool) -> MessagePage {
    var room = bytes
    let ordered = keepsNewest ? messages.reversed() : messages
    let kept = ordered.enumerated().prefix { index, message in
      room -= message.body.count
      return index == 0 || room >= 0
    }
    guard kept.count < messages.count else { return self }
    var page = self
    page.messages = keepsNewest ? messages.suffix(kept.count) : Array(messages.prefix(kept.count))
    page.more = true
    return page
  }
}
