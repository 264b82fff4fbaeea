// SPDX-License-Identifier: Apache-2.0
import GRDB
import RelayProtocol

/// The changes that a work item can make, by subject. Valid on the writer's thread until the item returns.
///
/// The methods of its parts throw ``StoreError`` and errors of SQLite, which ``Store`` converts to ``StoreError``.
public struct Transaction {
  let db: Database
  let cache: WriterCache
  let clock: ClockReading
  /// The maximum number of rows that a work changes for a reason that concerns all rows. Is `nil` without a journal,
  /// which limits the size of a work.
  let maxSlice: Int?

  /// The maximum number of rows that one purge deletes, so that no message waits long for it.
  public static let maxPurged = 1_000

  /// Reads include the changes of this transaction.
  public var reader: Reader { Reader(db: db) }

  public var rooms: RoomWriter { RoomWriter(transaction: self) }
  public var messages: MessageWriter { MessageWriter(transaction: self) }
  public var people: PeopleWriter { PeopleWriter(transaction: self) }
  public var erasures: ErasureWriter { ErasureWriter(transaction: self) }
  public var devices: DeviceWriter { DeviceWriter(transaction: self) }
  public var timeZones: TimeZoneWriter { TimeZoneWriter(transaction: self) }
  public var queue: PushQueue { PushQueue(transaction: self) }
  public var updates: UpdateQueue { UpdateQueue(transaction: self) }
  public var silenced: SilencedWriter { SilencedWriter(transaction: self) }
  public var responses: ResponseWriter { ResponseWriter(transaction: self) }
  public var calls: CallWriter { CallWriter(transaction: self) }
  public var reports: MessageReportWriter { MessageReportWriter(transaction: self) }
  public var audit: AuditWriter { AuditWriter(transaction: self) }
  public var invitations: InvitationWriter { InvitationWriter(transaction: self) }
  var inbox: InboxWriter { InboxWriter(transaction: self) }
  var digests: Digests { Digests(transaction: self) }

  /// Rewrites a page without a change, so that the commit fails if the disk accepts no writes.
  public func touchDisk() throws {
    // SQLite writes the header page even if the number stays the same.
    try db.execute(sql: "PRAGMA user_version = 0")
  }

  /// The room's row. Is `nil` when the room does not exist.
  func row(of room: RoomID) throws -> WriterCache.Room? {
    if let known = cache[room] { return known }
    let row = try db.first(
      "SELECT id, epoch, seq, cursor, first, change, forgotten FROM rooms WHERE name = ?", [room.rawValue])
    guard let row else { return nil }
    let found = WriterCache.Room(
      id: row[0], epoch: row[1], seq: row[2], cursor: row[3], first: row[4], change: row[5], forgotten: row[6])
    cache[room] = found
    return found
  }

  /// The row id of a user. Is `nil` when the user has no row.
  func row(of user: UserID) throws -> Int64? { try person(user)?.id }

  private func person(_ user: UserID) throws -> WriterCache.Person? {
    if let known = cache[user] { return known }
    let row = try db.first(
      """
      SELECT id, display_name, avatar, handle, handle_type, avatar_sha256, is_only_named FROM users WHERE name = ?
      """,
      [user.rawValue])
    guard let row else { return nil }
    let profile = User(
      id: user, name: row.line(1), avatar: row[2], handle: row.line(3), handleType: row.line(4), avatarSHA256: row[5])
    let found = WriterCache.Person(id: row[0], profile: profile, isOnlyNamed: row[6])
    cache[user] = found
    return found
  }

  /// True if the name of the user was used: by a session, a device or a token, or by a backend that made the user a
  /// member.
  func isUsed(_ user: UserID) throws -> Bool { try person(user).map { !$0.isOnlyNamed } ?? false }

  /// The row id of a user. Creates a row if the user has none. Throws ``StoreError/beingErased`` until an erasure of the
  /// user has ended.
  func needRow(of user: UserID) throws -> Int64 {
    if var known = try person(user) {
      guard known.isOnlyNamed else { return known.id }
      try db.run("UPDATE users SET is_only_named = 0 WHERE id = ?", [known.id])
      known.isOnlyNamed = false
      cache[user] = known
      try invitations.userIsKnown(user)
      return known.id
    }
    let id = try insert(user, isOnlyNamed: false)
    try invitations.userIsKnown(user)
    return id
  }

  /// The row id of a user whom a ban names. Creates a row if the user has none, and does not count as a use of the name.
  func rowToName(_ user: UserID) throws -> Int64 { try row(of: user) ?? insert(user, isOnlyNamed: true) }

  private func insert(_ user: UserID, isOnlyNamed: Bool) throws -> Int64 {
    try checkIsNotErased(user)
    try db.run("INSERT INTO users (name, is_only_named) VALUES (?, ?)", [user.rawValue, isOnlyNamed])
    let id = db.lastInsertedRowID
    cache[user] = WriterCache.Person(id: id, profile: User(id: user), isOnlyNamed: isOnlyNamed)
    return id
  }

  /// Throws ``StoreError/beingErased`` until an erasure of the user has ended: rows may still have the name.
  func checkIsNotErased(_ user: UserID) throws {
    if try reader.erasures.open(of: user) != nil { throw StoreError.beingErased }
  }

  /// The row id of a user whose stored name, avatar and handle equal the given ones. Is `nil` when a row must be
  /// written.
  func unchangedRow(of user: User) throws -> Int64? {
    guard let known = try person(user.id), !known.isOnlyNamed else { return nil }
    return Self.merge(user, into: known.profile) == known.profile ? known.id : nil
  }

  /// The row id of a user. Creates a row if the user has none, and stores the given name, avatar and handle if they are
  /// new.
  func needRow(of user: User) throws -> Int64 {
    let id = try needRow(of: user.id)
    guard var person = cache[user.id] else { return id }
    let profile = Self.merge(user, into: person.profile)
    guard profile != person.profile else { return id }
    try write(profile, to: &person)
    return id
  }

  /// Returns the stored profile with the values that `user` has. The other values stay.
  private static func merge(_ user: User, into stored: User) -> User {
    var profile = stored
    profile.name = user.name ?? profile.name
    // The hash belongs to the picture. A client that sends the same picture without the hash does not remove the hash.
    if let avatar = user.avatar {
      profile.avatarSHA256 = user.avatarSHA256 ?? (avatar == profile.avatar ? profile.avatarSHA256 : nil)
      profile.avatar = avatar
    }
    if let handle = user.handle { (profile.handle, profile.handleType) = (handle, user.handleType) }
    return profile
  }

  /// Stores the profile of a user who has a row.
  func write(_ profile: User, to person: inout WriterCache.Person) throws {
    try db.run(
      "UPDATE users SET display_name = ?, avatar = ?, handle = ?, handle_type = ?, avatar_sha256 = ? WHERE id = ?",
      [profile.name, profile.avatar, profile.handle, profile.handleType, profile.avatarSHA256, person.id])
    person.profile = profile
    cache[profile.id] = person
  }
}

/// The part of a transaction that changes one subject. It is valid as long as the transaction.
protocol TransactionPart {
  var transaction: Transaction { get }
}

extension TransactionPart {
  var db: Database { transaction.db }
  var cache: WriterCache { transaction.cache }
  var now: Timestamp { transaction.now }
  var steadyNow: Timestamp { transaction.steadyNow }
  var reader: Reader { transaction.reader }

  func time(before age: Duration) -> Timestamp { transaction.time(before: age) }
  func row(of room: RoomID) throws -> WriterCache.Room? { try transaction.row(of: room) }
  func row(of user: UserID) throws -> Int64? { try transaction.row(of: user) }
  func needRow(of user: UserID) throws -> Int64 { try transaction.needRow(of: user) }
  func needRow(of user: User) throws -> Int64 { try transaction.needRow(of: user) }
}
