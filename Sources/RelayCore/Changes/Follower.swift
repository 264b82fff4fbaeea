// SPDX-License-Identifier: Apache-2.0
import RelayStore

/// A component that acts on changes after their commits.
///
/// Each follower receives all changes, in the order of ``Relay/followers``. The completion of a commit passes on what it
/// has changed before the next commit is shown, so that the followers see rooms, messages and members in the order of the
/// store. ``Change/loaded(_:)``, ``Change/pushed(heldUntil:)``, ``Change/heldDue``, ``Change/person(_:)`` and the ends of
/// invitations by a block come later. A follower must not wait. It reads and writes the store in a task of its own.
protocol Follower: AnyObject {
  func follow(_ change: Change, on relay: isolated Relay)
}

extension Relay {
  /// Passes a change to the followers.
  func follow(_ change: Change) { for follower in followers { follower.follow(change, on: self) } }

  /// Passes changes of one commit to the followers, one after the other.
  func follow(_ changes: [Change]) { for change in changes { follow(change) } }

  /// Runs `work` in a transaction, and passes on what it has changed. Returns after the followers have received it.
  /// - Parameters:
  ///   - rows: An estimate of the rows that the work writes. It limits the size of a transaction.
  ///   - changes: Called in the completion of the commit. After a failure it returns no change.
  func commit<T: Sendable>(
    rows: Int = 1,
    _ work: @escaping @Sendable (Transaction) throws -> T,
    then changes: @escaping @Sendable (isolated Relay, Result<T, StoreError>) -> [Change]
  ) async throws(StoreError) -> T {
    let handover = Handover<Result<T, StoreError>>()
    store.submit(work, rows: rows) { [self] result in
      assumeIsolated { $0.follow(changes($0, result)) }
      handover.give(result)
    }
    return try await handover.value().get()
  }
}
