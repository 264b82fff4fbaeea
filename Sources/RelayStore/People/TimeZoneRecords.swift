// SPDX-License-Identifier: Apache-2.0
import Foundation
import GRDB
import RelayProtocol

/// Stores the zone files of the time zones that users need, so that a zone keeps its last rules when the system's files
/// lack it.
public struct TimeZoneWriter: TransactionPart {
  let transaction: Transaction

  /// Stores the newest file of a zone.
  /// - Parameter file: The content of the system's zone file.
  public func save(_ file: [UInt8], of zone: String) throws {
    try db.run(
      """
      INSERT INTO time_zones (name, file) VALUES (?1, ?2)
      ON CONFLICT (name) DO UPDATE SET file = excluded.file WHERE file <> excluded.file
      """, [zone, Data(file)])
  }
}

/// Reads the stored zone files.
public struct TimeZoneReader {
  let db: Database

  /// The contents of all stored zone files, by the names of the zones. Called at the start.
  public func files() throws -> [String: [UInt8]] {
    let rows = try db.all("SELECT name, file FROM time_zones") { row in
      (name: row["name"] as String, file: [UInt8](row["file"] as Data))
    }
    return Dictionary(uniqueKeysWithValues: rows.map { ($0.name, $0.file) })
  }
}
