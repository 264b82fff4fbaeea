// SPDX-License-Identifier: Apache-2.0
import CRows
import GRDB

/// Records the rows that the open transaction of a connection changes. Belongs to the connection's thread.
///
/// SQLite does not report the changes that it undoes. The owner therefore cuts the record after each rollback, see
/// `rows.h`.
final class RowCapture {
  /// The changes cannot be recorded: they exceed the limit, or `CRows` does not support them.
  struct Failure: Error { let reason: String }

  private var capture: OpaquePointer?

  /// - Parameters:
  ///   - db: A connection whose tables will not change, because the migrations have run.
  ///   - limit: The maximum size of a transaction's changes, in bytes.
  ///   - foreign: See ``ReplicatedTables/foreign(_:_:)``.
  init(_ db: Database, limit: Int, foreign: [String]) throws(Failure) {
    var error = rows_error_t()
    capture = ReplicatedTables.withLocalNames(and: foreign) {
      rows_capture_open(db.sqliteConnection, $0, limit, &error)
    }
    guard capture != nil else { throw Failure(reason: error.words) }
  }

  /// Removes the hook. Call this before the connection is closed. Without this call the memory is not freed, because
  /// the connection may still use it.
  func close() {
    rows_capture_close(capture)
    capture = nil
  }

  /// The size of the changes so far, in bytes. It is also a mark for ``cut(to:)``.
  var size: Int { rows_capture_size(capture) }

  /// True if the changes exceed the limit.
  var isOver: Bool { rows_capture_is_over(capture) }

  /// Removes the changes after the mark.
  func cut(to mark: Int) { rows_capture_cut(capture, mark) }

  /// The changes of the transaction. Is empty when no row has changed. Throws ``Failure``.
  func changes() throws(Failure) -> [UInt8] {
    var error = rows_error_t()
    var size = 0
    guard let bytes = rows_capture_body(capture, &size, &error) else { throw Failure(reason: error.words) }
    return Array(UnsafeBufferPointer(start: bytes, count: size))
  }
}
