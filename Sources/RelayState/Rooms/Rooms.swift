// SPDX-License-Identifier: Apache-2.0
import RelayDelivery
package import RelayHub
import RelayJSON
package import RelayProtocol
import RelayRequests
package import RelayStore

/// Loads rooms into the hub and forgets them. The hub owns the rooms and their members. This object owns the edits, the
/// quotes, and the idempotency keys of live rooms.
///
/// The state is private. The relay creates one object, and the methods run on the hub's thread.
package final class Rooms {
  /// The rooms that are being loaded.
  private var loads: [RoomID: Task<RoomHandle?, any Error>] = [:]
  /// The number of joins to each room that the store has not completed yet.
  private var joins: [RoomID: Int] = [:]
  /// The number of changes of calls in the rooms that are being loaded. A read that began before may be outdated.
  private var changedCalls: [RoomID: Int] = [:]
  /// True while the rows of deleted rooms are being deleted.
  private var isSweeping = false
  /// The changes of messages in the rooms in memory, if there were any.
  private var changes: [RoomHandle: RoomChanges] = [:]
  /// The two people of the direct rooms in memory.
  private var pairs: [RoomHandle: RoomPair] = [:]
  /// The newest replies with a quote of the rooms in memory, if there are any.
  private var quotes: [RoomHandle: QuoteTrail] = [:]
  /// The idempotency keys of rooms that keep nothing.
  private var liveKeys = LiveKeys()

  package let memory: RoomMemory
  package let access: Access
  package let people: People
  let invitations: Invitations
  let backends: Backends

  package init(
    _ memory: RoomMemory, _ access: Access, _ people: People, _ invitations: Invitations, _ backends: Backends
  ) {
    (self.memory, self.access, self.people) = (memory, access, people)
    (self.invitations, self.backends) = (invitations, backends)
  }

  /// True if a request needs a room, or a room is being loaded.
  /// - Parameter kept: How often each room is retained for another reason, such as a call that rings.
  package func isBusy(besides kept: [RoomID: Int]) -> Bool {
    !loads.isEmpty || memory.isInUse(besides: kept)
  }

  /// Forgets a room that the hub has removed from memory.
  package func forget(_ room: RoomHandle) {
    memory.forget(room)
    changes[room] = nil
    pairs[room] = nil
    quotes[room] = nil
  }

  // MARK: Loading

  /// Loads a stored room with its members. Returns `nil` if it does not exist. The caller retains the room.
  package func load(_ room: RoomID, on core: isolated Core) async throws -> RoomHandle? {
    if let handle = core.hub.room(room) { return handle }
    let task = loads[room] ?? Task { try await self.read(room, on: core) }
    loads[room] = task
    defer {
      loads[room] = nil
      changedCalls[room] = nil
    }
    return try await task.value
  }

  /// A call has changed in a room that is not in memory.
  package func noteCall(in room: RoomID) {
    if loads[room] != nil { changedCalls[room, default: 0] += 1 }
  }

  private func read(_ room: RoomID, on core: isolated Core) async throws -> RoomHandle? {
    people.beginReading()
    defer { people.endReading() }
    let since = people.newestChange
    let (deletedBefore, callsBefore) = (memory.removals, changedCalls[room])
    let found = try await core.store.read { reader in
      guard let snapshot = try reader.rooms.snapshot(room) else { return nil as (RoomSnapshot, [MessageHead], [Call])? }
      let calls = try reader.calls.open(in: room, limit: LoadedRoom.maxCalls)
      return (snapshot, try reader.messages.undecided(in: room), calls)
    }
    // A first join may have made the room during the read.
    if let handle = core.hub.room(room) { return handle }
    guard let (snapshot, undecided, calls) = found else { return nil }
    let newer = try await people.newerRecords(of: snapshot.members.map(\.user.id), since: since, on: core)
    // Checked again: a first join, or another load, may have made the room during the second read.
    if let handle = core.hub.room(room) { return handle }
    guard deletedBefore == memory.removals, callsBefore == changedCalls[room] else {
      return try await read(room, on: core)
    }
    let state = snapshot.state
    let handle = make(room, epoch: state.epoch, seq: state.seq, cursor: state.cursor, on: core)
    core.hub.setReadOnly(snapshot.isReadOnly, handle)
    if let pair = snapshot.pair { setPair(pair, of: handle, on: core) }
    if snapshot.change > 0 { changes[handle] = RoomChanges(newest: snapshot.changed, change: snapshot.change) }
    for member in snapshot.members {
      let user = people.adopt(newer[member.user.id] ?? member.record, on: core)
      core.hub.restoreMember(
        user, of: handle, read: member.read, received: member.received, role: member.role,
        restrictedUntil: member.restrictedUntil)
      core.hub.release(user)
    }
    for message in undecided {
      core.hub.restoreMessage(message.seq, time: message.time, from: core.hub.user(message.traits.from), in: handle)
    }
    core.publish(.loaded(LoadedRoom(handle: handle, undecided: undecided, calls: calls)))
    core.hub.resume(handle)
    return handle
  }

  /// Returns a room that is stored or in memory. Throws ``StoreError/noRoom(_:)``. The caller retains the room.
  package func existing(_ room: RoomID, on core: isolated Core) async throws -> RoomHandle {
    guard let handle = try await memory.policy(of: room, on: core).isStored ? load(room, on: core) : core.hub.room(room)
    else { throw StoreError.noRoom(room) }
    return handle
  }

  /// Returns a room in memory, or loads it for a member. Returns `nil` for other users if the room is not in memory.
  /// The caller retains the room.
  package func room(_ room: RoomID, for member: UserID, on core: isolated Core) async throws -> RoomHandle? {
    if let handle = core.hub.room(room) { return handle }
    guard memory.policy(of: room, on: core).isStored,
      try await core.store.read({ try $0.rooms.isMember(member, of: room) })
    else { return nil }
    return try await load(room, on: core)
  }

  /// Returns the room in memory. If it is not in memory, makes it with the policy of the first pattern that matches.
  package func make(
    _ room: RoomID, epoch: String, seq: Int64 = 0, cursor: Int64 = 0, on core: isolated Core
  ) -> RoomHandle {
    if let handle = core.hub.room(room) { return handle }
    let policy = core.settings.rooms.policy(for: room)
    let handle = core.hub.makeRoom(room, epoch: epoch, seq: seq, cursor: cursor, traits: policy.traits)
    configure(handle, policy, on: core)
    return handle
  }

  // MARK: Policies

  /// Applies new settings to the rooms in memory, except for `isStored`: members and messages cannot move between
  /// memory and disk.
  package func applySettings(on core: isolated Core) {
    for (handle, known) in memory.all {
      guard let room = core.hub.name(of: handle) else { continue }
      var policy = core.settings.rooms.policy(for: room)
      if policy.isStored != known.isStored {
        policy.history = known.history
        policy.pushes = known.pushes
      }
      configure(handle, policy, on: core)
      if policy.can != known.can { access.withdraw(in: handle, on: core) }
    }
  }

  private func configure(_ room: RoomHandle, _ policy: RoomPolicy, on core: isolated Core) {
    let limits = core.settings.limits
    memory.set(policy, of: room)
    core.hub.configure(
      room, traits: pairs[room] == nil ? policy.traits : policy.traits.union(.pair),
      memberList: policy.memberList ?? limits.memberList,
      maxMembers: policy.members ?? limits.membersPerRoom)
  }

  // MARK: Direct rooms

  private func setPair(_ pair: RoomPair?, of room: RoomHandle, on core: isolated Core) {
    pairs[room] = pair
    if let policy = memory.policy(of: room) { configure(room, policy, on: core) }
  }

  /// A user is being erased, so the other people of direct rooms do not see the name any more.
  func forgetPairs(of user: UserID, on core: isolated Core) {
    visit(ArraySlice(pairs.keys), on: core) { [self] room in
      if let pair = pairs[room], pair.low == user || pair.high == user { setPair(nil, of: room, on: core) }
    }
  }

  /// The person of a direct room who is no member: the person was only invited, or has left.
  func absentee(of room: RoomHandle, on core: isolated Core) -> UserID? {
    guard let pair = pairs[room] else { return nil }
    return [pair.low, pair.high].first { name in
      core.hub.user(name).map { !core.hub.isMember($0, of: room) } ?? true
    }
  }

  /// The presence entries of the members of a room as a viewer sees them, and the entry of a person of a direct room who
  /// is no member. The entry is that of an unknown user.
  /// - Parameter viewer: Is `nil` for a backend, which sees who is a member.
  package func entries(of room: RoomHandle, seenBy viewer: UserHandle?, on core: isolated Core) -> [UInt8] {
    let members = core.hub.entries(of: room, seenBy: viewer)
    guard viewer != nil, let absentee = absentee(of: room, on: core) else { return members }
    let separator = members.count > 2 ? [UInt8(ascii: ",")] : []
    return Array(members.dropLast()) + separator + Self.unknownEntry(of: absentee) + [UInt8(ascii: "]")]
  }

  /// A page of these entries, in the order of the names.
  package func page(
    of room: RoomHandle, seenBy viewer: UserHandle?, after: UserID?, limit: Int, on core: isolated Core
  ) -> (entries: [UInt8], hasMore: Bool) {
    guard let viewer, let own = core.hub.name(of: viewer), let absentee = absentee(of: room, on: core) else {
      let page = core.hub.entries(of: room, seenBy: viewer, after: after, limit: limit)
      return (page.entries, page.hasMore)
    }
    let names = [own, absentee].sorted().filter { name in after.map { name > $0 } ?? true }
    let entries = names.prefix(limit).map { name in
      // The viewer is the only member.
      name == absentee
        ? Self.unknownEntry(of: absentee) : Array(core.hub.entries(of: room, seenBy: viewer).dropFirst().dropLast())
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

  /// The epoch of a room that a join may have to store again. A room that is being deleted gets a new one, and so does a
  /// room with messages and without members: the store may have deleted it with its last invitation.
  func epochToStore(_ room: RoomID, on core: isolated Core) -> String {
    guard !memory.isBeingDeleted(room), let handle = core.hub.room(room), let position = core.hub.position(of: handle),
      position.seq == 0 || core.hub.memberCount(of: handle) > 0
    else { return RoomMemory.newEpoch() }
    return position.epoch
  }

  /// Deletes the rows of deleted rooms in the background, in slices. Messages are stored in between.
  package func sweep(on core: isolated Core) {
    guard !isSweeping else { return }
    isSweeping = true
    Task {
      defer { isSweeping = false }
      await core.retrySlices { try await core.store.write(rows: RoomWriter.maxSwept) { try $0.rooms.sweepDeleted() } }
    }
  }

  /// True if the store may commit a join before the next message.
  package func isBeingJoined(_ room: RoomID) -> Bool { joins[room] != nil }

  // MARK: Changes of messages

  /// The changes of messages in a room that the hub has published.
  package func changes(of room: RoomHandle) -> RoomChanges { changes[room] ?? RoomChanges() }

  /// Counts a change that the hub publishes now.
  /// - Parameter newest: The newest seq of the room when the change was stored.
  package func count(_ change: ChangedMessage, of room: RoomHandle, newest: Int64) {
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
  package func remember(_ reply: Int64, quoting quote: Quote, in room: RoomHandle) {
    guard memory.policy(of: room) != nil else { return }
    quotes[room, default: QuoteTrail()].add(reply, quoting: quote.seq, of: quote.from)
  }

  /// Forgets the frames of the room before `first`, and the frames up to the newest reply that quotes one of `seqs`.
  /// Clients that join get these messages from the store.
  package func forgetFrames(
    before first: Int64 = 0, quoting seqs: ClosedRange<Int64>, in room: RoomHandle, on core: isolated Core
  ) {
    let newest = quotes[room]?.newestReply(quoting: seqs) ?? 0
    core.hub.trim(room, before: max(first, newest + 1))
  }

  /// Forgets the frames of each room up to the newest reply that quotes an erased user: a quote has the name, and
  /// perhaps the text, of the user.
  func forgetQuotes(of user: UserID, on core: isolated Core) {
    visit(ArraySlice(quotes.keys), on: core) { [self] room in
      let newest = quotes[room]?.newestReply(quoting: user) ?? 0
      if newest > 0 { core.hub.trim(room, before: newest + 1) }
    }
  }

  /// Calls `work` with each room, in as many turns of the hub's loop as are needed.
  private func visit(
    _ rooms: ArraySlice<RoomHandle>, on core: isolated Core,
    _ work: @escaping (RoomHandle) -> Void
  ) {
    for room in rooms.prefix(Self.roomsPerTurn) { work(room) }
    let left = rooms.dropFirst(Self.roomsPerTurn)
    guard !left.isEmpty else { return }
    Task { visit(left, on: core, work) }
  }

  /// The number of rooms that one turn of the hub's loop looks at.
  private static let roomsPerTurn = 1_000

  // MARK: Keys

  /// Keeps the remaining time of all keys.
  package func clockWasSet(by step: Duration) { liveKeys.clockWasSet(by: step) }

  /// The first message that a live room has shown for an idempotency key.
  package func firstMessage(for key: LiveKeys.Key, at now: Timestamp) -> LiveKeys.First? {
    liveKeys.first(key, at: now)
  }

  package func remember(_ key: LiveKeys.Key, seq: Int64, time: Timestamp, at now: Timestamp) {
    liveKeys.remember(key, seq: seq, time: time, at: now)
  }
}
