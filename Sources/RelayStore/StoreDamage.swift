// SPDX-License-Identifier: Apache-2.0
import Synchronization

/// The damage of an open database. The first error of SQLite that reports one counts until the store is closed: a page
/// that cannot be read does not mend itself. Any thread.
///
/// Reads that need no damaged page still work. The writer refuses all work, for two reasons:
///
/// - SQLite may take a page that is in use for a free one, and so destroy more.
/// - A backup replaces the database. It would lose what the relay had acknowledged meanwhile. A client keeps a request
///   that was refused, and sends it again.
final class StoreDamage: Sendable {
  private struct State {
    var error: StoreError?
    var listener: (@Sendable (StoreError) -> Void)?
  }

  private let path: String
  private let state = Mutex(State())

  /// - Parameter path: The path of the database.
  init(path: String) { self.path = path }

  /// The first damage. Is `nil` for a database without one.
  var error: StoreError? { state.withLock { $0.error } }

  /// Converts the error of a work item or a read, and records a damage.
  func noted(_ error: any Error) -> StoreError { note(StoreError(error, at: path)) }

  /// Converts the error of a whole transaction, and records a damage.
  func noted(ofCommit error: any Error) -> StoreError { note(StoreError(ofCommit: error, at: path)) }

  private func note(_ error: StoreError) -> StoreError {
    guard error.isDamage else { return error }
    let listener: (@Sendable (StoreError) -> Void)? = state.withLock { state in
      guard state.error == nil else { return nil }
      state.error = error
      return state.listener
    }
    listener?(error)
    return error
  }

  /// Sets the listener, which replaces an earlier one.
  /// - Returns: The damage that was found before. Nobody calls the listener then.
  func listen(_ listener: @escaping @Sendable (StoreError) -> Void) -> StoreError? {
    state.withLock { state in
      state.listener = listener
      return state.error
    }
  }
}
