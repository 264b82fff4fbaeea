// SPDX-License-Identifier: Apache-2.0

/// The phase of a node that does not lead. Pure: ``ClusterNode`` does the work of the phase, and passes the result.
///
/// The usual order is that of ``State``. From any of them the node begins again after a failure of its file, and loads
/// a snapshot if the log lacks the records that it needs.
package struct NodePhase: Hashable, Sendable {
  package enum State: Hashable, Sendable {
    /// Replaces the file by the newest snapshot.
    case loading
    /// Opens the file, and begins at its position.
    case starting
    /// Compares the file with the log, and then a delivered record that does not fit.
    case checking(Doubt?)
    /// Applies the records of the log.
    case following
    /// Applies the last records of the log before the takeover. It reads them without a consumer: the server with the
    /// consumer may be gone, too, and another consumer may need an election of NATS.
    case catchingUp
    /// The record of the takeover is in flight, so the node applies no records. After a disconnect, the node checks its
    /// file afterwards.
    case publishing(checksAfterwards: Bool)
  }

  package enum Event: Hashable, Sendable {
    /// The file is open, and the node follows the log at its position.
    case began(isFounding: Bool)
    /// The position of the file must be read again.
    case restarted
    case needsSnapshot
    /// The file is a snapshot now, or needs none any more.
    case loaded
    /// The log was not reachable, and may be another one now.
    case disconnected
    case doubted(Doubt)
    /// The log has confirmed the file.
    case confirmed
    /// The takeover has decided. `isPublishing`: its record is in flight.
    case decided(Takeover.Action, isPublishing: Bool)
  }

  package private(set) var state: State
  /// The log is empty, and the file follows no log. The node begins the cluster, unless another node does.
  package private(set) var isFounding = false

  package init(_ state: State) { self.state = state }

  package var isPublishing: Bool { if case .publishing = state { true } else { false } }

  package mutating func take(_ event: Event) {
    switch event {
    case .began(let isFounding): self = Self(.checking(nil), isFounding: isFounding)
    case .restarted: self = Self(state == .loading ? .loading : .starting)
    case .needsSnapshot: self = Self(.loading)
    case .loaded: self = Self(.starting)
    case .disconnected:
      switch state {
      case .following, .catchingUp: state = .checking(nil)
      case .publishing: state = .publishing(checksAfterwards: true)
      case .loading, .starting, .checking: break
      }
    case .doubted(let doubt): state = .checking(doubt)
    case .confirmed: state = .following
    case .decided(let action, let isPublishing): decided(action, isPublishing)
    }
  }

  private init(_ state: State, isFounding: Bool) {
    self.state = state
    self.isFounding = isFounding
  }

  private mutating func decided(_ action: Takeover.Action, _ isPublishing: Bool) {
    let checksAfterwards = state == .publishing(checksAfterwards: true)
    switch action {
    case .wait: state = checksAfterwards ? .checking(nil) : .following
    case .compare: state = .checking(nil)
    case .catchUp: state = .catchingUp
    case .inspect, .read, .publish: if isPublishing { state = .publishing(checksAfterwards: checksAfterwards) }
    case .lead, .stop: break
    }
  }
}
