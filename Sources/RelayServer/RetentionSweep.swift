// SPDX-License-Identifier: Apache-2.0
import Logging
import RelayCommands
import RelayHub
import RelayProtocol
import RelayPush
import RelayRequests
import RelayState
import RelayStore
import ServiceLifecycle

/// Deletes old data from the store in the background:
///
/// - messages that exceed the retention of their rooms, even if nobody writes to these rooms any more
/// - rooms without members that never had a message
/// - old records of silenced users, counts of forgotten tokens, finished push jobs, responses and calls
/// - reports of messages that were ended long ago
/// - invitations of users whose names nobody has used
/// - entries of the audit log that are too old or too many
///
/// While the store does not trust the wall clock, it deletes nothing by its age, see ``AgingClock``. The sweep stores the
/// state of that clock once an hour. From a damage of the database on, it does nothing.
struct RetentionSweep: Service, CustomStringConvertible {
  let description = "retention sweep"
  let core: Core
  let store: Store
  let start: ServerStart
  let log: Logger

  /// The maximum number of rooms in one read.
  static let page = 500
  /// The maximum number of messages that one transaction deletes. A `send` may wait for one transaction.
  static let maxDeleted = 1_000
  static let maxPause = Duration.seconds(60)
  static let minPause = Duration.seconds(1)
  /// The maximum age of the stored state of the clock, and its maximum age while deletion by age waits.
  static let clockInterval = Duration.seconds(3_600)
  static let waitingInterval = Duration.seconds(300)

  func run() async throws {
    guard try await start.waitForService() else { return }
    await cancelWhenGracefulShutdown { await sweepRepeatedly() }
  }

  /// Deletes old data every minute until the task is cancelled. If a room keeps messages, or the audit log its entries,
  /// for less than ten minutes, the pause is a tenth of that time, but at least one second.
  private func sweepRepeatedly() async {
    var noted: ContinuousClock.Instant?
    var cause: AgingClock.Cause?
    while !Task.isCancelled {
      guard store.damage == nil else {
        try? await Task.sleep(for: Self.maxPause)
        continue
      }
      let reading = store.readClock()
      if reading.cause != cause { logWait(reading) }
      let interval = reading.cause == nil ? Self.clockInterval : Self.waitingInterval
      if noted.map({ .now - $0 >= interval }) ?? true || reading.cause != cause {
        do {
          try await store.write { try $0.noteClock() }
          noted = .now
        } catch {
          if !error.isDamage { log.error("the state of the clock is not stored: \(error)") }
        }
      }
      cause = reading.cause
      let settings = await core.settings
      let (patterns, audit) = (settings.rooms, settings.audit)
      let pause = min(patterns.minAge ?? Self.maxPause, audit.retention) / 10
      try? await Task.sleep(for: min(max(pause, Self.minPause), Self.maxPause))
      await attempt("messages") { try await sweep(patterns) }
      await attempt("records of silenced users") {
        try await purge { try $0.silenced.purge() == Transaction.maxPurged }
      }
      await attempt("counts of forgotten tokens") { try await store.write { try $0.devices.purgeForgotten() } }
      await attempt("removals of notifications") { try await purge { try $0.updates.purgeRemovals() } }
      await attempt("finished push jobs") { try await purgeJobs() }
      await attempt("responses") { try await purge { try $0.responses.purge() } }
      await attempt("calls") { try await purge { try $0.calls.purge() } }
      await attempt("invitations") { try await core.expireInvitations() }
      await attempt("reports of messages") { try await purge { try $0.reports.purge() } }
      await attempt("entries of the audit log") {
        try await purge { try $0.audit.purge(olderThan: audit.retention, max: audit.maxEntries) }
      }
    }
  }

  private func logWait(_ reading: ClockReading) {
    switch reading.cause {
    case .step?:
      log.warning(
        "the wall clock was set by much: nothing is deleted by its age until nobody has set it for a day",
        metadata: ["wait": "\(reading.remaining)", "confirm": "POST /v1/clock/confirm"])
    case .stop?:
      log.notice(
        "the relay was stopped for long, or its clock is wrong: nothing is deleted by its age for a day",
        metadata: ["wait": "\(reading.remaining)", "confirm": "POST /v1/clock/confirm"])
    case nil: log.notice("data is deleted by its age again")
    }
  }

  /// Performs one part of a sweep. A failure is logged and does not stop the other parts. The next sweep tries again.
  private func attempt(_ what: String, _ work: () async throws -> Void) async {
    do {
      try await work()
    } catch {
      guard (error as? StoreError)?.isDamage != true else { return }
      log.error("old \(what) are not deleted: \(error)")
    }
  }

  /// Deletes rows in several transactions, so that a `send` waits for one transaction only.
  /// - Parameter batch: Deletes rows in a transaction. Returns true if more rows may remain.
  private func purge(_ batch: @escaping @Sendable (Transaction) throws -> Bool) async throws {
    while !Task.isCancelled, try await store.write(rows: Transaction.maxPurged, batch) {}
  }

  private func purgeJobs() async throws {
    let bound = store.readClock().now - PushWorker.retention
    try await purge { try $0.queue.purge(finishedBefore: bound) == Transaction.maxPurged }
  }

  private func sweep(_ patterns: RoomPatterns) async throws {
    var position: Int64? = 0
    while let after = position, !Task.isCancelled {
      let found = try await store.read { try $0.rooms.aging(after: after, limit: Self.page) }
      let unused = found.rooms.filter(\.isUnused).map(\.room)
      if !unused.isEmpty {
        try await store.write(rows: unused.count) { for room in unused { try $0.rooms.forgetIfUnused(room) } }
      }
      for aging in found.rooms where !aging.isUnused {
        var retention = patterns.policy(for: aging.room).history
        // A room in memory keeps its old policy after a reload, so it may still store messages.
        if retention.count == 0 { retention = await core.policy(of: aging.room).history }
        let reading = store.readClock()
        if aging.isDue(retention, now: reading.cause == nil ? reading.now : nil) {
          try await trim(aging.room, to: retention)
        }
      }
      position = found.next
    }
  }

  private func trim(_ room: RoomID, to retention: Retention) async throws {
    while !Task.isCancelled {
      let trimmed = try await store.write(rows: Self.maxDeleted) {
        try $0.messages.trim(room, to: retention, maxDeleted: Self.maxDeleted)
      }
      guard let trimmed else { return }
      await core.forget(room, before: trimmed.first)
      guard trimmed.more else { return }
    }
  }
}

extension Core {
  /// Removes the messages before `first`, which the store has deleted, and their quotes from the hub's memory.
  fileprivate func forget(_ room: RoomID, before first: Int64) {
    guard let handle = hub.room(room) else { return }
    relay.rooms.forgetFrames(before: first, quoting: 0...max(0, first - 1), in: handle, on: self)
  }

  fileprivate func expireInvitations() async throws { try await relay.invitations.expire(on: self) }

  fileprivate func policy(of room: RoomID) -> RoomPolicy { relay.memory.policy(of: room, on: self) }
}
