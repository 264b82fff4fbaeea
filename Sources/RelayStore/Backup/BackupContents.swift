// SPDX-License-Identifier: Apache-2.0
import GRDB

/// The contents of a backup, in numbers that an operator compares with those of the relay.
public struct BackupContents: Equatable, Sendable {
  /// The size of the file in bytes.
  public let size: Int64
  public let users, rooms, messages, devices: Int
  /// The number of pushes in any state.
  public let pushes: Int
  /// The time of the newest message in UTC. Is `nil` without messages.
  public let newestMessage: String?
  /// True if the database is that of a node of a cluster.
  public let isOfCluster: Bool

  init(_ db: Database) throws {
    func count(_ table: String) throws -> Int { try Int.fetchOne(db, sql: "SELECT count(*) FROM \(table)") ?? 0 }
    size = try db.byteCount
    (users, rooms, messages) = (try count("users"), try count("rooms"), try count("messages"))
    (devices, pushes) = (try count("devices"), try count("jobs"))
    newestMessage = try String.fetchOne(
      db, sql: "SELECT strftime('%Y-%m-%dT%H:%M:%SZ', max(time) / 1000, 'unixepoch') FROM messages")
    isOfCluster = try Installation.position(db) != nil
  }
}
