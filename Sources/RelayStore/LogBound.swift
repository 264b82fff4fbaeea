// SPDX-License-Identifier: Apache-2.0
import Foundation
import GRDB

/// Limits the size of SQLite's write-ahead log.
///
/// SQLite moves the log into the database by itself, but it can restart the log only at a moment without readers of the
/// log. If reads always overlap, such a moment never occurs. So when the log is too large, the writer waits for the
/// readers for a short time. If a reader stays, such as a backup or a shell, the writer tries again after a pause, which
/// doubles each time. Belongs to the writer's thread.
final class LogBound {
  /// The size in bytes above which the log is restarted. SQLite shortens a larger file when it restarts the log.
  static let standard = 64 << 20
  /// The pauses after a failed attempt. An attempt takes up to ``Database/logPatience``.
  static let pauses = Duration.milliseconds(100)...Duration.seconds(60)

  private let path: String
  private let bound: Int
  private var pause = pauses.lowerBound
  /// The time of the next attempt.
  private(set) var next = ContinuousClock.now
  /// The time of the first attempt that has failed because of a reader. Is `nil` after an attempt that has succeeded.
  private(set) var blockedSince: ContinuousClock.Instant?

  /// - Parameter path: The path of the log.
  init(log path: String, bound: Int) {
    self.path = path
    self.bound = bound
  }

  /// Restarts the log if it is too large. Call this between transactions.
  /// - Returns: The size of the log in bytes.
  func check(_ db: Database, now: ContinuousClock.Instant = .now) -> Int {
    let size = size
    guard size > bound else {
      restarted(at: now)
      return size
    }
    guard now >= next else { return size }
    do {
      try db.truncateLog()
      restarted(at: now)
    } catch {
      // Another error than a lock is one of the disk, which the next transaction reports.
      if (error as? DatabaseError)?.resultCode == .SQLITE_BUSY { blockedSince = blockedSince ?? now }
      next = now + pause
      pause = min(pause * 2, Self.pauses.upperBound)
    }
    return self.size
  }

  private func restarted(at now: ContinuousClock.Instant) {
    pause = Self.pauses.lowerBound
    next = now
    blockedSince = nil
  }

  private var size: Int {
    var facts = stat()
    return stat(path, &facts) == 0 ? Int(facts.st_size) : 0
  }
}

extension Database {
  /// The time in milliseconds for which ``truncateLog()`` waits for readers. Other writes wait meanwhile.
  static let logPatience = 50

  /// Moves the write-ahead log into the database, and empties it. Throws `SQLITE_BUSY` while a reader uses the log.
  ///
  /// Readers that begin meanwhile read only the database.
  func truncateLog() throws {
    try execute(sql: "PRAGMA busy_timeout = \(Self.logPatience)")
    defer { try? execute(sql: "PRAGMA busy_timeout = \(Int(1_000 * Store.busyTimeout))") }
    _ = try checkpoint(.truncate)
  }
}
