// SPDX-License-Identifier: Apache-2.0
import RelayDelivery
package import RelayHub
import RelayJSON
package import RelayProtocol
import RelayStore

/// Loads rooms into the hub and forgets them. The hub owns the rooms and their members. This object owns the policies,
/// the edits, the quotes, the retained rooms, and the idempotency keys of live rooms.
///
/// The state is private. The relay creates one object, and the methods run on the hub's thread.
package final class Rooms {
  /// The rooms that are being loaded.
  private var loads: [RoomID: Task<RoomHandle?, any Error>] = [:]
  /// The number of requests that need a room to stay in memory.
  private var retained: [RoomID: Int] = [:]
  /// The number of joins to each room that the store has not completed yet.
  private var joins: [RoomID: Int] = [:]
  /// The number of deletions of each room that the store has not completed yet.
  private var deletions: [RoomID: Int] = [:]
  /// The number of changes of calls in the rooms that are being loaded. A read that began before may be outdated.
  private var changedCalls: [RoomID: Int] = [:]
  /// The number of rooms that were deleted in this run. A read of a room that began before may be outdated.
  private var deleted = 0
  /// True while the rows of deleted rooms are being deleted.
  private var isSweeping = false
  /// The policies of the rooms in memory.
  private var policies: [RoomHandle: RoomPolicy] = [:]
  /// The changes of messages in the rooms in memory, if there were any.
  private var changes: [RoomHandle: RoomChanges] = [:]
  /// The two people of the direct rooms in memory.
  private var pairs: [RoomHandle: RoomPair] = [:]
  /// The newest replies with a quote of the rooms in memory, if there are any.
  private var quotes: [RoomHandle: QuoteTrail] = [:]
  /// The idempotency keys of rooms that keep nothing.
  private var liveKeys = LiveKeys()

  /// True if a request needs a room, or a room is being loaded.
  /// - Parameter kept: The number of calls of ``retain(_:)`` for another reason, such as a call that rings.
  func isBusy(besides kept: [RoomID: Int]) -> Bool {
    !loads.isEmpty || retained.contains { room, count in count > kept[room, default: 0] }
  }

  // MARK: Memory

  /// Keeps a stored room in memory until the matching ``release(_:on:)``. A request retains a room before it loads it.
  /// The hub removes live rooms itself, even if they are retained.
  func retain(_ room: RoomID) { retained[room, default: 0] += 1 }

  /// Ends a ``retain(_:)``. The end of the last one removes a stored room without members from memory.
  func release(_ room: RoomID, on relay: isolated Relay) {
    guard let count = retained[room] else { return }
    retained[room] = count == 1 ? nil : count - 1
    guard count == 1, let handle = relay.hub.room(room), policies[handle]?.isStored == true,
      relay.hub.memberCount(of: handle) == 0
    else { return }
    // The store may have deleted the room with its last member. A room in memory would look as if it existed.
    relay.hub.unload(handle)
  }

  /// Removes a room that no session has joined from memory, unless a request needs it.
  func forgetIdle(_ room: RoomHandle, on relay: isolated Relay) {
    guard let name = relay.hub.name(of: room), retained[name] == nil else { return }
    relay.hub.unload(room)
  }

  /// Forgets a room that the hub has removed from memory.
  package func forget(_ room: RoomHandle) {
    policies[room] = nil
    changes[room] = nil
    pairs[room] = nil
    quotes[room] = nil
  }

  // MARK: Loading

  /// Loads a stored room with its members. Returns `nil` if it does not exist. The caller retains the room.
  package func load(_ room: RoomID, on relay: isolated Relay) async throws -> RoomHandle? {
    if let handle = relay.hub.room(room) { return handle }
    let task = loads[room] ?? Task { try await self.read(room, on: relay) }
    loads[room] = task
    defer {
      loads[room] = nil
      changedCalls[room] = nil
    }
    return try await task.value
  }

  /// A call has changed in a room that is not in memory.
  func noteCall(in room: RoomID) {
    if loads[room] != nil { changedCalls[room, default: 0] += 1 }
  }

  private func read(_ room: RoomID, on relay: isolated Relay) async throws -> RoomHandle? {
    relay.people.beginReading()
    defer { relay.people.endReading() }
    let since = relay.people.newestChange
    let (deletedBefore, callsBefore) = (deleted, changedCalls[room])
    let found = try await relay.store.read { reader in
      guard let snapshot = try reader.rooms.snapshot(room) else { return nil as (RoomSnapshot, [MessageHead], [Call])? }
      let calls = try reader.calls.open(in: room, limit: LoadedRoom.maxCalls)
      return (snapshot, try reader.messages.undecided(in: room), calls)
    }
    // A first join may have made the room during the read.
    if let handle = relay.hub.room(room) { return handle }
    guard let (snapshot, undecided, calls) = found else { return nil }
    let newer = try await relay.people.newerRecords(of: snapshot.members.map(\.user.id), since: since, on: relay)
    // Checked again: a first join, or another load, may have made the room during the second read.
    if let handle = relay.hub.room(room) { return handle }
    guard deletedBefore == deleted, callsBefore == changedCalls[room] else { return try await read(room, on: relay) }
    let state = snapshot.state
    let handle = make(room, epoch: state.epoch, seq: state.seq, cursor: state.cursor, on: relay)
    relay.hub.setReadOnly(snapshot.isReadOnly, handle)
    if let pair = snapshot.pair { setPair(pair, of: handle, on: relay) }
    if snapshot.change > 0 { changes[handle] = RoomChanges(newest: snapshot.changed, change: snapshot.change) }
    for member in snapshot.members {
      let user = relay.people.adopt(newer[member.user.id] ?? member.record, on: relay)
      relay.hub.restoreMember(
        user, of: handle, read: member.read, received: member.received, role: member.role,
        restrictedUntil: member.restrictedUntil)
      relay.hub.release(user)
    }
    for message in undecided {
      relay.hub.restoreMessage(message.seq, time: message.time, from: relay.hub.user(message.traits.from), in: handle)
    }
    relay.follow(.loaded(LoadedRoom(handle: handle, undecided: undecided, calls: calls)))
    relay.hub.resume(handle)
    return handle
  }

  /// Returns a room that is stored or in memory. Throws ``StoreError/noRoom(_:)``. The caller retains the room.
  package func existing(_ room: RoomID, on relay: isolated Relay) async throws -> RoomHandle {
    guard let handle = try await policy(of: room, on: relay).isStored ? load(room, on: relay) : relay.hub.room(room)
    else { throw StoreError.noRoom(room) }
    return handle
  }

  /// Returns a room in memory, or loads it for a member. Returns `nil` for other users if the room is not in memory.
  /// The caller retains the room.
  package func room(_ room: RoomID, for member: UserID, on relay: isolated Relay) async throws -> RoomHandle? {
    if let handle = relay.hub.room(room) { return handle }
    guard policy(of: room, on: relay).isStored, try await relay.store.read({ try $0.rooms.isMember(member, of: room) })
    else { return nil }
    return try await load(room, on: relay)
  }

  /// Returns the room in memory. If it is not in memory, makes it with the policy of the first pattern that matches.
  package func make(
    _ room: RoomID, epoch: String, seq: Int64 = 0, cursor: Int64 = 0, on relay: isolated Relay
  ) -> RoomHandle {
    if let handle = relay.hub.room(room) { return handle }
    let policy = relay.settings.rooms.policy(for: room)
    let handle = relay.hub.makeRoom(room, epoch: epoch, seq: seq, cursor: cursor, traits: policy.traits)
    configure(handle, policy, on: relay)
    return handle
  }

  static func newEpoch() -> String {
    String(UInt64.random(in: 1...UInt64.max), radix: 36)
  }

  // MARK: Policies

  /// Returns the current policy of a room in memory, or that of the first pattern that matches.
  package func policy(of room: RoomID, on relay: isolated Relay) -> RoomPolicy {
    relay.hub.room(room).flatMap { policies[$0] } ?? relay.settings.rooms.policy(for: room)
  }

  /// The policy of a room in memory.
  package func policy(of room: RoomHandle) -> RoomPolicy? { policies[room] }

  /// Applies new settings to the rooms in memory, except for `isStored`: members and messages cannot move between
  /// memory and disk.
  func applySettings(on relay: isolated Relay) {
    for (handle, known) in policies {
      guard let room = relay.hub.name(of: handle) else { continue }
      var policy = relay.settings.rooms.policy(for: room)
      if policy.isStored != known.isStored {
        policy.history = known.history
        policy.pushes = known.pushes
      }
      configure(handle, policy, on: relay)
      if policy.can != known.can { relay.access.withdraw(in: handle, on: relay) }
    }
  }

  private func configure(_ room: RoomHandle, _ policy: RoomPolicy, on relay: isolated Relay) {
    let limits = relay.settings.limits
    policies[room] = policy
    relay.hub.configure(
      room, traits: pairs[room] == nil ? policy.traits : policy.traits.union(.pair),
      memberList: policy.memberList ?? limits.memberList,
      maxMembers: policy.members ?? limits.membersPerRoom)
  }

  // MARK: Direct rooms

  private func setPair(_ pair: RoomPair?, of room: RoomHandle, on relay: isolated Relay) {
    pairs[room] = pair
    if let policy = policies[room] { configure(room, policy, on: relay) }
  }

  /// A user is being erased, so the other people of direct rooms do not see the name any more.
  func forgetPairs(of user: UserID, on relay: isolated Relay) {
    visit(ArraySlice(pairs.keys), on: relay) { room, relay in
      let rooms = relay.rooms
      if let pair = rooms.pairs[room], pair.low == user || pair.high == user {
        rooms.setPair(nil, of: room, on: relay)
      }
    }
  }

  /// The person of a direct room who is no member: the person was only invited, or has left.
  func absentee(of room: RoomHandle, on relay: isolated Relay) -> UserID? {
    guard let pair = pairs[room] else { return nil }
    return [pair.low, pair.high].first { name in
      relay.hub.user(name).map { !relay.hub.isMember($0, of: room) } ?? true
    }
  }

  /// The presence entries of the members of a room as a viewer sees them, and the entry of a person of a direct room who
  /// is no member. The entry is that of an unknown user.
  /// - Parameter viewer: Is `nil` for a backend, which sees who is a member.
  func entries(of room: RoomHandle, seenBy viewer: UserHandle?, on relay: isolated Relay) -> [UInt8] {
    let members = relay.hub.entries(of: room, seenBy: viewer)
    guard viewer != nil, let absentee = absentee(of: room, on: relay) else { return members }
    let separator = members.count > 2 ? [UInt8(ascii: ",")] : []
    return Array(members.dropLast()) + separator + Self.unknownEntry(of: absentee) + [UInt8(ascii: "]")]
  }

  /// A page of these entries, in the order of the names.
  func page(
    of room: RoomHandle, seenBy viewer: UserHandle?, after: UserID?, limit: Int, on relay: isolated Relay
  ) -> (entries: [UInt8], hasMore: Bool) {
    guard let viewer, let own = relay.hub.name(of: viewer), let absentee = absentee(of: room, on: relay) else {
      let page = relay.hub.entries(of: room, seenBy: viewer, after: after, limit: limit)
      return (page.entries, page.hasMore)
    }
    let names = [own, absentee].sorted().filter { name in after.map { name > $0 } ?? true }
    let entries = names.prefix(limit).map { name in
      // The viewer is the only member.
      name == absentee
        ? Self.unknownEntry(of: absentee) : Array(relay.hub.entries(of: room, seenBy: viewer).dropFirst().dropLast())
    }
    return (Array("[".utf8) + entries.joined(separator: ",".utf8) + "]".utf8, names.count > limit)
  }

  private static func unknownEntry(of user: UserID) -> [UInt8] {
    JSONWriter.object {
      $0["user"] = user.rawValue
      $0.bool("online", false)
      $0.boolOrNull("isFocused", nil)
    }
  }

  // MARK: Joins under way

  /// Counts a join that the store is about to complete.
  func beginJoin(of room: RoomID) { joins[room, default: 0] += 1 }

  func endJoin(of room: RoomID) {
    guard let count = joins[room] else { return }
    joins[room] = count == 1 ? nil : count - 1
  }

  // MARK: Deletions

  /// True if the room in memory is the room of two people.
  func isPair(_ room: RoomHandle) -> Bool { pairs[room] != nil }

  /// Counts a deletion that the store is about to complete.
  func beginDeletion(of room: RoomID) { deletions[room, default: 0] += 1 }

  func endDeletion(of room: RoomID) {
    deleted += 1
    guard let count = deletions[room] else { return }
    deletions[room] = count == 1 ? nil : count - 1
  }

  /// Records that the store has ended memberships of rooms that may not be in memory. A read of such a room that began
  /// before is outdated.
  func noteRemovals() { deleted += 1 }

  /// The epoch of a room that a join may have to store again. A room that is being deleted gets a new one, and so does a
  /// room with messages and without members: the store may have deleted it with its last invitation.
  func epochToStore(_ room: RoomID, on relay: isolated Relay) -> String {
    guard deletions[room] == nil, let handle = relay.hub.room(room), let position = relay.hub.position(of: handle),
      position.seq == 0 || relay.hub.memberCount(of: handle) > 0
    else { return Self.newEpoch() }
    return position.epoch
  }

  /// Deletes the rows of deleted rooms in the background, in slices. Messages are stored in between.
  func sweep(on relay: isolated Relay) {
    guard !isSweeping else { return }
    isSweeping = true
    Task {
      defer { isSweeping = false }
      await relay.retry {
        while relay.stage != .stopping,
          try await relay.store.write(rows: RoomWriter.maxSwept, { try $0.rooms.sweepDeleted() })
        {}
      }
    }
  }

  /// True if the store may commit a join before the next message.
  func isBeingJoined(_ room: RoomID) -> Bool { joins[room] != nil }

  // MARK: Changes of messages

  /// The changes of messages in a room that the hub has published.
  func changes(of room: RoomHandle) -> RoomChanges { changes[room] ?? RoomChanges() }

  /// Counts a change that the hub publishes now.
  /// - Parameter newest: The newest seq of the room when the change was stored.
  func count(_ change: ChangedMessage, of room: RoomHandle, newest: Int64) {
    changes[room, default: RoomChanges()].append(change, newest: newest)
  }

  /// Keeps the changes that the hub publishes until the matching ``endRead(of:)``.
  func beginRead(of room: RoomHandle) -> RoomChanges.Mark { changes[room, default: RoomChanges()].beginRead() }

  func endRead(of room: RoomHandle) {
    changes[room]?.endRead()
    if changes[room]?.isEmpty == true { changes[room] = nil }
  }

  // MARK: Quotes

  /// Records that the hub keeps the frame of a reply with a quote.
  func remember(_ reply: Int64, quoting quote: Quote, in room: RoomHandle) {
    guard policies[room] != nil else { return }
    quotes[room, default: QuoteTrail()].add(reply, quoting: quote.seq, of: quote.from)
  }

  /// Forgets the frames of the room before `first`, and the frames up to the newest reply that quotes one of `seqs`.
  /// Clients that join get these messages from the store.
  package func forgetFrames(
    before first: Int64 = 0, quoting seqs: ClosedRange<Int64>, in room: RoomHandle, on relay: isolated Relay
  ) {
    let newest = quotes[room]?.newestReply(quoting: seqs) ?? 0
    relay.hub.trim(room, before: max(first, newest + 1))
  }

  /// Forgets the frames of each room up to the newest reply that quotes an erased user: a quote has the name, and
  /// perhaps the text, of the user.
  func forgetQuotes(of user: UserID, on relay: isolated Relay) {
    visit(ArraySlice(quotes.keys), on: relay) { room, relay in
      let newest = relay.rooms.quotes[room]?.newestReply(quoting: user) ?? 0
      if newest > 0 { relay.hub.trim(room, before: newest + 1) }
    }
  }

  /// Calls `work` with each room, in as many turns of the hub's loop as are needed.
  private func visit(
    _ rooms: ArraySlice<RoomHandle>, on relay: isolated Relay,
    _ work: @escaping @Sendable (RoomHandle, isolated Relay) -> Void
  ) {
    for room in rooms.prefix(Self.roomsPerTurn) { work(room, relay) }
    let left = rooms.dropFirst(Self.roomsPerTurn)
    guard !left.isEmpty else { return }
    Task { visit(left, on: relay, work) }
  }

  /// The number of rooms that one turn of the hub's loop looks at.
  private static let roomsPerTurn = 1_000

  // MARK: Keys

  /// Keeps the remaining time of all keys.
  func clockWasSet(by step: Duration) { liveKeys.clockWasSet(by: step) }

  /// The first message that a live room has shown for an idempotency key.
  func firstMessage(for key: LiveKeys.Key, at now: Timestamp) -> LiveKeys.First? { liveKeys.first(key, at: now) }

  package func remember(_ key: LiveKeys.Key, seq: Int64, time: Timestamp, at now: Timestamp) {
    liveKeys.remember(key, seq: seq, time: time, at: now)
  }
}
