// SPDX-License-Identifier: Apache-2.0
import CRows
import Foundation
import GRDB

/// The tables whose rows a journal and its replicas have in common.
enum ReplicatedTables {
  /// The tables that each file has for itself: the migrations that it has run, and the table of its own state.
  static let local = ["grdb_migrations", "installation"]

  /// ``local`` for `CRows`, ended by NULL.
  // Safe: never changed or freed.
  nonisolated(unsafe) static let localNames: UnsafePointer<UnsafePointer<CChar>?> = {
    let names = UnsafeMutablePointer<UnsafePointer<CChar>?>.allocate(capacity: local.count + 1)
    for (index, name) in local.enumerated() { names[index] = UnsafePointer(strdup(name)) }
    names[local.count] = nil
    return UnsafePointer(names)
  }()

  /// The hash of all replicated rows. Run this within a transaction.
  static func hash(_ db: Database) throws -> String {
    var error = rows_error_t()
    var hash = [CChar](repeating: 0, count: Int(ROWS_HASH_SIZE))
    guard rows_hash(db.sqliteConnection, localNames, &hash, &error) else {
      throw StoreError.unavailable(reason: error.words)
    }
    return String(decoding: hash.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
  }
}

extension rows_error_t {
  /// The text for an operator.
  var words: String {
    withUnsafeBytes(of: text) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
  }
}
