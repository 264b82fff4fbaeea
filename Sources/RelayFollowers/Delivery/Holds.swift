// SPDX-License-Identifier: Apache-2.0
import RelayDelivery
import RelayHub
package import RelayProtocol
package import RelayPush
import RelayRequests
package import RelayState
import RelayStore

/// Decides pushes again because a fact has changed or a hold is over.
///
/// The state is private. ``Deliveries`` creates one object, and the methods run on the hub's thread.
package final class Holds {
  /// The users whose pushes are being decided again. The value is true if a fact has changed since the last round
  /// began.
  private var reconsidered: [UserID: Bool] = [:]
  private let endings = AlarmedWork(.holds)
  private var releases = Releases()

  private let recipients: Recipients
  private let people: People
  private let zones: Zones
  private let inbox: Inbox
  private let worker: PushWorker

  package init(_ people: People, _ inbox: Inbox, _ worker: PushWorker) {
    (self.people, self.inbox, self.worker) = (people, inbox, worker)
    (recipients, zones) = (people.recipients, people.zones)
  }

  /// True if pushes are being decided again. Tests wait until this is false.
  package var isBusy: Bool { endings.isRunning || !reconsidered.isEmpty }

  // MARK: By time

  /// Sets the alarm: a hold ends at this time at the latest.
  package func expectEnd(by time: Timestamp, on core: isolated Core) { core.bringForward(.holds, to: time) }

  /// Shifts the waits when the wall clock is set, so that they keep their length.
  package func move(by step: Duration) { releases.move(by: step) }

  /// The number of users in one read, and the number of users that are decided at the same time.
  private static let pageSize = 256
  private static let maxAtOnce = 16

  /// Ends holds if the alarm is due.
  package func endDue(on core: isolated Core) {
    if core.isDue(.holds) { end(on: core) }
  }

  /// Decides again the pushes that are due, and sets the alarm for the next ones.
  package func end(on core: isolated Core) {
    endings.run(on: core) { [self] in
      let now = core.hub.now
      let users = try await core.store.read { try $0.queue.heldUsers(dueBy: now, limit: Self.pageSize) }
      try await decideAgain(users, on: core)
      if users.count < Self.pageSize { releases.forget(by: now, except: Set(users)) }
      return [try await core.store.read { try $0.queue.nextHeldDue() }, releases.nextEnd].compactMap { $0 }.min()
    }
  }

  /// Decides the pushes of several users again.
  package func decideAgain(_ users: [UserID], on core: isolated Core) async throws {
    try await withThrowingTaskGroup(of: Void.self) { tasks in
      for (index, user) in users.enumerated() {
        if index >= Self.maxAtOnce { try await tasks.next() }
        tasks.addImmediateTask { try await self.decideAgain(user, on: core) }
      }
      try await tasks.waitForAll()
    }
  }

  /// Decides the pushes of one user again. If the rows of a user cannot be read, other users are still decided. Throws
  /// only if the store fails as a whole.
  package func decideAgain(_ user: UserID, on core: isolated Core) async throws {
    do {
      try await people.withUser(user, on: core) { try await decideAgain($0, user, on: core) }
    } catch StoreError.invalidRow(let reason) {
      core.diagnostics.logFailure(of: .invalidRow(reason: reason))
      let later = core.hub.now + Self.invalidRowPause
      try await core.store.write { try $0.queue.postponeHeld(of: user, to: later) }
    }
  }

  /// The pause before pushes that cannot be read are read again.
  private static let invalidRowPause = Duration.seconds(60)

  // MARK: At the start

  /// Decides again the pushes of users about whom a fact has changed: an earlier run may have stopped before it decided
  /// them. Runs before any push is sent. Held jobs are left to ``end(on:)``.
  package func review(on core: isolated Core) async {
    var last: UserID?
    await core.retrySlices {
      let users = try await core.store.read { [last] in try $0.queue.changedUsers(after: last, limit: Self.pageSize) }
      guard !users.isEmpty else { return false }
      try await decideAgain(users, on: core)
      last = users.last
      return true
    }
  }

  // MARK: Because a fact has changed

  /// Decides the pushes of a user again that are held or not sent yet. The user need not be in memory.
  /// - Parameter hasOpenDecisions: False if nothing was to be decided when the change was stored. Pushes that are stored
  ///   later already follow from it: ``People/change(_:to:requester:on:storing:)`` changes the facts first.
  func reconsider(_ name: UserID, hasOpenDecisions: Bool = true, on core: isolated Core) {
    // A task that decides at this moment may have read older facts.
    guard hasOpenDecisions || reconsidered[name] != nil else {
      releases.set(name, since: core.hub.now, until: nil)  // nothing is left to release
      return
    }
    // A user in memory stays there, with the new fact, until the task has decided.
    let user = core.hub.user(name)
    if let user { core.hub.retain(user) }
    Task {
      defer { if let user { core.hub.release(user) } }
      // Retries after a failure of the store that may pass, because the change is published only once.
      await core.retry { try await decideAgain(name, on: core) }
    }
  }

  /// Runs at most one task for each user. If a fact changes while the task runs, the task starts again, because it may
  /// have read older facts.
  private func decideAgain(_ user: UserHandle, _ name: UserID, on core: isolated Core) async throws {
    guard reconsidered.updateValue(true, forKey: name) == nil else { return }
    var rounds = 0
    do {
      while reconsidered[name] == true {
        reconsidered[name] = false
        rounds += 1
        let isDone = try await decideOnce(user, name, merges: rounds < Self.firstUnmergedRound, on: core)
        if !isDone { reconsidered[name] = true }
      }
      reconsidered[name] = nil
    } catch {
      // Other callers rely on this task, so another one follows.
      if reconsidered.removeValue(forKey: name) == true, core.stage != .stopping { reconsider(name, on: core) }
      throw error
    }
  }

  /// The round from which on the relay sends each push by itself, because jobs have changed during all earlier rounds.
  private static let firstUnmergedRound = 4

  /// - Returns: False if a push could not be merged or sent as decided, because its job has changed at the same time.
  ///   The caller repeats the round. Is true without `merges`.
  private func decideOnce(_ user: UserHandle, _ name: UserID, merges: Bool, on core: isolated Core) async throws
    -> Bool
  {
    var isDone = true
    var page: Int64?
    let released = releases.begin(of: name, now: core.hub.now)
    var planner = HoldPlanner(
      policy: core.settings.policy, apps: core.settings.apps.entitlements, released: released, merges: merges)
    repeat {
      var (pushes, next, hasSilenced) = try await core.store.read { [page] in
        let (pushes, next) = try $0.queue.openJobs(of: name, before: page, limit: DecisionBounds.maxSlice)
        return (pushes, next, try next == nil && $0.queue.hasSilencedUpdates(of: name))
      }
      if hasSilenced { try await core.store.write { try $0.updates.endSilence(of: name) } }
      page = next
      let now = core.hub.now
      let clock = core.store.readClock()
      for (index, push) in pushes.enumerated() {
        pushes[index].message.time = clock.wallTime(push.message.time, steps: push.steps)
      }
      let recipient = holdRecipient(user, name, of: pushes, now: now, on: core)
      let plan = planner.release(pushes, of: recipient, isLast: page == nil, now: now)
      for room in plan.pings { if let room = core.hub.room(room) { core.hub.ping(user, in: room) } }
      if try await !save(plan.decisions, on: core) { isDone = false }
      // The store has the decisions now, so that the next reader finds them.
      if let end = plan.nextEnd { expectEnd(by: end, on: core) }
      if plan.hasReleases { worker.wake() }
    } while page != nil
    releases.set(name, since: released, until: planner.waitsEnd)
    return isDone || !merges
  }

  private func holdRecipient(
    _ user: UserHandle, _ name: UserID, of pushes: [OpenPush], now: Timestamp, on core: isolated Core
  ) -> HoldRecipient {
    let recipient = recipients[user]
    var rooms: [RoomID: RoomMember] = [:]
    for room in Set(pushes.map(\.room)) where !room.isNotifications {
      if let handle = core.hub.room(room) { rooms[room] = core.hub.member(user, of: handle) }
    }
    var sessions: [MessageReference: [SessionFacts]] = [:]
    for push in pushes where push.isHeld && !push.room.isNotifications {
      sessions[MessageReference(room: push.room, seq: push.message.seq)] = inbox.sessions(
        of: user, in: push.room, at: push.message.seq,
        shown: core.settings.policy.time(ofStored: push.message.time, now: now),
        on: core)
    }
    return HoldRecipient(
      name, recipient, quietHours: zones.quietHours(of: recipient, at: now), rooms: rooms, inbox: sessions)
  }

  /// Stores the decisions in their order and in slices, so that messages do not wait long for the store. If the relay
  /// stops between two slices, the next run decides the rest: digest heads are released last.
  /// - Returns: False if a push could not be merged or sent as decided, because its job has changed.
  private func save(_ decisions: [JobDecision], on core: isolated Core) async throws -> Bool {
    var isDone = true
    var left = decisions[...]
    while !left.isEmpty {
      let slice = left.prefix(DecisionBounds.maxSlice)
      left = left.dropFirst(slice.count)
      // A reader's thread writes the JSON, because messages wait for the hub's thread and for the transaction.
      let outcomes = try await core.store.read { _ in
        slice.map { ($0.id, $0.action, StoredJSON.text(of: $0.explanation)) }
      }
      let isSliceDone = try await core.store.write(rows: outcomes.count * Self.rowsPerOutcome) { transaction in
        var isDone = true
        for (id, action, explanation) in outcomes
        where try !transaction.queue.decide(id, action, explanation: explanation) {
          switch action {
          case .merge, .push: isDone = false
          case .hold, .wait, .cancel, .expire, .miss: break
          }
        }
        return isDone
      }
      if !isSliceDone { isDone = false }
    }
    return isDone
  }

  /// The number of rows that one decision changes: the job, the explanation and the next job of the queue.
  private static let rowsPerOutcome = 3
}
