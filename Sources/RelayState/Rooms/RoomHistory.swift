// SPDX-License-Identifier: Apache-2.0
package import RelayHub
package import RelayJSON
package import RelayProtocol
package import RelayRequests
package import RelayStore

/// Reads the history of one room for the replies to `join` and `history`. The caller has checked the rights.
package struct RoomHistory {
  private let room: RoomID
  private let rooms: Rooms
  private var memory: RoomMemory { rooms.memory }

  package init(_ room: RoomID, in rooms: Rooms) { (self.room, self.rooms) = (room, rooms) }

  /// The maximum size of the bodies in the `messages` of a reply to `join`, in bytes.
  static let maxRecovered = 512 << 10
  /// The maximum size of the bodies in the `changes` of a reply to `join`, in bytes. The limit `outgoingQueue` may be
  /// lower.
  package static let maxChanged = 128 << 10
  /// The maximum number of attempts to read the history for a `join`. After them the reply contains no history.
  static let maxReplays = 3
  /// The maximum size of the bodies in a page of history, in bytes. The next page continues after it. A larger page
  /// would take more memory for each client that reads slowly.
  static let maxPaged = 256 << 10

  // MARK: Pages

  /// A request for a part of the history.
  package struct Query {
    package let before: Int64?
    package let after: Int64?
    package let limit: Int

    private static let older = Field<Int64?>.seq("before", from: 0, "Only messages older than this message.")
    private static let newer = Field<Int64?>.seq("after", from: 0, "Only messages newer than this message.")
    /// The limit `history` is the upper bound.
    private static let number = FieldDeclaration(
      "limit", .whole(1...Int64(Limits().history), default: 50), "Maximum number of messages, at most `limits.history`."
    )
    package static let fields: [any DeclaredField] = [older, newer, number]

    package init(_ fields: Fields, max: Int) throws(RequestError) {
      before = try Self.older.value(in: fields)
      after = try Self.newer.value(in: fields)
      limit = Int(try fields.integer("limit", 1...Int64(max)) ?? Int64(min(50, max)))
      guard before == nil || after == nil else { throw fields.wrong("before", "and after exclude each other") }
    }
  }

  /// Reads a page, and returns the members of the reply. It contains no message that the hub has not published yet:
  /// the client receives each one either in a page or as an event after it. Throws ``StoreError/noRoom(_:)``.
  package func page(_ query: Query, on core: isolated Core) async throws -> (inout JSONWriter.Object) -> Void {
    let policy = memory.policy(of: room, on: core)
    let kept = policy.history.count
    let quoting = QuotedParts.preview.within(policy)
    let position = core.hub.room(room).flatMap { core.hub.position(of: $0) }
    guard kept > 0 else {
      guard let position else { throw StoreError.noRoom(room) }
      return {
        $0["epoch"] = position.epoch
        $0.integer("first", position.seq + 1)
        $0.raw("messages", Array("[]".utf8))
        $0.bool("more", false)
      }
    }
    // The reader's thread writes the text, too, so that the hub's thread at most copies it.
    let published = position?.seq ?? maxInteger
    let handle = core.hub.room(room)
    let mark = handle.map { rooms.beginRead(of: $0) }
    defer { if let handle { rooms.endRead(of: handle) } }
    let found = try await core.store.read { [room] reader in
      let page =
        if let after = query.after {
          try reader.messages.page(
            room, after: after, upTo: published, limit: query.limit, kept: kept, pageBytes: Self.maxPaged,
            quoting: quoting)
        } else {
          try reader.messages.page(
            room, before: min(query.before ?? .max, published + 1), limit: query.limit, kept: kept,
            pageBytes: Self.maxPaged, quoting: quoting)
        }
      return page.map { (page: $0, text: Replies.text(of: $0.messages).array) }
    }
    guard case (let page, var text)? = found else { throw StoreError.noRoom(room) }
    if let handle, let mark {
      // The client has got the events of these changes before the page, which must not bring back an earlier text.
      guard let during = rooms.changes(of: handle).changes(since: mark) else {
        throw RequestError(.unavailable, "too many messages of the room have changed during the read")
      }
      if !during.isEmpty { text = Replies.text(of: RoomChanges.apply(during, quoting, to: page.messages)).array }
    }
    return {
      $0["epoch"] = page.epoch
      $0.integer("first", page.first)
      $0.raw("messages", text)
      $0.bool("more", page.more)
    }
  }

  // MARK: Replays

  /// The messages and changes in a reply to `join`.
  package struct Replay {
    /// The messages. One page, unless the client has requested several.
    package var pages: [HistoryPage]
    /// True if newer messages are left, which the client requests.
    package var more = false
    /// True if `pages` and `changes` are all that the client missed between the position that it named and the last
    /// page.
    package var isComplete: Bool
    /// The newest states of the messages that the client has and that may have changed.
    package var changes: [ChangedMessage] = []

    package static let nothing = Replay(pages: [], isComplete: false)

    package var count: Int { pages.reduce(0) { $0 + $1.text.count } }
  }

  /// The position of a client that joins again.
  package struct Since {
    package let after: Position
    /// The newest change that the client has. Is `nil` if the client does not know it.
    package let change: Int64?

    package init(after: Position, change: Int64?) {
      (self.after, self.change) = (after, change)
    }
  }

  /// The part of a `join` request that is about messages.
  package struct JoinQuery {
    package let since: Since?
    /// The number of newest messages, if the relay cannot continue from `since`.
    package let newest: Int
    /// The maximum size of the messages in the reply, in bytes. Is `nil` if the client does not request pages.
    package let maxBytes: Int?

    package init(since: Since?, newest: Int, maxBytes: Int?) {
      (self.since, self.newest, self.maxBytes) = (since, newest, maxBytes)
    }
  }

  /// Reads the messages and changes that a client missed since a position, or the newest messages.
  package func replay(_ handle: RoomHandle, _ query: JoinQuery, on core: isolated Core) async throws -> Replay {
    for _ in 0..<Self.maxReplays {
      // The hub's tail holds the newest frames of the room. The reply combines stored messages, the changes that the hub
      // publishes during the read, and the tail. It reads again if the tail is too short.
      let mark = rooms.beginRead(of: handle)
      defer { rooms.endRead(of: handle) }
      if let found = try await attempt(handle, query, mark, on: core) { return found }
    }
    return .nothing
  }

  /// Reads once, up to the newest message that the hub has published.
  /// - Returns: Is `nil` if the hub has published more messages or changes during the read than it holds.
  private func attempt(
    _ handle: RoomHandle, _ query: JoinQuery, _ mark: RoomChanges.Mark, on core: isolated Core
  ) async throws -> Replay? {
    let hub = core.hub
    let limits = core.settings.limits
    guard let position = hub.position(of: handle) else { throw HubRefusal.gone }
    let policy = memory.policy(of: room, on: core)
    let kept = policy.history.count
    let quoting = QuotedParts.preview.within(policy)
    let maxBytes = query.maxBytes
    if let since = query.since, case let after = since.after, after.epoch == position.epoch, after.seq <= position.seq,
      position.seq - after.seq <= Int64(min(limits.history, kept))
    {
      if let missed = try await changes(handle, since: since, kept: kept, on: core) {
        let from = after.seq
        let frames = tail(of: handle, after: from, kept: kept, fitting: maxBytes, on: core)
        var page: MessagePage?
        if frames == nil {
          page = try await core.store.read { [room] in
            try $0.messages.page(
              room, after: from, limit: limits.history, kept: kept,
              maxBytes: maxBytes == nil ? Self.maxRecovered : nil, pageBytes: maxBytes ?? .max, quoting: quoting)
          }
        }
        guard let during = rooms.changes(of: handle).changes(since: mark) else { return nil }
        if let changes = merged(missed, during, since: since, limits) {
          if let frames { return Replay(pages: frames, isComplete: true, changes: changes) }
          if let page, !page.exceeds, maxBytes != nil || !page.more, page.first <= from + 1 || page.newest == from {
            var replay = shown(page, during, quoting, in: handle, newest: .max, maxBytes: maxBytes, on: core)
            replay?.isComplete = true
            replay?.changes = changes
            return replay
          }
        }
      }
    }
    let newest = min(query.newest, kept)
    guard newest > 0, position.seq > 0 else { return .nothing }
    let first = max(0, position.seq - Int64(newest))
    if let pages = tail(of: handle, after: first, kept: kept, fitting: maxBytes, on: core) {
      return Replay(pages: pages, isComplete: false)
    }
    let found = try await core.store.read { [room] in
      // With pages, the client gets the oldest of these messages first.
      if let maxBytes {
        try $0.messages.page(room, after: first, limit: newest, kept: kept, pageBytes: maxBytes, quoting: quoting)
      } else {
        try $0.messages.page(
          room, before: nil, limit: newest, kept: kept, pageBytes: Self.maxRecovered, quoting: quoting)
      }
    }
    guard let page = found else { return .nothing }
    guard let during = rooms.changes(of: handle).changes(since: mark) else { return nil }
    return shown(page, during, quoting, in: handle, newest: Int64(newest), maxBytes: maxBytes, on: core)
  }

  /// The changes that a client may have missed in the messages that it has. A client that does not name its newest
  /// change gets all changes since its newest message was the newest of the room. Is `nil` if there are more than a
  /// reply may contain, or if the store does not have all of them any more. Reads the store only if the room has had
  /// such changes.
  private func changes(
    _ handle: RoomHandle, since: Since, kept: Int, on core: isolated Core
  ) async throws -> [ChangedMessage]? {
    let seq = since.after.seq
    let limits = core.settings.limits
    let maxBytes = Self.maxChanged(limits)
    let published = rooms.changes(of: handle)
    if let change = since.change {
      guard change < published.change else { return change == published.change ? [] : nil }
      return try await core.store.read { [room] in
        try $0.messages.changes(
          room, upTo: seq, after: change, kept: kept, limit: limits.history, maxBytes: maxBytes)
      }
    }
    guard seq > 0, published.newest >= seq else { return [] }
    return try await core.store.read { [room] in
      try $0.messages.changes(room, upTo: seq, kept: kept, limit: limits.history, maxBytes: maxBytes)
    }
  }

  /// The messages after a seq, if the hub has them all. Forgets frames whose quotes have left the history.
  /// - Parameter maxBytes: If it is not `nil`, the messages must fit into one page.
  private func tail(
    of handle: RoomHandle, after seq: Int64, kept: Int, fitting maxBytes: Int?, on core: isolated Core
  ) -> [HistoryPage]? {
    let newest = core.hub.position(of: handle)?.seq ?? 0
    let first = Retention.firstSeq(keeping: kept, newest: newest)
    rooms.forgetFrames(quoting: 0...first - 1, in: handle, on: core)
    return tail(of: handle, after: seq, upTo: newest, fitting: maxBytes, core.hub)
  }

  private func tail(
    of handle: RoomHandle, after seq: Int64, upTo newest: Int64, fitting maxBytes: Int?, _ hub: Hub
  ) -> [HistoryPage]? {
    guard let text = hub.tail(of: handle, after: seq) else { return nil }
    guard maxBytes == nil || text.text.count <= HistoryPage.maxSize || text.count == 1 else { return nil }
    return text.count == 0 ? [] : [HistoryPage(text: text, newest: newest)]
  }

  private static func maxChanged(_ limits: Limits) -> Int { min(maxChanged, limits.outgoingQueue) }

  /// The changes of a read, and those that the hub has published during the read in the messages that the client has.
  /// Is `nil` if there are more than a reply may contain.
  private func merged(
    _ read: [ChangedMessage], _ during: some Sequence<ChangedMessage>, since: Since, _ limits: Limits
  ) -> [ChangedMessage]? {
    let all = RoomChanges.merged(read, during.filter { $0.seq <= since.after.seq })
    let fits = all.count <= limits.history && all.reduce(0) { $0 + $1.size } <= Self.maxChanged(limits)
    return fits ? all : nil
  }

  /// The newest messages of a page and of the messages that the hub has published since the page was read.
  /// - Parameters:
  ///   - during: The changes that the hub has published since the page was read.
  ///   - quoting: The parts of the quotes in the page.
  ///   - maxBytes: Is `nil` if the client does not request pages. They have at most the messages of `page` and one page
  ///     of newer ones.
  private func shown(
    _ page: MessagePage, _ during: ArraySlice<ChangedMessage>, _ quoting: QuotedParts, in handle: RoomHandle,
    newest: Int64, maxBytes: Int?, on core: isolated Core
  ) -> Replay? {
    let hub = core.hub
    guard let shown = hub.position(of: handle)?.seq else { return nil }
    let before = shown - newest
    let messages = RoomChanges.apply(during, quoting, to: page.messages.filter { $0.seq > before && $0.seq <= shown })
    let (pages, isCut) =
      if let maxBytes {
        HistoryPage.split(messages, maxBytes: maxBytes)
      } else {
        (messages.isEmpty ? [] : [HistoryPage(text: Replies.text(of: messages), newest: shown)], false)
      }
    var replay = Replay(pages: pages, more: isCut || maxBytes != nil && page.more, isComplete: false)
    if shown > page.newest, !replay.more {
      let tail = tail(of: handle, after: max(page.newest, before), upTo: shown, fitting: maxBytes, hub)
      replay.pages += tail ?? []
      replay.more = tail == nil
    }
    guard maxBytes == nil else { return replay.more && replay.pages.isEmpty ? nil : replay }
    replay.pages = Self.joined(replay.pages)
    return replay.more ? nil : replay
  }

  /// One page with the messages of all.
  private static func joined(_ pages: [HistoryPage]) -> [HistoryPage] {
    guard let last = pages.last else { return [] }
    return [HistoryPage(text: pages.reduce(MessagesText.none) { $0 + $1.text }, newest: last.newest)]
  }
}
