// SPDX-License-Identifier: Apache-2.0
import RelayHub
package import RelayIdentity
package import RelayJSON
package import RelayProtocol
package import RelayRequests
package import RelayState
package import RelayStore

/// A request for a page of a user's list of rooms.
package struct InboxList: Sendable {
  /// The rights of a user in a room that the list has.
  package static let rights: Rights = .join

  /// True if the list has a room in which the user has these rights.
  package static func shows(_ given: Rights) -> Bool { given.isSuperset(of: rights) }

  private static let limit = Field<Int>.whole("limit", 1...100, default: 50, "Maximum number of rooms.")
  private static let after = Field<InboxCursor?>.made(
    "after", maxLength: InboxCursor.maxLength, "the `next` of a page", schema: "InboxCursor",
    "The `next` of the page before. Excludes `since`.", InboxCursor.init)
  private static let since = Field<InboxPosition?>.made(
    "since", maxLength: InboxCursor.maxLength, "the `position` of a page", schema: "InboxCursor",
    "The `position` of an earlier page: only later changes.", InboxPosition.init)
  private static let preview = Field<RoomPolicy.Preview>.choice(
    "preview", default: .text, "`none`: without texts of messages.")

  package static let fields: [any DeclaredField] = [Self.limit, Self.after, Self.since, Self.preview]

  package let cursor: InboxCursor?
  package let limit: Int
  package let hasPreview: Bool

  package init(_ request: Request) throws(RequestError) {
    let fields = request.fields
    limit = try Self.limit.value(in: request)
    hasPreview = try Self.preview.value(in: request) != .none
    let after = try Self.after.value(in: request)
    let since = try Self.since.value(in: request)
    guard after == nil || since == nil else { throw fields.wrong("after", "and since exclude each other") }
    cursor = after ?? since.map { .changes(after: $0) }
  }

  /// The result of one read.
  private struct Page: Sendable {
    let rooms: [UInt8]
    let position: InboxPosition
    let next: InboxCursor?
    let isReset: Bool
  }

  /// Reads a page, and returns the members of the reply. A reader's thread checks the rights and writes the text.
  /// - Parameter permissions: Is `nil` for a backend.
  package func read(
    of user: UserID, _ permissions: Permissions?, _ late: LateWriter, on core: isolated Core
  ) async throws -> (inout JSONWriter.Object) -> Void {
    // The list has the marks of all earlier requests.
    if let user = core.hub.user(user) { await late.storeMarks(of: user, on: core) }
    let (patterns, isOpen, now) = (core.settings.rooms, core.settings.isOpen, core.hub.now)
    let page = try await core.store.read { reader -> Page in
      try self.page(reader.inbox, of: user, now: now) { room in
        guard let permissions else { return nil }
        let pattern = patterns.policy(for: room).can
        return permissions.rights(in: room, pattern: pattern, isMember: true, isOpen: isOpen)
      }
    }
    return {
      $0.raw("rooms", page.rooms)
      $0["position"] = page.position.text
      $0["next"] = page.next?.text
      if page.isReset { $0.bool("reset", true) }
    }
  }

  /// - Parameter rights: Returns the rights of the caller in a room, and `nil` for a backend.
  private func page(
    _ inbox: InboxReader, of user: UserID, now: Timestamp, rights: (RoomID) -> Rights?
  ) throws -> Page {
    var start = cursor
    let newest = try inbox.position()
    // The list continues in the numbering in which it began.
    let isReset =
      switch start {
      case nil: false
      case .activity(_, let top): top.epoch != newest.epoch
      case .changes(let position): try !inbox.isComplete(of: user, since: position)
      }
    if isReset { start = nil }
    func read(_ page: InboxPage) throws -> InboxRooms {
      try inbox.rooms(of: user, page, limit: limit, hasBodies: hasPreview, now: now)
    }
    let found: InboxRooms
    let position: InboxPosition
    let next: InboxCursor?
    switch start {
    case nil, .activity:
      var (before, top) = (Int64.max, newest)
      if case .activity(let number, let first) = start { (before, top) = (number, first) }
      found = try read(.before(before))
      position = top
      next = .next(more: found.more, last: found.entries.last?.number, top: top, newest: newest)
    case .changes(let since):
      found = try read(.after(since.number))
      let last = found.entries.last?.number
      position = found.more ? InboxPosition(epoch: newest.epoch, number: last ?? since.number) : newest
      next = found.more ? .changes(after: position) : nil
    }
    var writer = JSONWriter()
    writer.array { list in
      for entry in found.entries {
        let given = rights(entry.room)
        guard given.map(Self.shows) ?? true else { continue }
        let isReadable = given.map(StoredText.roomList.isReadable(with:)) ?? true
        list.object { entry.write(to: &$0, hasPreview: hasPreview && isReadable) }
      }
    }
    return Page(rooms: writer.bytes, position: position, next: next, isReset: isReset)
  }
}

extension InboxEntry {
  package func write(to object: inout JSONWriter.Object, hasPreview: Bool) {
    object["room"] = room.rawValue
    object["kind"] = details.kind.rawValue
    object["title"] = details.title
    object["avatar"] = details.avatar
    object.object("members") {
      $0.integer("count", memberCount)
      if let other { $0.object("other") { Self.write(other, as: "user", to: &$0) } }
    }
    if let last = lastMessage {
      object.object("lastMessage") {
        $0.integer("seq", last.seq)
        $0.integer("time", last.time.rawValue)
        $0["from"] = last.from.id.rawValue
        $0["name"] = last.from.name
        if last.isDeleted { $0.bool("deleted", true) }
        if hasPreview { $0["preview"] = last.body.flatMap(JSON.preview(ofBody:)) }
      }
    }
    object.integer("unread", Int64(unread.messages))
    object.integer("mentions", Int64(unread.mentions))
    object.bool("muted", isMuted)
    object.integer("read", read)
  }

  private static func write(_ user: User, as key: String, to object: inout JSONWriter.Object) {
    object[key] = user.id.rawValue
    object["name"] = user.name
    object["avatar"] = user.avatar
  }
}
