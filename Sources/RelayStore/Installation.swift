// SPDX-License-Identifier: Apache-2.0
import Foundation
import GRDB
import RelayProtocol

/// The row of the table `installation`: the state that a file does not share with the replicas of its log.
enum Installation {
  /// The key of this installation's signatures. Creates it if the file has none.
  static func secret(_ db: Database) throws -> [UInt8] {
    var generator = SystemRandomNumberGenerator()
    let fresh = Data((0..<32).map { _ in UInt8.random(in: .min ... .max, using: &generator) })
    try db.execute(
      sql: "INSERT INTO installation (id, secret) VALUES (1, ?) ON CONFLICT DO NOTHING", arguments: [fresh])
    return Array(try Data.fetchOne(db, sql: "SELECT secret FROM installation") ?? Data())
  }

  /// The file's position in its log, see ``Replica``. Is `nil` for the file of a single node.
  static func position(_ db: Database) throws -> String? {
    try String.fetchOne(db, sql: "SELECT position FROM installation")
  }

  static func save(position: String?, _ db: Database) throws {
    try db.run("UPDATE installation SET position = ?", [position])
  }

  /// See ``Replica/hasSnapshot``.
  static func hasSnapshot(_ db: Database) throws -> Bool {
    try Bool.fetchOne(db, sql: "SELECT has_snapshot FROM installation") ?? false
  }

  static func save(hasSnapshot: Bool, _ db: Database) throws {
    try db.run("UPDATE installation SET has_snapshot = ?", [hasSnapshot])
  }

  /// See ``AgingClock/keyOffset``.
  static func keyOffset(_ db: Database) throws -> Duration {
    .milliseconds(try Int64.fetchOne(db, sql: "SELECT key_offset FROM installation") ?? 0)
  }

  static func save(keyOffset: Duration, _ db: Database) throws {
    try db.run("UPDATE installation SET key_offset = ?", [keyOffset.milliseconds])
  }

  /// See ``RunRecord``.
  static func counter(_ db: Database) throws -> Int64 {
    try Int64.fetchOne(db, sql: "SELECT counter FROM installation") ?? 0
  }

  static func save(counter: Int64, _ db: Database) throws {
    try db.run("UPDATE installation SET counter = ?", [counter])
  }

  /// Marks the file as a restored backup, so that the next start begins new epochs whatever the ``RunFile`` contains: no
  /// run has a counter below 0. The file follows no log: a node of a cluster would otherwise undo the restore.
  static func markRestored(_ db: Database) throws {
    try save(counter: -RunRecord.maxCounter, db)
    try save(position: nil, db)
    try save(hasSnapshot: false, db)
  }
}
