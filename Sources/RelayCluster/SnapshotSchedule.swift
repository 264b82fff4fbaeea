// SPDX-License-Identifier: Apache-2.0

/// Decides when a node publishes a snapshot. Pure.
public struct SnapshotSchedule: Sendable {
  /// The number of records after the newest snapshot at which a follower makes the next one.
  public var maxRecords: UInt64 = 100_000
  /// The same for the size of the log, in bytes.
  public var maxBytes: UInt64
  /// The time between two reads of the newest manifest.
  public var interval = Duration.seconds(30)
  /// A leader makes a snapshot only at this multiple of the limits, so that followers make most of them.
  public var leaderFactor: UInt64 = 4

  /// - Parameter maxLog: The limit of the log's size, in bytes.
  public init(maxLog: UInt64 = 4 << 30) {
    // A leader waits for four times as many. The log must not be full before.
    maxBytes = min(512 << 20, maxLog / 8)
  }

  /// True if a node at this position makes a snapshot.
  /// - Parameter log: The state of the log, which keeps some records before the newest snapshot.
  public func isDue(
    at position: LogPosition, isLeader: Bool, newest: SnapshotManifest?, log: LogState
  ) -> Bool {
    // The snapshots were lost. The leader replaces them.
    guard let newest = newest?.position, [position.generation, log.generation].contains(newest.generation) else {
      return isLeader
    }
    let factor = isLeader ? leaderFactor : 1
    let records = position.sequence > newest.sequence ? position.sequence - newest.sequence : 0
    return records >= maxRecords * factor
      || (records > SnapshotTransfer.keptRecords && log.bytes >= maxBytes * factor)
  }
}
