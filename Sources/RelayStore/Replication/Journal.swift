// SPDX-License-Identifier: Apache-2.0
public import RelayProtocol

/// Decides each group of the writer before its commit, for example by a replicated log. A single node has none.
///
/// Called on the writer's thread.
public protocol Journal: Sendable {
  /// The present time by the clock for keys of the journal, see ``AgingClock/keyOffset``. The store continues it at its
  /// start.
  var keyTime: Timestamp { get }
  /// Decides the open transaction, whose rows are all written. Not called for a group that changes no row.
  ///
  /// May block as long as nobody knows the decision. The group then waits, and all later ones.
  /// - Parameter rows: The changed rows in the format of `CRows`, at most 900 kB.
  func decide(_ rows: [UInt8]) -> JournalDecision
  /// The group of the last decision is committed. Called before its completions run.
  func committed()
  /// The group of the last decision could not be committed: the file lacks a group that the journal has. The store has
  /// ended.
  func commitFailed()
}

public enum JournalDecision: Hashable, Sendable {
  /// Commit the group, and store this position with it.
  case commit(position: String)
  /// Undo the group. The store has ended: this work and all later work fail with ``StoreError/ended(reason:)``.
  case end(reason: String)
}
