// SPDX-License-Identifier: Apache-2.0
import GRDB
public import RelayProtocol

/// A selection of entries of the audit log. `nil` selects all.
public struct AuditFilter: Equatable, Sendable {
  public var key: String?
  public var operation: String?
  public var room: RoomID?
  public var user: UserID?

  public init(key: String? = nil, operation: String? = nil, room: RoomID? = nil, user: UserID? = nil) {
    self.key = key
    self.operation = operation
    self.room = room
    self.user = user
  }

  func selects(_ entry: AuditEntry) -> Bool {
    (key == nil || key == entry.key) && (operation == nil || operation == entry.operation)
      && (room == nil || room == entry.room)
  }
}

/// The begin and the direction of a page of the audit log.
public enum AuditPosition: Equatable, Sendable {
  /// The newest entries with a lower id first.
  case before(Int64)
  /// The oldest entries with a higher id first.
  case after(Int64)
}

/// Reads the entries of the audit log.
public struct AuditReader {
  let db: Database

  /// The maximum number of entries that a page scans. An index finds the entries of one member of the filter, and a
  /// page with several members scans them one by one.
  static let maxScanned = 10_000

  /// A page of entries.
  /// - Parameter maxScanned: The maximum number of entries that the page scans.
  /// - Returns: The entries, and the id of the last scanned entry if others follow. Then the page
  ///   may have fewer entries than the limit, or none.
  public func page(
    _ filter: AuditFilter = AuditFilter(), _ position: AuditPosition = .before(.max), limit: Int
  ) throws -> (entries: [StoredAuditEntry], next: Int64?) {
    try page(filter, position, limit: limit, maxScanned: Self.maxScanned)
  }

  func page(
    _ filter: AuditFilter, _ position: AuditPosition, limit: Int, maxScanned: Int
  ) throws -> (entries: [StoredAuditEntry], next: Int64?) {
    let (sql, arguments) = Self.query(filter, position)
    let rows = try Row.fetchCursor(db.cachedStatement(sql: sql), arguments: arguments + [maxScanned + 1])
    var entries: [StoredAuditEntry] = []
    var (looked, last) = (0, 0 as Int64)
    var hasMore = false
    while let row = try rows.next() {
      guard looked < maxScanned, entries.count < limit else {
        hasMore = true
        break
      }
      looked += 1
      let found = StoredAuditEntry(id: row["id"], entry: try AuditEntry(row))
      last = found.id
      if filter.selects(found.entry) { entries.append(found) }
    }
    return (try entries.map(withUsers), hasMore ? last : nil)
  }

  private func withUsers(_ stored: StoredAuditEntry) throws -> StoredAuditEntry {
    var entry = stored.entry
    entry.users = try db.all(
      "SELECT user FROM audit_users INDEXED BY audit_users_entry WHERE entry = ? ORDER BY user", [stored.id]
    ) { UserID(unchecked: $0[0]) }
    return StoredAuditEntry(id: stored.id, entry: entry)
  }

  /// The query of the entries that one member of the filter selects, in the order of the page.
  private static func query(_ filter: AuditFilter, _ position: AuditPosition) -> (String, StatementArguments) {
    let id = filter.user == nil ? "audit.id" : "audit_users.entry"
    let (bound, order, value): (String, String, Int64) =
      switch position {
      case .before(let value): ("\(id) < ?", "\(id) DESC", value)
      case .after(let value): ("\(id) > ?", id, value)
      }
    let (source, selected): (String, String?) =
      if let user = filter.user {
        (
          "audit_users CROSS JOIN audit ON audit.id = audit_users.entry WHERE audit_users.user = ? AND", user.rawValue
        )
      } else if let room = filter.room {
        ("audit INDEXED BY audit_room WHERE room = ? AND", room.rawValue)
      } else if let key = filter.key {
        ("audit INDEXED BY audit_key WHERE key = ? AND", key)
      } else if let operation = filter.operation {
        ("audit INDEXED BY audit_operation WHERE operation = ? AND", operation)
      } else {
        ("audit WHERE", nil)
      }
    let columns = ["id", "time", "key", "operation", "room", "target", "error", "request", "address", "skipped"]
    let list = columns.map { "audit.\($0)" }.joined(separator: ", ")
    let arguments: StatementArguments = if let selected { [selected, value] } else { [value] }
    return ("SELECT \(list) FROM \(source) \(bound) ORDER BY \(order) LIMIT ?", arguments)
  }

  /// The newest id; 0 without an entry.
  func newest() throws -> Int64 {
    try db.first("SELECT id FROM audit WHERE id > ? ORDER BY id DESC LIMIT 1", [0]) { $0[0] as Int64 } ?? 0
  }
}

extension AuditEntry {
  /// The entry of a row, without its users.
  fileprivate init(_ row: Row) throws {
    self.init(
      time: row.timestamp("time"), key: row["key"], operation: row["operation"],
      room: (row["room"] as String?).map(RoomID.init(unchecked:)), target: row["target"],
      error: try row.choiceIfAny("error"), request: row["request"], address: row["address"], skipped: row["skipped"])
  }
}
