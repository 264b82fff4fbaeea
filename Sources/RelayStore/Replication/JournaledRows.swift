// SPDX-License-Identifier: Apache-2.0
import GRDB

/// The rows that the open transaction has changed, and the journal that decides the transaction. Belongs to the
/// writer's thread.
final class JournaledRows {
  /// The size of the captured rows, in bytes, at which a group ends.
  static let groupSize = 512_000
  /// The maximum size of the captured rows of a group, in bytes, except for some bytes per row. A group has more than
  /// ``groupSize`` if its last work is large.
  static let maxSize = 900_000

  /// The maximum number of rows in a slice of a work that concerns all rows. A changed row has about 50 bytes.
  static let maxSlice = 2_000

  private enum State {
    case open
    /// The journal has the group. It must be committed now.
    case decided
    case ended(StoreError)
  }

  private let capture: RowCapture
  private let journal: any Journal
  private var state = State.open

  /// - Parameters:
  ///   - db: The writer's connection, after the migrations.
  ///   - foreign: See ``ReplicatedTables/foreign(_:_:)``.
  init(_ db: Database, journal: any Journal, foreign: [String]) throws(RowCapture.Failure) {
    capture = try RowCapture(db, limit: Self.maxSize, foreign: foreign)
    self.journal = journal
  }

  /// Removes the capture. Call this before the connection is closed.
  func close() { capture.close() }

  /// The error of all further work. Is `nil` while the store accepts work.
  var end: StoreError? { if case .ended(let error) = state { error } else { nil } }

  /// True if the group must end before its next work.
  var isFull: Bool { capture.size >= Self.groupSize }

  /// The end of the rows so far, for ``cut(to:)``.
  var mark: Int { capture.size }

  /// Forgets the rows after the mark, because SQLite has undone them.
  func cut(to mark: Int) { capture.cut(to: mark) }

  /// Throws ``StoreError/tooLarge`` if the group has too many rows. Call this after each work.
  func check() throws(StoreError) { if capture.isOver { throw .tooLarge } }

  /// Lets the journal decide the open transaction, and stores the position. Nothing but COMMIT may follow.
  func decide(_ db: Database) throws {
    try check()
    let rows = try changes()
    guard !rows.isEmpty else { return }
    switch journal.decide(rows) {
    case .commit(let position):
      state = .decided
      try Installation.save(position: position, db)
    case .end(let reason):
      let error = StoreError.ended(reason: reason)
      state = .ended(error)
      throw error
    }
  }

  private func changes() throws(StoreError) -> [UInt8] {
    do {
      return try capture.changes()
    } catch {
      throw .failed(reason: error.reason)
    }
  }

  /// The transaction is on disk.
  func committed() {
    capture.cut(to: 0)
    guard case .decided = state else { return }
    state = .open
    journal.committed()
  }

  /// The transaction was rolled back, or its commit is lost.
  /// - Returns: The error of the group: another one if this has ended the store.
  func failed(_ error: StoreError) -> StoreError {
    capture.cut(to: 0)
    guard case .decided = state else { return error }
    let end = StoreError.ended(reason: "a group that the journal has could not be committed: \(error)")
    state = .ended(end)
    journal.commitFailed()
    return end
  }
}
