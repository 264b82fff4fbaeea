// SPDX-License-Identifier: Apache-2.0
import RelayDelivery
import RelayHub
import RelayProtocol
import RelayStore

/// Pushes that are decided again, because a fact has changed or a hold is over.
extension Relay {
  // MARK: By time

  /// A hold ends at this time at the latest.
  func expectHoldEnd(by time: Timestamp) {
    if let alarm = holdAlarm, alarm <= time { return }
    holdAlarm = time
    armAlarm()
  }

  /// Users that are looked for at once, and of these so many are at work at the same time.
  private static let holdPage = 256
  private static let mostAtOnce = 16

  /// Decides again what is due, and looks when there is next something.
  func endHolds() {
    holdAlarm = nil
    armAlarm()
    guard !isEndingHolds else {
      areMoreHoldsOver = true
      return
    }
    isEndingHolds = true
    Task {
      defer {
        isEndingHolds = false
        // What was due meanwhile may have been stored behind what was read.
        if areMoreHoldsOver {
          areMoreHoldsOver = false
          endHolds()
        }
      }
      do {
        let now = hub.now
        let users = try await store.read { try $0.heldUsers(dueBy: now, limit: Self.holdPage) }
        try await decideAgain(users)
        if users.count < Self.holdPage { releases.forget(by: now, except: Set(users)) }
        // Where something is due still, a moment is left for others.
        let next = [try await store.read { try $0.nextHeldDue() }, releases.nextEnd].compactMap { $0 }.min()
        if let next { expectHoldEnd(by: max(next, hub.now + .milliseconds(10))) }
      } catch {
        _ = requestError(error)  // logs the failure
        expectHoldEnd(by: hub.now + Self.storePause)
      }
    }
  }

  private func decideAgain(_ users: [UserID]) async throws {
    try await withThrowingTaskGroup(of: Void.self) { tasks in
      for (index, user) in users.enumerated() {
        if index >= Self.mostAtOnce { try await tasks.next() }
        tasks.addImmediateTask { try await self.decideAgain(user) }
      }
      try await tasks.waitForAll()
    }
  }

  /// One user's rows that cannot be read stop nobody else's. Throws only where the store fails as a whole.
  func decideAgain(_ user: UserID) async throws {
    do {
      let handle = try await retain(user)
      defer { hub.release(handle) }
      try await decideAgain(handle, user)
    } catch StoreError.damaged(let reason) {
      logFailure(of: .damaged(reason: reason))
      let later = hub.now + Self.damagedPause
      try await store.write { try $0.postponeHeld(of: user, to: later) }
    }
  }

  /// For how long pushes are left alone that cannot be read.
  private static let damagedPause = Duration.seconds(60)

  // MARK: At the start

  /// Decides again what was not sent when something changed, because an earlier run may have been killed before it
  /// did. Before any push goes out. Held jobs are left to ``endHolds()``.
  func reviewPushes() async {
    var last: UserID?
    while stage != .stopping {
      do {
        let users = try await store.read { [last] in try $0.changedUsers(after: last, limit: Self.holdPage) }
        guard !users.isEmpty else { return }
        try await decideAgain(users)
        last = users.last
      } catch {
        _ = requestError(error)  // logs the failure
        try? await Task.sleep(for: Self.storePause)
      }
    }
  }

  // MARK: Because something has changed

  /// The same for somebody who need not be in memory.
  func reconsider(_ user: UserID) {
    Task {
      do {
        try await decideAgain(user)
      } catch {
        // Until the store works again: what has changed is not told a second time.
        _ = requestError(error)
        try? await Task.sleep(for: Self.storePause)
        if stage != .stopping { reconsider(user) }
      }
    }
  }

  /// Decides again what is held for the user, or not sent yet: something that the decision looks at has changed.
  func reconsider(_ user: UserHandle) {
    guard let name = hub.name(of: user) else { return }
    hub.retain(user)
    Task {
      defer { hub.release(user) }
      do {
        try await decideAgain(user, name)
      } catch StoreError.damaged(let reason) {
        logFailure(of: .damaged(reason: reason))
      } catch {
        // As above.
        _ = requestError(error)
        try? await Task.sleep(for: Self.storePause)
        if stage != .stopping { reconsider(user) }
      }
    }
  }

  /// One at a time for each user. Whoever is at it begins anew, because what was read may be older than the change.
  private func decideAgain(_ user: UserHandle, _ name: UserID) async throws {
    guard reconsidered.updateValue(true, forKey: name) == nil else { return }
    var rounds = 0
    do {
      while reconsidered[name] == true {
        reconsidered[name] = false
        rounds += 1
        let isDone = try await decideOnce(user, name, merges: rounds < Self.maxRounds)
        if !isDone { reconsidered[name] = true }
      }
      reconsidered[name] = nil
    } catch {
      // Whoever asked meanwhile relies on it.
      if reconsidered.removeValue(forKey: name) == true, stage != .stopping { reconsider(user) }
      throw error
    }
  }

  /// After so many rounds in which jobs change as fast as they are decided, each push is sent by itself.
  private static let maxRounds = 4

  /// - Returns: False if a push was to become part of a digest and has changed meanwhile: the rest of the digest is held
  ///   still.
  private func decideOnce(_ user: UserHandle, _ name: UserID, merges: Bool) async throws -> Bool {
    var isDone = true
    var page: Int64?
    let released = releases.begin(of: name, now: hub.now)
    var planner = HoldPlanner(policy: policy, apps: apps.entitlements, released: released, merges: merges)
    repeat {
      let (jobs, next) = try await store.read { [page] in
        try $0.openJobs(of: name, before: page, limit: DecisionBounds.maxSlice)
      }
      page = next
      let now = hub.now
      let pushes = jobs.compactMap { OpenPush($0, parser) }
      let recipient = holdRecipient(user, name, of: pushes, now: now)
      let plan = planner.release(pushes, of: recipient, isLast: page == nil, now: now)
      for room in plan.pings { if let room = hub.room(room) { hub.ping(user, in: room) } }
      if try await !save(plan.decisions) { isDone = false }
      // After the store has the decisions, so that the next reader finds them.
      if let end = plan.nextEnd { expectHoldEnd(by: end) }
      if plan.hasReleases { worker.wake() }
    } while page != nil
    releases.set(name, since: released, until: planner.waitsEnd)
    return isDone || !merges
  }

  private func holdRecipient(_ user: UserHandle, _ name: UserID, of pushes: [OpenPush], now: Timestamp) -> HoldRecipient
  {
    let recipient = recipient(user)
    var rooms: [RoomID: RoomMember] = [:]
    for room in Set(pushes.map(\.room)) where !room.isNotifications {
      if let handle = hub.room(room) { rooms[room] = hub.member(user, of: handle).map(RoomMember.init) }
    }
    return HoldRecipient(name, recipient, quiet: quiet(of: recipient, at: now), rooms: rooms)
  }

  /// Stores the decisions in their order and in slices, so that no message waits long for them. If the relay is stopped
  /// between two slices, the next run decides the rest again: digest heads are released last.
  /// - Returns: False if a push was neither merged nor sent as decided.
  private func save(_ decisions: [JobDecision]) async throws -> Bool {
    var isDone = true
    var left = decisions[...]
    while !left.isEmpty {
      let slice = left.prefix(DecisionBounds.maxSlice)
      left = left.dropFirst(slice.count)
      // On a reader's thread: messages wait for the hub's thread and for the transaction.
      let rulings = try await store.read { _ in slice.map { ($0.id, JobRuling($0.action), $0.explanation.json) } }
      let isSliceDone = try await store.write(rows: rulings.count * Self.rowsPerRuling) { transaction in
        var isDone = true
        for (id, ruling, explanation) in rulings where try !transaction.rule(id, ruling, explanation: explanation) {
          switch ruling {
          case .merge, .push: isDone = false
          case .hold, .wait, .cancel, .expire: break
          }
        }
        return isDone
      }
      if !isSliceDone { isDone = false }
    }
    return isDone
  }

  /// A ruling changes its job, the explanation and the next job of the queue.
  private static let rowsPerRuling = 3
}
