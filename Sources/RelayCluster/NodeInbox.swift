// SPDX-License-Identifier: Apache-2.0
import Synchronization

/// The events that other threads report to a node's thread. Any thread.
public final class NodeInbox: Sendable {
  struct Contents {
    /// The newest heartbeat of the highest term, with its time.
    var heartbeat: (Heartbeat, at: ContinuousClock.Instant)?
    var wasDisconnected = false
  }

  private let contents = Mutex(Contents())
  private let compared = Mutex(NodeClocks())
  private let silence = Mutex<ContinuousClock.Instant?>(nil)

  public init() {}

  public func received(_ heartbeat: Heartbeat, at now: ContinuousClock.Instant) {
    if !heartbeat.isLeaving { leaderSeen(at: now) }
    contents.withLock { contents in
      if let last = contents.heartbeat?.0 {
        // Another thread of the leader may send a usual heartbeat after the last one.
        guard last.term < heartbeat.term || (last.term == heartbeat.term && !last.isLeaving) else { return }
      }
      contents.heartbeat = (heartbeat, now)
    }
  }

  public func received(_ notice: ClockNotice, at now: PauseDetector.Reading) {
    compared.withLock { $0.received(notice, at: now) }
  }

  /// The clocks of the other nodes.
  public var clocks: NodeClocks { compared.withLock { $0 } }

  /// The connection to the log was lost.
  public func disconnected() {
    silence.withLock { $0 = nil }
    contents.withLock { $0.wasDisconnected = true }
  }

  /// The node is connected to the log: heartbeats arrive from now on.
  public func connected(at now: ContinuousClock.Instant) { silence.withLock { $0 = now } }

  /// Notes a sign of life of a leader.
  func leaderSeen(at now: ContinuousClock.Instant) { silence.withLock { if $0 != nil { $0 = now } } }

  /// The time since which this node is connected and has no sign of a leader. Is `nil` without a connection.
  var silentSince: ContinuousClock.Instant? { silence.withLock { $0 } }

  func take() -> Contents {
    contents.withLock { contents in
      defer { contents = Contents() }
      return contents
    }
  }
}
