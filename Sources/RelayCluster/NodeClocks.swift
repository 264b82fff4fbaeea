// SPDX-License-Identifier: Apache-2.0

/// The wall clocks of the other nodes, compared with the clock of this node. Pure.
///
/// No decision about data depends on them. A wrong clock is shown to the operator, and of several standbys, one whose
/// clock agrees with the others takes over first. A node with a wrong clock still takes over if no other node does:
/// nobody knows whose clock is right, and the clock of the leader that is gone may be the wrong one.
public struct NodeClocks: Sendable {
  /// The difference above which two clocks do not agree.
  public static let tolerance = Duration.seconds(5)
  /// The time without a notice after which a node does not count as running.
  static let patience = ClockNotice.interval * 3
  /// The time for which the clock of a node that is gone is still compared.
  static let memory = Duration.seconds(60)
  /// The number of differences to a node that are kept. Notices may arrive late together, for example after a pause.
  static let samples = 5
  /// The maximum number of nodes. Anybody who may write to the subject can send notices.
  static let maxNodes = 64

  private struct Peer {
    /// The own clock minus the node's, of the newest notices. Each contains the time that the notice took.
    var differences: [Duration] = []
    var heard: ContinuousClock.Instant

    /// The difference of the notice that took the least time.
    var difference: Duration { differences.min() ?? .zero }
  }

  private var peers: [String: Peer] = [:]

  public init() {}

  /// - Parameter now: The clocks of this node when the notice arrived.
  public mutating func received(_ notice: ClockNotice, at now: PauseDetector.Reading) {
    peers = peers.filter { now.clock - $0.value.heard < Self.memory }
    guard peers[notice.node] != nil || peers.count < Self.maxNodes else { return }
    var peer = peers[notice.node] ?? Peer(heard: now.clock)
    peer.heard = now.clock
    peer.differences = (peer.differences + [now.timeOfDay - notice.time]).suffix(Self.samples)
    peers[notice.node] = peer
  }

  /// The clock of this node minus the clock of another one. Is `nil` if the other one has been silent for a while.
  public func difference(to node: String, at now: ContinuousClock.Instant) -> Duration? {
    peers[node].flatMap { now - $0.heard < Self.patience ? $0.difference : nil }
  }

  /// True if this node should let another standby take over first: one that runs, and whose clock agrees with more of
  /// the known clocks.
  /// - Parameters:
  ///   - node: The name of this node.
  ///   - leader: The leader that is gone. Its clock counts, but it does not take over.
  public func yields(_ node: String, to leader: String?, at now: ContinuousClock.Instant) -> Bool {
    let others = peers.filter { $0.key != node && now - $0.value.heard < Self.memory }
    // The clocks relative to the one of this node.
    let clocks = [.zero] + others.values.map { .zero - $0.difference }
    func agreeing(with clock: Duration) -> Int {
      clocks.count { $0 - clock <= Self.tolerance && clock - $0 <= Self.tolerance }
    }
    let own = agreeing(with: .zero)
    return others.contains { name, peer in
      name != leader && now - peer.heard < Self.patience && agreeing(with: .zero - peer.difference) > own
    }
  }
}
