// SPDX-License-Identifier: Apache-2.0

/// Reads the condition of both streams for the board of a node. A node does this regularly in each role.
public enum LogMonitor {
  /// The time between two reads.
  public static let interval = Duration.seconds(2)

  /// Requests the condition of both streams. Blocks until there are answers or timeouts.
  public static func look(at log: any ClusterLog, _ inbox: NodeInbox, _ board: NodeStatusBoard, _ clock: any NodeClock)
  {
    defer { noteClock(inbox, board, clock) }
    let main: StreamCondition?
    do throws(LogUnavailable) {
      main = try log.condition(of: .log)
    } catch {
      return board.change { $0.contact = .silent(reason: error.reason) }
    }
    let lost = StreamReplicas(configured: main?.replicas.configured ?? 1, current: 0)
    let snapshots: StreamReplicas?
    do throws(LogUnavailable) {
      // A log with records had a stream of snapshots: the first node makes both streams before it writes a record.
      let isDeletion = (main?.last ?? 0) > 0
      snapshots = try log.condition(of: .snapshots)?.replicas ?? (isDeletion ? lost : nil)
    } catch {
      // The servers answer for the log, so only this stream has no leader.
      snapshots = lost
    }
    let now = clock.now
    board.change { status in
      status.contact = .answered(now)
      status.replicas[.log] = main?.replicas
      status.replicas[.snapshots] = snapshots
      if let main { status.noteNewest(main.last, at: now) }
    }
  }

  private static func noteClock(_ inbox: NodeInbox, _ board: NodeStatusBoard, _ clock: any NodeClock) {
    let (clocks, now) = (inbox.clocks, clock.now)
    board.change { status in
      status.clockDifference = status.leader.flatMap { clocks.difference(to: $0.name, at: now) }
    }
  }
}
