// SPDX-License-Identifier: Apache-2.0
import CRows
import GRDB

/// Writes captured rows into another database. Belongs to the connection's thread.
///
/// Triggers and foreign keys are off on the connection until ``close()``, because the captured rows contain what they
/// have changed.
final class RowApplier {
  enum Failure: Error {
    /// The rows do not fit the database, or they are malformed.
    case conflict(reason: String)
    /// The database could not be read or written.
    case unavailable(reason: String)

    var reason: String {
      switch self {
      case .conflict(let reason), .unavailable(let reason): reason
      }
    }
  }

  private var applier: OpaquePointer?

  /// - Parameters:
  ///   - db: A connection outside a transaction, whose tables will not change.
  ///   - foreign: See ``ReplicatedTables/foreign(_:_:)``.
  init(_ db: Database, foreign: [String]) throws(Failure) {
    var error = rows_error_t()
    applier = ReplicatedTables.withLocalNames(and: foreign) { rows_applier_open(db.sqliteConnection, $0, &error) }
    guard applier != nil else { throw Failure.unavailable(reason: error.words) }
  }

  /// Call this before the connection is closed or its tables change.
  func close() {
    rows_applier_close(applier)
    applier = nil
  }

  /// Writes the rows of one group. The caller is within a transaction, and rolls it back if this throws ``Failure``.
  func apply(_ rows: [UInt8]) throws(Failure) {
    guard let applier else { throw .unavailable(reason: "the file is closed") }
    var error = rows_error_t()
    switch rows_apply(applier, rows, rows.count, &error) {
    case ROWS_APPLIED: break
    case ROWS_CONFLICT, ROWS_INVALID: throw .conflict(reason: error.words)
    default: throw .unavailable(reason: error.words)
    }
  }
}
