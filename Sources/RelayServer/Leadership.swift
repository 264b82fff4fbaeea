// SPDX-License-Identifier: Apache-2.0
import RelayCluster
import RelayHTTP
import RelayHub
import RelayStore

/// The parts of a server that are only in the leader of a cluster.
struct Leadership: Sendable {
  let leader: LeaderJournal
  let journal: any Journal
  let operations: any ClusterOperations
  /// Frees the port.
  let beforeListening: @Sendable () async -> Void
}

extension Leadership {
  /// The service that clients get now.
  @Sendable func service() -> HubService {
    switch leader.service {
    case .serves: .serves
    case .held: .held
    case .ended: .ended
    }
  }

  /// Waits until this node certainly leads. Returns false after the end of its leadership.
  @Sendable func waitForProof() async -> Bool {
    while true {
      switch leader.service {
      case .serves: return true
      case .ended: return false
      case .held: try? await Task.sleep(for: .milliseconds(20))
      }
      guard !Task.isCancelled else { return false }
    }
  }
}

/// Lets the log of the cluster decide the groups of the store.
struct ClusterJournal: Journal {
  let leader: LeaderJournal

  func decide(_ rows: [UInt8]) -> JournalDecision {
    switch leader.decide(rows) {
    case .commit(let position): .commit(position: position.text)
    case .end(let end): .end(reason: "\(end)")
    }
  }

  func committed() { leader.committed() }
  func commitFailed() { leader.commitFailed() }
}
