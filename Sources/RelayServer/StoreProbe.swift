// SPDX-License-Identifier: Apache-2.0
import Logging
import RelayIdentity
import RelayPush
import RelayStore
import ServiceLifecycle

/// Checks the store in the background, because without messages nothing else would. It logs when a failed store works
/// again, when the files of the database were removed, and when a reader blocks the write-ahead log. It ends the relay
/// if the files of the database do not return, see ``LostFiles``.
struct StoreProbe: Service, CustomStringConvertible {
  let description = "store probe"
  let store: Store
  let start: ServerStart
  /// The deadline of a relay that ends because its files are lost. Is `nil` for the leader of a cluster, which steps down
  /// instead, see ``StoreFailure``.
  let deadline: DrainDeadline?
  let log: Logger

  static let pause = Duration.seconds(1)

  func run() async throws {
    guard try await start.waitForService() else { return }
    try await cancelWhenGracefulShutdown { try await probeRepeatedly() }
  }

  /// Checks the store every second until the task is cancelled: the files of the database, the availability with a
  /// small write after a failure, and the size of the write-ahead log. Throws ``StartupError`` when the files are lost.
  private func probeRepeatedly() async throws {
    var outage = StoreOutage(failures: store.statistics.failures)
    var blockage = LogBlockage()
    var logPause = LogPause()
    var lostFiles = LostFiles()
    while !Task.isCancelled {
      try? await Task.sleep(for: Self.pause)
      let loss = store.checkFiles()
      let reason = loss?.description ?? ""
      guard !Task.isCancelled else { return }
      switch lostFiles.observe(areLost: loss != nil, at: .now) {
      case nil: break
      case .begins:
        let end = deadline == nil ? "" : ", and ends in \(LostFiles.patience) unless it is back"
        log.error("\(reason); the relay writes nothing\(end)")
      case .returns: log.notice("the files of the database are in their place again")
      case .ends:
        guard let deadline else { break }
        // The clients cannot use this relay any more, so that the other services share a short deadline.
        _ = deadline.begin(patience: LostFiles.farewell)
        throw StartupError(reason)
      }
      // No write can succeed.
      if loss != nil { continue }
      if !store.statistics.isAvailable, store.damage == nil {
        do {
          // The result of the write is in the statistics.
          try await store.write { try $0.touchDisk() }
        } catch {
          if logPause.isOver() { log.error("\(error)", metadata: ["code": "\(error.code.rawValue)"]) }
        }
      }
      let now = store.statistics
      if let duration = outage.observe(failures: now.failures, isAvailable: now.isAvailable, at: .now) {
        log.notice("the store works again", metadata: ["after": "\(duration)"])
      }
      store.boundLog()
      switch blockage.observe(since: now.logBlockedSince, at: .now) {
      case nil: break
      case .begins:
        log.warning(
          "a process that reads the database, such as sqlite3 or a backup, keeps its write-ahead log from a restart",
          metadata: ["bytes": "\(now.logSize)"])
      case .ends: log.notice("the write-ahead log is restarted", metadata: ["bytes": "\(now.logSize)"])
      }
    }
  }
}

/// Detects the end of an outage of the store, even if the outage began and ended between two observations.
struct StoreOutage {
  private var failures: UInt64
  private var start: ContinuousClock.Instant?

  init(failures: UInt64) { self.failures = failures }

  /// Returns the duration of an outage that has ended, since its first observation. Returns `nil` at all other times.
  mutating func observe(failures: UInt64, isAvailable: Bool, at now: ContinuousClock.Instant) -> Duration? {
    if failures != self.failures || !isAvailable { start = start ?? now }
    self.failures = failures
    guard isAvailable, let start else { return nil }
    self.start = nil
    return now - start
  }
}

/// Detects a reader that blocks the write-ahead log for longer than the relay's own reads do.
struct LogBlockage {
  enum Event { case begins, ends }

  static let patience = Duration.seconds(10)

  private var isReported = false

  /// - Parameter start: The time since when a reader blocks the log. Is `nil` if none does.
  mutating func observe(since start: ContinuousClock.Instant?, at now: ContinuousClock.Instant) -> Event? {
    let isBlocked = start.map { now - $0 >= Self.patience } ?? false
    // A reader that has just begun to block does not end the event.
    guard isBlocked != isReported, isBlocked || start == nil else { return nil }
    isReported = isBlocked
    return isBlocked ? .begins : .ends
  }
}
