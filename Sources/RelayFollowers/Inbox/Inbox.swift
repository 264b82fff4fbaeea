// SPDX-License-Identifier: Apache-2.0
package import RelayDelivery
package import RelayHub
package import RelayJSON
package import RelayProtocol
package import RelayRequests
package import RelayState
package import RelayStore

/// The `inbox` events: the changes in the lists of the users whose sessions have subscribed with `hello`.
///
/// A change in a room wakes the subscribed members. For each of them a reader then reads all changes since the user's
/// position, and moves the position. So a list can be late, but no change is lost, and the newest state wins. The state
/// is private. The relay creates one object, and the methods run on the hub's thread.
package final class Inbox {
  /// The options of a subscription, from `hello`.
  package struct Options: Equatable, Sendable {
    /// The position up to which the client has all changes.
    package var since: InboxPosition?
    package var hasPreview = true
  }

  private struct Subscriber {
    var sessions: [SessionHandle: Options] = [:]
    /// The newest messages that the sessions have got in their lists.
    var shown: [SessionHandle: InboxReceipts] = [:]
    /// All changes up to this position are sent. Is `nil` until the first position is read.
    var position: InboxPosition?
    /// The rooms that the list has lost since the last read.
    var removed: Set<RoomID> = []
  }

  private var subscribers: [UserHandle: Subscriber] = [:]
  private var users: [SessionHandle: UserHandle] = [:]
  /// The rooms whose members must be found.
  private var rooms = ChangeThrottle<RoomHandle>()
  /// The users whose changes must be read.
  private var lists = ChangeThrottle<UserHandle>()
  /// The time at which the rooms without changes were forgotten.
  private var swept = ContinuousClock.now
  /// The next run, and the time at which it begins.
  private var wake: (task: Task<Void, Never>, due: ContinuousClock.Instant)?

  private let access: Access

  package init(_ access: Access) { self.access = access }

  /// The minimum time between two reads for a user, and between two events about a room.
  package static let interval = Duration.seconds(1)
  /// The time after which a room without changes is forgotten, and the minimum time between two scans for such rooms.
  private static let rest = Duration.seconds(60)
  /// The number of members for each second of the interval of a large room.
  private static let membersPerSecond = 10_000
  /// The maximum interval. A room stays in memory longer than this after a change.
  private static let maxInterval = Duration.seconds(30)
  /// The number of members that one turn of the hub's loop looks at, unless a single room has more.
  private static let membersPerTurn = 4_096
  /// The number of reads at the same time.
  private static let maxReads = 4
  /// The maximum number of events of one read. More changes follow in the next read.
  private static let maxEvents = 50

  // MARK: Subscriptions

  /// The begin of a subscription.
  package struct Start: Sendable {
    package let options: Options
    package let position: InboxPosition
    /// True if the client must list its rooms again.
    package let isReset: Bool
  }

  /// Reads the position at which a subscription begins: that of the client, if the changes since then are complete.
  package func start(_ options: Options, of name: UserID, on core: isolated Core) async throws -> Start {
    try await core.store.read { reader in
      guard let since = options.since else {
        return Start(options: options, position: try reader.inbox.position(), isReset: false)
      }
      let isComplete = try reader.inbox.isComplete(of: name, since: since)
      return Start(
        options: options, position: isComplete ? since : try reader.inbox.position(), isReset: !isComplete)
    }
  }

  /// Subscribes an open session. Its first events are the changes since the position.
  package func subscribe(_ session: SessionHandle, of user: UserHandle, _ start: Start, on core: isolated Core) {
    guard core.hub.notifyEnd(of: session) else { return }
    users[session] = user
    subscribers[user, default: Subscriber()].sessions[session] = start.options
    core.hub.setHasInbox(true, of: user)
    // Other sessions of the user may get some changes again.
    let known = subscribers[user]?.position ?? start.position
    let isEarlier = known.epoch == start.position.epoch && known.number < start.position.number
    subscribers[user]?.position = isEarlier ? known : start.position
    listChanged(of: user, on: core)
  }

  /// Ends the subscription of a session that has ended.
  package func forget(_ session: SessionHandle, on core: isolated Core) {
    guard let user = users.removeValue(forKey: session) else { return }
    subscribers[user]?.sessions[session] = nil
    subscribers[user]?.shown[session] = nil
    guard subscribers[user]?.sessions.isEmpty == true else { return }
    subscribers[user] = nil
    lists.forget(user)
    core.hub.setHasInbox(false, of: user)
  }

  /// Forgets a room that the hub has removed from memory.
  package func forget(_ room: RoomHandle) { rooms.forget(room) }

  // MARK: Changes

  var hasSubscribers: Bool { !subscribers.isEmpty }

  /// All members of a room see a change that is stored.
  func roomChanged(_ room: RoomHandle, on core: isolated Core) {
    guard hasSubscribers else { return }
    rooms.change(room, at: .now, interval: interval(of: room, on: core))
    arm(on: core)
  }

  /// One member sees a change that is stored.
  package func listChanged(of user: UserHandle, on core: isolated Core) {
    guard subscribers[user] != nil else { return }
    listChanged(user)
    arm(on: core)
  }

  /// The list of a user has lost a room.
  private func removed(_ room: RoomID, of user: UserHandle, on core: isolated Core) {
    guard subscribers[user] != nil else { return }
    subscribers[user]?.removed.insert(room)
    listChanged(of: user, on: core)
  }

  private func listChanged(_ user: UserHandle) { lists.change(user, at: .now, interval: Self.interval) }

  /// A room with many members is looked at less often.
  private func interval(of room: RoomHandle, on core: isolated Core) -> Duration {
    min(max(Self.interval, .seconds(1) * core.hub.memberCount(of: room) / Self.membersPerSecond), Self.maxInterval)
  }

  // MARK: Runs

  /// Plans the next run.
  private func arm(on core: isolated Core) {
    let reads = lists.running < Self.maxReads ? lists.due : nil
    guard let due = [rooms.due, reads].compactMap({ $0 }).min() else { return }
    if let wake, wake.due <= due { return }
    wake?.task.cancel()
    wake = (
      Task {
        try? await Task.sleep(until: due, clock: .continuous)
        guard !Task.isCancelled else { return }
        wake = nil
        run(on: core)
      }, due
    )
  }

  /// Looks at the members of some rooms, and begins some reads.
  private func run(on core: isolated Core) {
    guard core.stage != .stopping else { return }
    let now = ContinuousClock.now
    var members = 0
    while members < Self.membersPerTurn, let room = rooms.next(at: now) {
      members += max(1, core.hub.memberCount(of: room))
      for user in core.hub.inboxUsers(of: room) { listChanged(user) }
      rooms.end(room, at: now, interval: interval(of: room, on: core))
    }
    if swept < now - Self.rest {
      rooms.forgetResting(before: now - Self.rest)
      swept = now
    }
    while lists.running < Self.maxReads, let user = lists.next(at: now) {
      Task { await read(user, on: core) }
    }
    arm(on: core)
  }

  /// Reads the changes of a user's list, and sends them.
  private func read(_ user: UserHandle, on core: isolated Core) async {
    defer {
      lists.end(user, at: .now, interval: Self.interval)
      if subscribers[user] == nil { lists.forget(user) }
      arm(on: core)
    }
    guard let name = core.hub.name(of: user), let position = subscribers[user]?.position else { return }
    let removed = subscribers[user]?.removed ?? []
    subscribers[user]?.removed = []
    let now = core.hub.now
    do {
      // The reader's thread writes the events, because a preview may need a long body.
      let changes = try await core.store.read { reader in
        let found = try reader.inbox.rooms(of: name, .after(position.number), limit: Self.maxEvents, now: now)
        return Changes(
          events: found.entries.map { Event($0, epoch: found.position.epoch) }, position: found.end, more: found.more)
      }
      send(changes, since: position, removed, to: user, on: core)
    } catch {
      core.logFailure(of: error)
      guard subscribers[user] != nil else { return }
      subscribers[user]?.removed.formUnion(removed)
      listChanged(user)
    }
  }

  /// The result of one read.
  private struct Changes: Sendable {
    let events: [Event]
    let position: InboxPosition
    let more: Bool
  }

  /// A room that has changed, with and without a preview.
  private struct Event: Sendable {
    let room: RoomID
    let seq: Int64
    let text, plain: [UInt8]

    init(_ entry: InboxEntry, epoch: String) {
      let position = InboxPosition(epoch: epoch, number: entry.number)
      room = entry.room
      seq = entry.lastMessage?.seq ?? 0
      text = Replies.inbox(entry, hasPreview: true, position)
      plain = Replies.inbox(entry, hasPreview: false, position)
    }
  }

  private func send(
    _ changes: Changes, since position: InboxPosition, _ removed: Set<RoomID>, to user: UserHandle,
    on core: isolated Core
  ) {
    guard let subscriber = subscribers[user] else { return }
    // A session that has subscribed during the read may have set an earlier position. Its own read follows.
    if subscriber.position == position { subscribers[user]?.position = changes.position }
    if changes.more { listChanged(user) }
    // A room that is in the list again was not removed.
    let gone = removed.subtracting(changes.events.map(\.room)).sorted()
    for (session, options) in subscriber.sessions where core.hub.isOpen(session) {
      var sent: [(RoomID, Int64)] = []
      for event in changes.events {
        // The session gets the events of the rooms that it has joined.
        if let room = core.hub.room(event.room), core.hub.isJoined(session, to: room) { continue }
        let rights = access.rights(of: session, in: event.room, on: core)
        guard InboxList.shows(rights) else { continue }
        let hasPreview = options.hasPreview && StoredText.inboxEvent.isReadable(with: rights)
        core.hub.push(hasPreview ? event.text : event.plain, to: session)
        sent.append((event.room, event.seq))
      }
      if !sent.isEmpty, let number = core.hub.confirm(session) {
        subscribers[user]?.shown[session, default: InboxReceipts()].add(sent, confirmedBy: number)
      }
      for room in gone { core.hub.push(Replies.inbox(removed: room, changes.position), to: session) }
    }
  }
}

extension Inbox: Follower {
  package func follow(_ change: Change, on core: isolated Core) {
    switch change {
    case .sent(let sent): roomChanged(sent.message.handle, on: core)
    case .edited(let change), .deleted(let change, _): roomChanged(change.handle, on: core)
    case .record(_, _, let room, _, _): roomChanged(room, on: core)
    case .joined(let member):
      if member.joined.isNewMember { listChanged(of: member.user, on: core) }
    case .left(let member): removed(member.room, of: member.user, on: core)
    case .roomDeleted(let deleted):
      for user in deleted.members.compactMap(core.hub.user) { removed(deleted.room, of: user, on: core) }
    case .listChanged(let user): listChanged(of: user, on: core)
    case .annotated, .role, .restricted, .call, .invitations, .loaded, .pushed, .heldDue, .person, .userAccess, .marked,
      .erasing:
      break
    }
  }
}

/// The sessions that hold pushes back, as sessions that have joined the room do.
extension Inbox {
  /// Records that a session has received all frames before the ping with this number.
  package func confirm(_ session: SessionHandle, upTo number: Int64) {
    guard let user = users[session] else { return }
    subscribers[user]?.shown[session]?.confirm(upTo: number)
  }

  /// The user's active sessions that have not joined the room, and whose list shows it. A message counts as written when
  /// it was sent to the sessions in the room, because its event follows within seconds.
  package func sessions(
    of user: UserHandle, in room: RoomID, at seq: Int64, shown: Timestamp, on core: isolated Core
  ) -> [SessionFacts] {
    guard let subscriber = subscribers[user] else { return [] }
    return subscriber.sessions.keys.sorted { $0.rawValue < $1.rawValue }.compactMap { session in
      guard core.hub.facts(of: session)?.activity == .active, core.hub.isOpen(session) else { return nil }
      if let handle = core.hub.room(room), core.hub.isJoined(session, to: handle) { return nil }
      guard InboxList.shows(access.rights(of: session, in: room, on: core)) else { return nil }
      let received = subscriber.shown[session]?.received(room) ?? 0
      return SessionFacts(activity: .active, writing: .written(at: shown), hasReceived: received >= seq)
    }
  }
}

extension InboxRooms {
  /// The position after the page of changes.
  package var end: InboxPosition {
    more ? InboxPosition(epoch: position.epoch, number: entries.last?.number ?? position.number) : position
  }
}

extension Replies {
  /// The `inbox` event about a room in the list.
  package static func inbox(_ entry: InboxEntry, hasPreview: Bool, _ position: InboxPosition) -> [UInt8] {
    JSONWriter.object {
      $0["type"] = "inbox"
      $0["event"] = "changed"
      entry.write(to: &$0, hasPreview: hasPreview)
      $0["position"] = position.text
    }
  }

  /// The `inbox` event about a room that the list has lost.
  package static func inbox(removed room: RoomID, _ position: InboxPosition) -> [UInt8] {
    JSONWriter.object {
      $0["type"] = "inbox"
      $0["event"] = "removed"
      $0["room"] = room.rawValue
      $0["position"] = position.text
    }
  }
}

extension Inbox.Options {
  private static let preview = Field<RoomPolicy.Preview?>.choice(
    "preview", "`none`: events without texts of messages. Default: `text`.")
  private static let position = Field<String?>.text(
    "since", maxLength: InboxCursor.maxLength, schema: "InboxCursor",
    """
    The `position` of a page, of a `welcome` or of the newest event: the session gets the changes since then, or the \
    `welcome` has `reset`.
    """)
  package static let field = FieldDeclaration(
    "inbox",
    .value([
      "anyOf": [["type": ["boolean", "null"]], ObjectDeclaration(fields: [position, preview]).schema]
    ]), isNullable: false,
    "true or an object: the session gets `inbox` events for the user's rooms that it has not joined.")

  /// The member `inbox` of `hello`: `true`, or an object. Is `nil` for a session that does not subscribe.
  package init?(hello fields: Fields) throws(RequestError) {
    guard fields.has("inbox"), !fields.isNull("inbox") else { return nil }
    if case .bool(let isOn) = fields.members["inbox"] {
      guard isOn else { return nil }
      self.init()
      return
    }
    guard let options = try fields.object("inbox") else { return nil }
    let preview = try Self.preview.value(in: options)
    let since = try Self.position.value(in: options)
    self.init(since: nil, hasPreview: preview != RoomPolicy.Preview.none)
    guard let since else { return }
    guard let position = InboxPosition(since) else {
      throw options.wrong("since", "must be the `position` of a page or of an event")
    }
    self.since = position
  }
}
