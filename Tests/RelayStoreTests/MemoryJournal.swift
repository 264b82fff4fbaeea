// SPDX-License-Identifier: Apache-2.0
import GRDB
import RelayProtocol
import Synchronization

@testable import RelayStore

/// A journal of groups in memory. The position after a group is its number.
final class MemoryJournal: Journal {
  struct Contents {
    var groups: [[UInt8]] = []
    /// The reason with which the next group ends the store. Is `nil` if the group is accepted.
    var endReason: String?
    /// The number of groups that were refused.
    var refused = 0
    var committed = 0
    var failedCommits = 0
  }

  private let contents: Mutex<Contents>
  /// The clock for keys at the start of a store.
  let keyTime: Timestamp

  /// - Parameter groups: The groups that the file has already.
  init(groups: [[UInt8]] = [], keyTime: Timestamp = TestStore.time) {
    contents = Mutex(Contents(groups: groups))
    self.keyTime = keyTime
  }

  var now: Contents { contents.withLock { $0 } }
  var groups: [[UInt8]] { now.groups }

  func end(_ reason: String) { contents.withLock { $0.endReason = reason } }

  func decide(_ rows: [UInt8]) -> JournalDecision {
    contents.withLock { contents in
      if let reason = contents.endReason {
        contents.refused += 1
        return .end(reason: reason)
      }
      contents.groups.append(rows)
      return .commit(position: "\(contents.groups.count)")
    }
  }

  func committed() { contents.withLock { $0.committed += 1 } }
  func commitFailed() { contents.withLock { $0.failedCommits += 1 } }
}

/// Creates a file that follows a log from position 0, if it has no position.
func followLog(_ folder: String) throws {
  let replica = try Replica(folder: folder)
  if replica.position == nil { try replica.setPosition("0") }
  replica.close()
}

extension Store {
  /// The hash of the replicated rows, and the position.
  func replicatedState() throws -> (hash: String, position: String?) {
    try pool.read { (try ReplicatedTables.hash($0, foreign: foreignTables), try Installation.position($0)) }
  }
}
