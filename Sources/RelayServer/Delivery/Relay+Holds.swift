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
        let isDone = try await decideOnce(user, name, merges: rounds < Self.mostRounds)
        if !isDone { reconsidered[name] = true }
      }
      reconsidered[name] = nil
    } catch {
      // Whoever asked meanwhile relies on it.
      if reconsidered.removeValue(forKey: name) == true, stage != .stopping { reconsider(user) }
      throw error
    }
  }

  /// Of a user whose jobs change as fast as they are decided, each is pushed by itself in the end.
  private static let mostRounds = 4

  /// - Returns: false when what was to become a digest has changed meanwhile: the rest of it is held still.
  private func decideOnce(_ user: UserHandle, _ name: UserID, merges: Bool) async throws -> Bool {
    var digests: [Target: Release] = [:]
    var carriers = Carriers()
    var isDone = true
    var page: Int64?
    // The waits of a user's released pushes have one bound, from the first of them on.
    let released = releases.begin(of: name, now: hub.now)
    var waitsEnd: Timestamp?
    repeat {
      let (jobs, next) = try await store.read { [page] in
        try $0.openJobs(of: name, before: page, limit: DecisionBounds.maxSlice)
      }
      page = next
      var rulings = rulings(on: jobs, of: user, name, released: released, &carriers)
      waitsEnd = [waitsEnd, rulings.waitsEnd].compactMap { $0 }.max()
      if merges { merge(&rulings, into: &digests) }
      // Carriers last, while whose hold lasts none goes out without what is merged into it.
      if page == nil {
        rulings.released += digests.values
        rulings.made += carriers.rulings
      }
      rulings.made += rulings.released.map { ($0.job.id, .push(level: $0.level.rawValue), $0.explanation) }
      if try await !rule(rulings.made) { isDone = false }
      // Once it is stored, so that whoever looks then finds it.
      if let end = rulings.nextEnd { expectHoldEnd(by: end) }
      if !rulings.released.isEmpty { worker.wake() }
    } while page != nil
    releases.set(name, since: released, until: waitsEnd)
    return isDone || !merges
  }

  private typealias MadeRuling = (id: String, ruling: JobRuling, explanation: Explanation)

  /// Stores the rulings in their order and in slices, so that no message waits long for them. If the relay is stopped
  /// between two slices, the next run decides what is left again: digest heads are released last.
  /// - Returns: false when something was neither merged nor pushed as it was to be.
  private func rule(_ made: [MadeRuling]) async throws -> Bool {
    var isDone = true
    var left = made[...]
    while !left.isEmpty {
      let slice = left.prefix(DecisionBounds.maxSlice)
      left = left.dropFirst(slice.count)
      // On a reader's thread: for the hub and for the transaction all messages wait.
      let rulings = try await store.read { _ in slice.map { ($0.id, $0.ruling, $0.explanation.json) } }
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

  private struct Rulings {
    var made: [MadeRuling] = []
    /// Held jobs that are to be pushed.
    var released: [Release] = []
    var nextEnd: Timestamp?
    /// The latest end of the waits by the rules 7 to 9 of pushes whose hold is over.
    var waitsEnd: Timestamp?
  }

  /// Jobs that carry others on their way: each as loud as the loudest that it tells of.
  private struct Carriers {
    var jobs: [(job: OpenJob, level: Level, explanation: Explanation)] = []
    /// Of what is merged into each.
    var loudest: [String: Level] = [:]

    var rulings: [MadeRuling] {
      jobs.compactMap { job, level, explanation in
        let level = level.raised(to: loudest[job.id])
        return job.level == level.rawValue ? nil : (job.id, .push(level: level.rawValue), explanation)
      }
    }
  }

  private struct Release {
    let job: OpenJob
    let device: DeviceID
    var level: Level
    let explanation: Explanation

    var target: Target { Target(device: device, collapse: job.collapse) }
    var order: (Timestamp, RoomID, Int64) { (job.message.time, job.room, job.message.seq) }
  }

  /// Where a digest goes: what replaces a push on the phone goes together, else one of it would replace the others.
  private struct Target: Hashable {
    let device: DeviceID
    let collapse: String?
  }

  private func rulings(
    on jobs: [OpenJob], of user: UserHandle, _ name: UserID, released: Timestamp, _ carriers: inout Carriers
  ) -> Rulings {
    let now = hub.now
    let person = self.recipient(user)
    let quiet = quiet(of: person, at: now)
    var rulings = Rulings()
    var pinged: Set<RoomID> = []
    // The oldest first: what leaves a carrier that leaves as well is not handed on to one that leaves next.
    for job in jobs.reversed() {
      guard let device = job.device else { continue }  // the store has ended it
      var facts = facts(of: job, device, user, name, person, quiet, now: now)
      var decision = RelayDelivery.decide(facts, policy: policy)
      if job.state == .held, case .push = decision.outcome {
        // Nothing silences the device any more, but the recipient may have come back, and may yet receive it.
        facts.released = released
        decision = RelayDelivery.decide(facts, policy: policy)
      }
      let explanation = Explanation(decision: decision, facts: facts)
      switch decision.outcome {
      case .wait(let end):
        // The waits of all others are over when there is a job.
        guard job.state == .held else { continue }
        rulings.waitsEnd = max(rulings.waitsEnd ?? end, end)
        rulings.nextEnd = min(rulings.nextEnd ?? end, end)
        if pinged.insert(job.room).inserted, let room = hub.room(job.room) { hub.ping(user, in: room) }
        guard job.due != end else { continue }
        rulings.made.append((job.id, .wait(until: end), explanation))
      case .none(.expired): rulings.made.append((job.id, .expire, explanation))
      case .none(let reason): rulings.made.append((job.id, .cancel(reason.rawValue), explanation))
      case .hold(let end):
        guard !job.isUnknown, !job.isNotifyAnyway else {
          // What may be on the phone already is not taken back; another try of it disturbs no more, unless it tells of
          // others that were decided as loud.
          if job.level != Level.passive.rawValue, !job.isNotifyAnyway, !job.isDigest {
            rulings.made.append((job.id, .push(level: Level.passive.rawValue), explanation))
          }
          continue
        }
        rulings.nextEnd = min(rulings.nextEnd ?? end, end)
        guard job.state != .held || job.due != end else { continue }
        rulings.made.append((job.id, .hold(until: end), explanation))
      case .push(let level):
        if let carrier = job.mergedInto { carriers.loudest[carrier] = level.raised(to: carriers.loudest[carrier]) }
        if job.state == .held {
          // What it told of others before it was held again, it tells as loudly.
          let level = job.isDigest ? level.raised(to: job.level.flatMap(Level.init(rawValue:))) : level
          rulings.released.append(Release(job: job, device: device.id, level: level, explanation: explanation))
        } else if job.isDigest {
          carriers.jobs.append((job, level, explanation))
        } else if job.level != level.rawValue {
          rulings.made.append((job.id, .push(level: level.rawValue), explanation))
        }
      }
    }
    return rulings
  }

  /// One push for all that is released at once for a device: that of the newest message carries the others.
  private func merge(_ rulings: inout Rulings, into digests: inout [Target: Release]) {
    // What is of no room goes by itself: a digest names rooms.
    let alone = rulings.released.filter(\.job.room.isNotifications)
    defer { rulings.released = alone }
    for release in rulings.released.sorted(by: { $0.order > $1.order }) where !release.job.room.isNotifications {
      guard var carrier = digests[release.target] else {
        digests[release.target] = release
        continue
      }
      carrier.level = max(carrier.level, release.level)
      digests[release.target] = carrier
      rulings.made.append(
        (release.job.id, .merge(into: carrier.job.id, level: release.level.rawValue), release.explanation))
    }
  }

  private func facts(
    of job: OpenJob, _ device: Device, _ handle: UserHandle, _ user: UserID, _ person: Recipient, _ quiet: QuietFacts?,
    now: Timestamp
  ) -> DeliveryCase {
    let message = job.message
    let time = policy.time(ofStored: message.time, now: now)
    let traits = MessageTraits(message, parser)
    let recipient = person.facts(
      user, of: traits, in: job.room, as: membership(of: job, handle, user, shown: time), quiet: quiet, now: now)
    var facts = traits.facts(at: time, isNotifyAnyway: job.isNotifyAnyway)
    facts.expires = traits.push.expires(from: min(message.time, now))
    return DeliveryCase(
      message: facts, recipient: recipient, device: person.facts(of: device, in: apps.entitlements), now: now)
  }

  private func membership(
    of job: OpenJob, _ handle: UserHandle, _ user: UserID, shown: Timestamp
  ) -> Membership {
    guard !job.room.isNotifications else { return .absent }
    let marks = newest(job.marks, of: user, in: job.room)
    // A push that is not held waits for no session.
    let room = job.state == .held ? hub.room(job.room) : nil
    let member = room.flatMap { hub.member(handle, of: $0) }.map(RoomMember.init)
    return Membership(marks, member?.presence, at: job.message.seq, shown: shown)
  }
}

extension Relay {
  /// A member's stored marks, or those that are not stored yet.
  func newest(_ stored: Marks?, of user: UserID, in room: RoomID) -> Marks? {
    guard let stored else { return nil }
    guard let room = hub.room(room), let user = hub.user(user), let known = hub.marks(of: user, in: room) else {
      return stored
    }
    return Marks(read: max(stored.read, known.read), received: max(stored.received, known.received))
  }
}

extension Level {
  /// The louder of both; nil: of what says nothing.
  fileprivate func raised(to other: Level?) -> Level { max(self, other ?? self) }
}
