// SPDX-License-Identifier: Apache-2.0
import CRows
import Foundation
import GRDB
import RelayProtocol
import Testing

@testable import RelayStore

/// The capture of rows (`CRows`) on the connection of the store's writer, and its application to a copy of the file.
///
/// `Tests/CRowsTests` tests the capture itself. These tests show that it works together with GRDB: GRDB opens the
/// connections, keeps prepared statements, and reports extended result codes.
@Suite struct CapturedRowsTests {
  private let test: TestStore
  private let copy: DatabaseQueue
  private var pool: DatabasePool { test.store.pool }

  private struct Failure: Error { let reason: String }

  init() throws {
    test = try TestStore()
    copy = try DatabaseQueue(path: test.folder + "/copy.db")
    try pool.backup(to: copy)
  }

  /// Runs `change` in a transaction of the writer.
  private func transact(_ db: Database, _ change: (Transaction) throws -> Void) throws {
    try db.inTransaction(.immediate) {
      try change(Transaction(db: db, cache: WriterCache(), clock: ClockReading(now: TestStore.time), maxSlice: nil))
      return .commit
    }
  }

  private func withCapture(_ db: Database, limit: Int = 1 << 20, _ run: (OpaquePointer) throws -> Void) throws {
    var error = rows_error_t()
    guard let capture = rows_capture_open(db.sqliteConnection, nil, limit, &error) else {
      throw Failure(reason: error.reason)
    }
    defer { rows_capture_close(capture) }
    try run(capture)
  }

  private func body(_ capture: OpaquePointer) throws -> [UInt8] {
    var error = rows_error_t()
    var size = 0
    guard let bytes = rows_capture_body(capture, &size, &error) else { throw Failure(reason: error.reason) }
    return Array(UnsafeBufferPointer(start: bytes, count: size))
  }

  /// Applies a body to the copy, in a transaction that commits if the result is `ROWS_APPLIED`.
  private func apply(_ body: [UInt8]) throws -> (status: rows_status_t, reason: String) {
    try copy.writeWithoutTransaction { db in
      var error = rows_error_t()
      guard let applier = rows_applier_open(db.sqliteConnection, nil, &error) else {
        throw Failure(reason: error.reason)
      }
      defer { rows_applier_close(applier) }
      var status = ROWS_FAILED
      try db.inTransaction(.immediate) {
        status = rows_apply(applier, body, body.count, &error)
        return status == ROWS_APPLIED ? .commit : .rollback
      }
      return (status, error.reason)
    }
  }

  private func hash(_ database: any DatabaseReader) throws -> String {
    try database.read { db in
      var error = rows_error_t()
      var hash = [CChar](repeating: 0, count: Int(ROWS_HASH_SIZE))
      guard rows_hash(db.sqliteConnection, nil, &hash, &error) else { throw Failure(reason: error.reason) }
      return String(decoding: hash.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
  }

  @Test func `a copy that applies the captured rows equals the store`() throws {
    try pool.writeWithoutTransaction { db in
      try withCapture(db) { capture in
        for change in Self.changes {
          try transact(db, change)
          let bytes = try body(capture)
          #expect(!bytes.isEmpty)
          let (status, reason) = try apply(bytes)
          #expect(status == ROWS_APPLIED, "\(reason)")
          rows_capture_cut(capture, 0)
        }
      }
    }
    #expect(try hash(pool) == hash(copy))
    // The copy continues with the numbers of the original.
    let newest = "SELECT max(number) FROM jobs"
    #expect(try pool.read { try Int64.fetchOne($0, sql: newest) } == copy.read { try Int64.fetchOne($0, sql: newest) })
    #expect(try copy.read { try Row.fetchAll($0, sql: "PRAGMA foreign_key_check") } == [])
    #expect(try copy.read { try Bool.fetchOne($0, sql: "PRAGMA foreign_keys") } == true)
  }

  /// Transactions that insert, update and delete rows of most tables, also by a reference with ON DELETE CASCADE.
  private static let changes: [@Sendable (Transaction) throws -> Void] = [
    { try $0.prepareRoom() },
    { transaction in
      for number in 1...20 {
        _ = try transaction.messages.append(draft("\(number)", key: "key \(number)", jobs: [job()]))
      }
    },
    { transaction in
      let end = Timestamp.at(1_000)
      for claim in try transaction.queue.claim(limit: 9, now: TestStore.time, leaseUntil: end) {
        try transaction.queue.finish(claim.id, state: .sent, now: end)
      }
    },
    { try $0.devices.addReportKey(hash: Array(repeating: 7, count: 32), for: phone().id, of: bob.id) },
    { _ = try $0.devices.forget(phone().id, of: bob.id) },
    { transaction in
      try transaction.rooms.mark(room, bob.id, read: 7)
      _ = try transaction.rooms.leave(alice.id, room: room)
    },
    { transaction in
      try transaction.rooms.advanceCursor(room, to: 20)
      _ = try transaction.messages.trim(room, to: Retention(count: 3), maxDeleted: 10)
    },
  ]

  /// SQLite empties a table without a call of the hook if it prepared `DELETE FROM table` without one. GRDB keeps this
  /// statement.
  @Test func `a statement without WHERE that GRDB prepared earlier is captured`() throws {
    let insert = "INSERT INTO forgotten (id, app, time) VALUES (1, 'a', 1), (2, 'b', 2)"
    let delete = "DELETE FROM forgotten"
    try pool.writeWithoutTransaction { db in
      let early = try db.cachedStatement(sql: delete)
      try db.execute(sql: insert)
      try early.execute()
      try db.execute(sql: insert)
      try copy.writeWithoutTransaction { try db.backup(to: $0) }
      try withCapture(db) { capture in
        try db.inTransaction(.immediate) {
          let kept = try db.cachedStatement(sql: delete)
          #expect(kept === early)
          try kept.execute()
          return .commit
        }
        #expect(try apply(body(capture)).status == ROWS_APPLIED)
      }
    }
    #expect(try copy.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM forgotten") } == 0)
    #expect(try hash(pool) == hash(copy))
  }

  @Test func `a work that is undone leaves no row`() throws {
    try pool.writeWithoutTransaction { db in
      try transact(db) { try $0.prepareRoom() }
      try copy.writeWithoutTransaction { try db.backup(to: $0) }
      try withCapture(db) { capture in
        try transact(db) { transaction in
          _ = try transaction.messages.append(draft("one"))
          let mark = rows_capture_size(capture)
          try db.inSavepoint {
            _ = try transaction.messages.append(draft("two", jobs: [job()]))
            return .rollback
          }
          rows_capture_cut(capture, mark)
          _ = try transaction.messages.append(draft("three"))
        }
        #expect(try apply(body(capture)).status == ROWS_APPLIED)
      }
    }
    #expect(try hash(pool) == hash(copy))
  }

  @Test func `a transaction with too many bytes is reported, and a smaller one follows`() throws {
    try pool.writeWithoutTransaction { db in
      try withCapture(db, limit: 1_000) { capture in
        try db.inTransaction(.immediate) {
          try db.execute(sql: "INSERT INTO users (name, avatar) VALUES ('a', printf('%02000d', 1))")
          return .rollback
        }
        #expect(rows_capture_is_over(capture))
        rows_capture_cut(capture, 0)
        try db.inTransaction(.immediate) {
          try db.execute(sql: "INSERT INTO users (name) VALUES ('a')")
          return .commit
        }
        #expect(!rows_capture_is_over(capture))
        #expect(try apply(body(capture)).status == ROWS_APPLIED)
      }
    }
    #expect(try hash(pool) == hash(copy))
  }

  @Test func `a body that is applied twice is a conflict, and changes nothing`() throws {
    let bytes = try pool.writeWithoutTransaction { db in
      var captured: [UInt8] = []
      try withCapture(db) { capture in
        try transact(db) { try $0.prepareRoom() }
        captured = try body(capture)
      }
      return captured
    }
    #expect(try apply(bytes).status == ROWS_APPLIED)
    let (status, reason) = try apply(bytes)
    #expect(status == ROWS_CONFLICT)
    #expect(reason.contains("UNIQUE constraint failed"))
    #expect(try hash(pool) == hash(copy))
  }
}

extension rows_error_t {
  fileprivate var reason: String {
    withUnsafeBytes(of: text) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
  }
}
