// SPDX-License-Identifier: Apache-2.0
public import RelayProtocol

/// Statistics of the writer since the store was opened.
public struct StoreStatistics: Sendable {
  /// The durations of transactions, in seconds, until they were on disk or had failed.
  public internal(set) var commits = Histogram.seconds
  /// The number of work items in each transaction.
  public internal(set) var groups = Histogram(bounds: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000])
  /// Transactions that failed as a whole.
  public internal(set) var failures: UInt64 = 0
  /// True if the last transaction reached the disk.
  public internal(set) var isAvailable = true
  /// True after SQLite has found a damaged page, see ``Store/damage``. The store is then not available.
  public internal(set) var isDamaged = false
  /// The size of the write-ahead log after the last transaction, in bytes.
  public internal(set) var logSize = 0
  /// The time since when a reader, such as a backup or a shell, keeps a large log from a restart. Is `nil` if none does.
  public internal(set) var logBlockedSince: ContinuousClock.Instant?

  /// The time for which a reader has blocked the log. Is `nil` if none does.
  public var logBlocked: Duration? { logBlockedSince.map { .now - $0 } }
}

extension Store {
  /// Any thread.
  public var statistics: StoreStatistics { writer.statistics }
}
