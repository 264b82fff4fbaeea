// SPDX-License-Identifier: Apache-2.0
import Foundation
import GRDB
public import RelayProtocol

/// A position in the export of a person: the next entry of a section, by the keys of its table.
public struct ExportPosition: Equatable, Sendable {
  /// The sections in their order. The value is the letter in the text of a position.
  public enum Section: String, CaseIterable, Sendable {
    case person = "p"
    case memberships = "m"
    case invitations = "i"
    case bans = "b"
    case restrictions = "t"
    case messages = "s"
    case reactions = "a"
    case reports = "o"
    case calls = "c"
    case responses = "r"
    case pushes = "j"
    case audit = "u"
  }

  public var section: Section
  /// The row of the user. Is 0 at the start, and for a user without a row. A row is never used twice, so a later page
  /// does not continue with another user of the same name.
  public var row: Int64
  /// The entries of the section up to these keys are exported. The second one is 0 in tables with one key.
  public var first: Int64
  public var second: Int64

  public static let start = ExportPosition(section: .person)

  public init(section: Section, row: Int64 = 0, first: Int64 = 0, second: Int64 = 0) {
    self.section = section
    self.row = row
    self.first = first
    self.second = second
  }

  public var text: String { "\(section.rawValue).\(row).\(first).\(second)" }

  /// Parses ``text``. Returns `nil` for any other text.
  public init?(_ text: String) {
    let parts = text.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    guard parts.count == 4, let section = Section(rawValue: parts[0]), let row = Int64(parts[1]),
      let first = Int64(parts[2]), let second = Int64(parts[3]), row >= 0, first >= 0, second >= 0
    else { return nil }
    self.init(section: section, row: row, first: first, second: second)
  }

  /// The begin of the section after this one. Is `nil` after the last one.
  var next: ExportPosition? {
    let all = Section.allCases
    return all.firstIndex(of: section).flatMap {
      $0 + 1 < all.count ? ExportPosition(section: all[$0 + 1], row: row) : nil
    }
  }
}

/// An entry of an export.
public enum ExportEntry: Sendable {
  case person(ExportedPerson)
  case membership(ExportedMembership)
  /// An invitation that the person has got or made.
  case invitation(RoomID, InvitedUser)
  case ban(RoomID, until: Timestamp?)
  /// A restriction in a room that the person has left. It may be over. That of a member belongs to the membership.
  case restriction(RoomID, until: Timestamp)
  case message(RoomID, StoredMessage, push: PushRequest)
  /// The reactions of the person to one message.
  case reactions(MessageReference, keys: [String])
  /// A report by the person.
  case report(MessageReport)
  case call(ExportedCall)
  case response(StoredResponse, time: Timestamp)
  case push(JobRecord)
  /// An action of a backend about the person.
  case audit(AuditEntry)
}

/// A person with the facts that belong to no room.
public struct ExportedPerson: Sendable {
  public var profile: User
  public var record: UserRecord
  public var access: UserAccess
  /// The claim `rooms` of the newest token, as it was stored.
  public var grants: [UInt8]?
  public var devices: [RegisteredDevice]
}

public struct ExportedMembership: Sendable {
  public var room: RoomID
  /// Is `nil` for a room without a record.
  public var kind: String?
  public var title: String?
  public var role: RoomRole
  public var joined: Timestamp
  public var read: Int64
  public var received: Int64
  /// Is `nil` without a restriction. It may be over.
  public var restrictedUntil: Timestamp?
}

/// A call that the person has begun, answered or declined.
public struct ExportedCall: Sendable {
  public var message: MessageReference
  public var caller: UserID
  public var media: String
  public var state: String
  public var began: Timestamp
  public var ended: Timestamp?
  /// The part of the person. Both are `nil` if the person only rang.
  public var own: String?
  public var device: String?
}

/// Bounds of one page of an export.
public struct ExportBounds: Sendable {
  public var entries: Int
  /// The maximum size of the bodies of the page's messages, in bytes. The last message may exceed it.
  public var bytes = 1 << 20
  /// The maximum number of rows of all users that one page looks at.
  public var rows = 50_000

  public init(entries: Int) { self.entries = entries }
}

/// Reads everything that the store has about a person, in pages.
///
/// Most tables have no index on the user, because each message would pay for it. So a page looks at a bounded number of
/// rows of all users, and may be empty although others follow.
public struct ExportReader {
  let db: Database

  /// The next page.
  /// - Returns: The position of the page that follows is `nil` after the last one. The page is `nil` if it is a later
  ///   one, and the user of the first page does not exist any more. From the begin of an erasure on, a first page has
  ///   no entries.
  public func page(
    of user: UserID, from position: ExportPosition, within bounds: ExportBounds
  ) throws -> (entries: [ExportEntry], next: ExportPosition?)? {
    var page = Page(position: position, bounds: bounds)
    let row: Int64 = try db.first("SELECT id FROM users WHERE name = ?", [user.rawValue])?["id"] ?? 0
    guard position == .start || position.row == row else { return nil }
    page.position.row = row
    if row > 0 {
      try read(user, row, &page)
    } else if try ErasureReader(db: db).open(of: user) != nil {
      // The name belongs to nobody, although entries of the audit log may still have it.
      guard position == .start else { return nil }
    } else {
      guard try readWithoutRow(user, &page) else { return nil }
    }
    return (page.entries, page.next)
  }

  /// Reads what belongs to a user without a row: restrictions, invitations, and entries of the audit log. Returns false
  /// if the page is none of such a user.
  private func readWithoutRow(_ user: UserID, _ page: inout Page) throws -> Bool {
    if page.position == .start {
      let access = try PeopleReader(db: db).access(of: user)
      if !access.isEmpty {
        let record = UserRecord(User(id: user))
        page.add(.person(ExportedPerson(profile: User(id: user), record: record, access: access, devices: [])))
      }
      page.position = ExportPosition(section: .invitations)
    }
    if page.position.section == .invitations {
      guard try !page.isFull && readInvitations(user, 0, &page) else {
        page.next = page.position
        return true
      }
      page.position = ExportPosition(section: .audit)
    }
    guard page.position.section == .audit else { return false }
    if try page.isFull || !readAudit(user, &page) { page.next = page.position }
    return true
  }

  /// A page in progress.
  private struct Page {
    var position: ExportPosition
    let bounds: ExportBounds
    var entries: [ExportEntry] = []
    var next: ExportPosition?
    private var bytes = 0
    /// The number of rows that the page may still look at.
    private(set) var rows: Int

    init(position: ExportPosition, bounds: ExportBounds) {
      self.position = position
      self.bounds = bounds
      rows = bounds.rows
    }

    /// The number of entries that fit.
    var left: Int { bytes < bounds.bytes ? max(0, bounds.entries - entries.count) : 0 }
    var isFull: Bool { left == 0 || rows <= 0 }

    mutating func add(_ entry: ExportEntry, bytes: Int = 0) {
      entries.append(entry)
      self.bytes += bytes
    }

    mutating func look(at rows: Int) { self.rows -= rows }
  }

  private func read(_ user: UserID, _ id: Int64, _ page: inout Page) throws {
    while true {
      let isComplete =
        switch page.position.section {
        case .person: try readPerson(user, id, &page)
        case .memberships: try readMemberships(id, &page)
        case .invitations: try readInvitations(user, id, &page)
        case .bans: try readBans(id, &page)
        case .restrictions: try readRestrictions(id, &page)
        case .messages: try readMessages(user, id, &page)
        case .reactions: try readReactions(id, &page)
        case .reports: try readReports(id, &page)
        case .calls: try readCalls(id, &page)
        case .responses: try readResponses(id, &page)
        case .pushes: try readPushes(id, &page)
        case .audit: try readAudit(user, &page)
        }
      guard isComplete else { return page.next = page.position }
      guard let next = page.position.next else { return }
      page.position = next
      if page.isFull { return page.next = next }
    }
  }

  private func readPerson(_ user: UserID, _ id: Int64, _ page: inout Page) throws -> Bool {
    let people = PeopleReader(db: db)
    guard let record = try people.user(user) else { return true }
    let profile = try db.first(
      "SELECT display_name, avatar, handle, handle_type, avatar_sha256, grants FROM users WHERE id = ?", [id]
    ) { row in
      (
        User(
          id: user, name: row.line("display_name"), avatar: row["avatar"], handle: row.line("handle"),
          handleType: row.line("handle_type"), avatarSHA256: row["avatar_sha256"]), try row.bytesIfAny("grants")
      )
    }
    guard let (profile, grants) = profile else { return true }
    page.add(
      .person(
        ExportedPerson(
          profile: profile, record: record, access: try people.access(of: user), grants: grants,
          devices: try people.devices(of: user, after: nil, limit: .max))))
    return true
  }

  private func readMemberships(_ id: Int64, _ page: inout Page) throws -> Bool {
    let limit = page.left
    let found = try db.all(
      """
      SELECT members.room AS id, rooms.name, kind, title, role, joined, read, received, until
      FROM members INDEXED BY members_user JOIN rooms ON rooms.id = members.room
      LEFT JOIN details ON details.room = members.room
      LEFT JOIN restrictions ON restrictions.room = members.room AND restrictions.user = members.user
      WHERE members.user = ? AND members.room > ? ORDER BY members.room LIMIT ?
      """,
      [id, page.position.first, limit]
    ) { row in
      (
        id: row["id"] as Int64,
        membership: ExportedMembership(
          room: RoomID(unchecked: row["name"]), kind: row["kind"], title: row.line("title"),
          role: RoomRole(rawValue: row["role"]) ?? .member, joined: row.timestamp("joined"), read: row["read"],
          received: row["received"], restrictedUntil: row.time("until"))
      )
    }
    for (room, membership) in found {
      page.position.first = room
      if !membership.room.rawValue.hasPrefix(Schema.deletedPrefix) { page.add(.membership(membership)) }
    }
    return found.count < limit
  }

  private func readInvitations(_ user: UserID, _ id: Int64, _ page: inout Page) throws -> Bool {
    let limit = page.left
    let found = try db.all(
      """
      SELECT invitations.id, rooms.name AS room, invitations.user, users.name AS inviter, time
      FROM invitations JOIN rooms ON rooms.id = invitations.room JOIN users ON users.id = inviter
      WHERE (invitations.user = ?1 OR inviter = ?2) AND invitations.id > ?3 ORDER BY invitations.id LIMIT ?4
      """,
      [user.rawValue, id, page.position.first, limit]
    ) { row in
      (
        id: row["id"] as Int64, room: RoomID(unchecked: row["room"]),
        invited: InvitedUser(
          user: UserID(unchecked: row["user"]), inviter: UserID(unchecked: row["inviter"]), time: row.timestamp("time"))
      )
    }
    for (id, room, invited) in found {
      page.position.first = id
      if !room.rawValue.hasPrefix(Schema.deletedPrefix) { page.add(.invitation(room, invited)) }
    }
    return found.count < limit
  }

  private func readBans(_ id: Int64, _ page: inout Page) throws -> Bool {
    let keys = try keys("bans", "room", "user", "user = \(id)", &page)
    for (room, _) in keys.found {
      let row = try db.first(
        "SELECT rooms.name, until FROM bans JOIN rooms ON rooms.id = bans.room WHERE room = ? AND user = ?", [room, id])
      guard let row else { continue }
      let name = RoomID(unchecked: row["name"])
      if !name.rawValue.hasPrefix(Schema.deletedPrefix) { page.add(.ban(name, until: row.time("until"))) }
    }
    return keys.isComplete
  }

  private func readRestrictions(_ id: Int64, _ page: inout Page) throws -> Bool {
    let isMember = "SELECT 1 FROM members WHERE members.room = restrictions.room AND members.user = \(id)"
    let keys = try keys("restrictions", "room", "user", "user = \(id) AND NOT EXISTS (\(isMember))", &page)
    for (room, _) in keys.found {
      let row = try db.first(
        """
        SELECT rooms.name, until FROM restrictions JOIN rooms ON rooms.id = restrictions.room
        WHERE room = ? AND user = ?
        """,
        [room, id])
      guard let row else { continue }
      let name = RoomID(unchecked: row["name"])
      if !name.rawValue.hasPrefix(Schema.deletedPrefix) { page.add(.restriction(name, until: row.timestamp("until"))) }
    }
    return keys.isComplete
  }

  private func readMessages(_ user: UserID, _ id: Int64, _ page: inout Page) throws -> Bool {
    let before = page.position
    let notifications: Int64? = try db.first(
      "SELECT id FROM rooms WHERE name = ?", [RoomID.notifications(of: user).rawValue])?["id"]
    let keys = try keys("messages", "room", "seq", "(sender = \(id) OR room = \(notifications ?? 0))", &page)
    for (index, (room, seq)) in keys.found.enumerated() {
      guard page.left > 0 else {
        // The page is full of bytes. The next one begins after its last message.
        let last = index > 0 ? keys.found[index - 1] : (before.first, before.second)
        (page.position.first, page.position.second) = last
        return false
      }
      guard let row = try db.first("SELECT name FROM rooms WHERE id = ?", [room]) else { continue }
      let name = RoomID(unchecked: row["name"])
      guard !name.rawValue.hasPrefix(Schema.deletedPrefix), let message = try MessageReader(db: db).message(name, seq)
      else { continue }
      let push = try db.first(
        "SELECT \(PushRequest.columns) FROM messages WHERE room = ? AND seq = ?", [room, seq], PushRequest.init(_:))
      page.add(.message(name, message, push: push ?? PushRequest()), bytes: message.body.count)
    }
    return keys.isComplete
  }

  private func readReactions(_ id: Int64, _ page: inout Page) throws -> Bool {
    let limit = page.left
    let found = try db.all(
      """
      SELECT DISTINCT rooms.name, room, reactions.seq
      FROM reactions INDEXED BY reactions_user JOIN rooms ON rooms.id = room
      WHERE user = ?1 AND (room, reactions.seq) > (?2, ?3) ORDER BY room, reactions.seq LIMIT ?4
      """,
      [id, page.position.first, page.position.second, limit]
    ) { (room: RoomID(unchecked: $0["name"]), id: $0["room"] as Int64, seq: $0["seq"] as Int64) }
    for (room, row, seq) in found {
      (page.position.first, page.position.second) = (row, seq)
      guard !room.rawValue.hasPrefix(Schema.deletedPrefix) else { continue }
      let keys = try db.all(
        "SELECT key FROM reactions WHERE room = ? AND seq = ? AND user = ? ORDER BY change", [row, seq, id]
      ) { $0.line("key") ?? "" }
      page.add(.reactions(MessageReference(room: room, seq: seq), keys: keys))
    }
    return found.count < limit
  }

  private func readReports(_ id: Int64, _ page: inout Page) throws -> Bool {
    let limit = page.left
    let found = try db.all(
      """
      SELECT id FROM message_reports INDEXED BY message_reports_user
      WHERE user = ? AND id > ? ORDER BY id LIMIT ?
      """,
      [id, page.position.first, limit]
    ) { $0["id"] as Int64 }
    for report in found {
      page.position.first = report
      if let report = try MessageReportReader(db: db).report(report) { page.add(.report(report)) }
    }
    return found.count < limit
  }

  private func readCalls(_ id: Int64, _ page: inout Page) throws -> Bool {
    let party = "SELECT 1 FROM call_parties AS p WHERE p.room = calls.room AND p.seq = calls.seq AND p.user = \(id)"
    let keys = try keys("calls", "room", "seq", "(caller = \(id) OR EXISTS (\(party)))", &page)
    for (room, seq) in keys.found {
      let found = try db.first(
        """
        SELECT rooms.name AS room, users.name AS caller, media, calls.state, began, ended, p.state AS own, p.device
        FROM calls JOIN rooms ON rooms.id = calls.room AND NOT (\(Schema.isDeleted("rooms.name")))
        JOIN users ON users.id = caller
        LEFT JOIN call_parties AS p ON p.room = calls.room AND p.seq = calls.seq AND p.user = ?3
        WHERE calls.room = ?1 AND calls.seq = ?2
        """,
        [room, seq, id]
      ) { row in
        ExportedCall(
          message: MessageReference(room: RoomID(unchecked: row["room"]), seq: seq),
          caller: UserID(unchecked: row["caller"]), media: row["media"], state: row["state"],
          began: row.timestamp("began"), ended: row.time("ended"), own: row["own"], device: row["device"])
      }
      if let found { page.add(.call(found)) }
    }
    return keys.isComplete
  }

  private func readResponses(_ id: Int64, _ page: inout Page) throws -> Bool {
    let keys = try keys("responses", "id", "0", "user = \(id)", &page)
    for (response, _) in keys.found {
      let found = try db.first(
        """
        SELECT responses.id, notification, rooms.name AS room, responses.seq, users.name AS user, sender.name AS sender,
          action, text, posted, time
        FROM responses JOIN rooms ON rooms.id = responses.room AND NOT (\(Schema.isDeleted("rooms.name")))
        JOIN users ON users.id = responses.user JOIN users AS sender ON sender.id = responses.sender
        WHERE responses.id = ?
        """,
        [response]
      ) { row in
        ExportEntry.response(
          StoredResponse(
            id: row["id"], notification: row["notification"],
            message: MessageReference(room: RoomID(unchecked: row["room"]), seq: row["seq"]),
            user: UserID(unchecked: row["user"]), sender: UserID(unchecked: row["sender"]),
            action: ActionID(unchecked: row["action"]), text: row["text"], posted: row["posted"]),
          time: row.timestamp("time"))
      }
      if let found { page.add(found) }
    }
    return keys.isComplete
  }

  private func readPushes(_ id: Int64, _ page: inout Page) throws -> Bool {
    let limit = page.left
    let found = try db.all(
      """
      SELECT number, id FROM jobs INDEXED BY jobs_user WHERE kind = 'push' AND user = ? AND number > ?
      ORDER BY number LIMIT ?
      """,
      [id, page.position.first, limit]
    ) { (number: $0["number"] as Int64, id: $0["id"] as String) }
    for (number, job) in found {
      page.position.first = number
      if let record = try QueueReader(db: db).job(job) { page.add(.push(record)) }
    }
    return found.count < limit
  }

  private func readAudit(_ user: UserID, _ page: inout Page) throws -> Bool {
    let found = try AuditReader(db: db).page(
      AuditFilter(user: user), .after(page.position.first), limit: page.left)
    for entry in found.entries {
      page.position.first = entry.id
      page.add(.audit(entry.entry))
    }
    return found.next == nil
  }

  /// The keys of the next rows of a table that fulfil a condition. Moves the position behind the rows that the page has
  /// looked at.
  /// - Parameters:
  ///   - first: The first column of the primary key.
  ///   - second: The second one, or `0`.
  private func keys(
    _ table: String, _ first: String, _ second: String, _ condition: String, _ page: inout Page
  ) throws -> (found: [(Int64, Int64)], isComplete: Bool) {
    let slice = try TableSlice(
      db, table, first, second, after: (page.position.first, page.position.second), rows: max(1, page.rows),
      limit: page.left, where: condition)
    page.look(at: slice.looked)
    (page.position.first, page.position.second) = slice.last
    return (slice.found, slice.isComplete)
  }
}
