// SPDX-License-Identifier: Apache-2.0
import RelayCluster
import RelayHTTP
import RelayHub
import RelayIdentity
import RelayProtocol
import RelayRequests
import RelayState
import RelayStore
import Synchronization

/// The parts of a server that are only in the leader of a cluster.
struct Leadership: Sendable {
  let leader: LeaderJournal
  let journal: any Journal
  let operations: any ClusterOperations
  /// Frees the port.
  let beforeListening: @Sendable () async -> Void
}

extension NodeService.Access {
  init(_ configuration: ServerConfiguration) throws(StartupError) {
    self.init(
      isOpen: configuration.identity.isOpen, isMetricsOpen: configuration.isMetricsOpen,
      apiKeys: try configuration.identity.readAPIKeys())
  }

  init(_ settings: RelaySettings) {
    self.init(isOpen: settings.isOpen, isMetricsOpen: settings.isMetricsOpen, apiKeys: settings.apiKeys)
  }
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

/// Answers the operator while the hub is held, because the log has not confirmed that this node leads. Any thread.
final class HeldService: Sendable {
  private let operations: any ClusterOperations
  private let service: Mutex<NodeService>

  init(_ operations: any ClusterOperations, _ access: NodeService.Access) {
    self.operations = operations
    service = Mutex(NodeService(operations, access))
  }

  /// Applies changed settings.
  func use(_ access: NodeService.Access) { service.withLock { $0 = NodeService(operations, access) } }

  /// The rule for the hub.
  var hub: HeldRequests {
    HeldRequests(paths: NodeService.paths) { [self] request in
      service.withLock { $0 }.answerOfUnproved(request)
    }
  }
}

/// Lets the log of the cluster decide the groups of the store.
struct ClusterJournal: Journal {
  let leader: LeaderJournal

  var keyTime: Timestamp { Timestamp(rawValue: 0) + leader.keyTime }

  func decide(_ rows: [UInt8]) -> JournalDecision {
    switch leader.decide(rows) {
    case .commit(let position): .commit(position: position.text)
    case .end(let end): .end(reason: "\(end)")
    }
  }

  func committed() { leader.committed() }
  func commitFailed() { leader.commitFailed() }
}
