// SPDX-License-Identifier: Apache-2.0
import GRDB
import RelayProtocol

/// What a work may change. Valid on the writer's thread until the work returns.
///
/// Its methods throw ``StoreError`` and errors of SQLite, which ``Store`` turns into ``StoreError``.
public struct Transaction {
  let db: Database
  let cache: WriterCache
  /// The time of the group by the store's clock.
  let now: Timestamp

  /// Reads what this transaction has changed, too.
  public var reader: Reader { Reader(db: db) }

  /// Writes a page as it is: the commit tells whether the disk takes anything.
  public func touchDisk() throws {
    // SQLite writes the page of the header whether or not the number changes.
    try db.execute(sql: "PRAGMA user_version = 0")
  }

  /// The room's row; nil when there is no such room.
  func row(of room: RoomID) throws -> WriterCache.Room? {
    if let known = cache[room] { return known }
    guard let row = try db.first("SELECT id, epoch, seq, cursor, first FROM rooms WHERE name = ?", [room.rawValue])
    else { return nil }
    let found = WriterCache.Room(id: row[0], epoch: row[1], seq: row[2], cursor: row[3], first: row[4])
    cache[room] = found
    return found
  }

  /// The row id of a user; nil when nothing refers to this user yet.
  func row(of user: UserID) throws -> Int64? {
    if let known = cache[user] { return known.id }
    guard let row = try db.first("SELECT id, display_name, avatar FROM users WHERE name = ?", [user.rawValue]) else {
      return nil
    }
    cache[user] = WriterCache.Person(id: row[0], name: row[1], avatar: row[2])
    return row[0]
  }

  /// The row id of a user, who gets a row now if need be.
  func needRow(of user: UserID) throws -> Int64 {
    if let id = try row(of: user) { return id }
    try db.run("INSERT INTO users (name) VALUES (?)", [user.rawValue])
    let id = db.lastInsertedRowID
    cache[user] = WriterCache.Person(id: id)
    return id
  }

  /// The same, and stores the name and the avatar where they are told and new.
  func needRow(of user: User) throws -> Int64 {
    let id = try needRow(of: user.id)
    guard var person = cache[user.id] else { return id }
    let name = user.name ?? person.name
    let avatar = user.avatar ?? person.avatar
    guard name != person.name || avatar != person.avatar else { return id }
    try db.run("UPDATE users SET display_name = ?, avatar = ? WHERE id = ?", [name, avatar, id])
    person.name = name
    person.avatar = avatar
    cache[user.id] = person
    return id
  }
}
