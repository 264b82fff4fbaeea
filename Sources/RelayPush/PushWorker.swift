// SPDX-License-Identifier: Apache-2.0
package import Logging
import RelayDelivery
package import RelayGateways
package import RelayProtocol
package import RelayStore
import Synchronization

/// Hands push jobs to their gateways: claims the jobs that are due, sends them, and stores the results.
package actor PushWorker {
  let store: Store
  private let gateways: [Platform: any Gateway]
  let now: @Sendable () -> Timestamp
  let log: Logger
  let settings = Mutex(PushSettings())
  private let wakes: AsyncStream<Void>
  private nonisolated let waker: AsyncStream<Void>.Continuation
  let receipts: ReceiptKey
  package var tally = PushTally()
  let forgettingPauses = Mutex<[String: Timestamp]>([:])
  /// Whether jobs could not be claimed the last time.
  private var isFailing = false
  /// Between lines about what could not be stored of single pushes.
  var logPause = LogPause()

  private var underWay = PushesUnderWay()
  /// Signals that no push is under way.
  private let ends = EndSignal()

  /// Jobs that are claimed at once.
  static let group = 64
  /// For how long a claim keeps a job; a crash returns it after that, or at the next start.
  static let lease = Duration.seconds(60)
  /// Bytes of a payload at its second attempt, where a gateway found it too large and did not say what is not.
  static let shortened = Push.largestPayload / 4 * 3
  /// The maximum of messages of one digest whose senders are notified.
  package static let mostReported = PushQueue.mostCoalesced
  /// The time for which a badge or an edit is retried after it was asked for.
  static let updateLifetime = Duration.seconds(3600)
  /// Of devices that name no app.
  static let defaultTopic = "stillwire"
  /// For how long finished jobs are kept for explanations.
  package static let retention = Duration.seconds(3 * 24 * 3600)

  package init(
    store: Store, gateways: [Platform: any Gateway], now: @escaping @Sendable () -> Timestamp, log: Logger
  ) {
    self.store = store
    receipts = ReceiptKey(store.secret)
    self.gateways = gateways
    self.now = now
    self.log = log
    (wakes, waker) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
  }

  /// An event that the worker reports to its listener.
  package enum Event: Sendable {
    /// The push of a message ended, and the sender wants its result.
    case ended(DeliveryState, MessageReference, to: UserID)
    /// The relay forgot a device, or its token for calls, because a gateway refused the token for good.
    case deviceForgotten(of: UserID)
    /// A push to the user waits again, and a fact of its decision has changed, perhaps while it was being sent.
    case pushOutdated(of: UserID)
  }

  private(set) var listener: (@Sendable (Event) async -> Void)?

  package func listen(_ listener: @escaping @Sendable (Event) async -> Void) { self.listener = listener }

  /// Replaces the settings for every push from now on. Any thread.
  package nonisolated func use(_ settings: PushSettings) {
    self.settings.withLock { $0 = settings }
  }

  /// There is something to do. Any thread.
  package nonisolated func wake() { waker.yield() }

  /// Works until the task is cancelled, after ``takeOver()``.
  package func run() async {
    defer { nextAlarm?.cancel() }
    wake()
    await withDiscardingTaskGroup { tasks in
      for await _ in wakes {
        let result = await claimDue { claim in tasks.addTask { await self.push(claim) } }
        guard !Task.isCancelled else { return }
        await setAlarm(after: result)
      }
    }
  }

  /// Frees what an earlier run had claimed.
  package func takeOver() async {
    do {
      try await store.write { try $0.queue.releaseLeases() }
    } catch {
      log.error("push jobs of an earlier run wait for their leases: \(error)")
    }
  }

  enum Result {
    case some, none, failed
  }

  private var isRetired = false
  /// True while the store claims jobs, which are under way afterwards.
  private var isClaiming = false

  private var isIdle: Bool { underWay.isEmpty && !isClaiming }

  /// Claims no more jobs, and waits for the pushes under way. The next run sends a push again that is cut off, so that it
  /// may arrive twice.
  /// - Parameter deadline: Bounds the wait.
  package func retire(by deadline: ContinuousClock.Instant) async {
    isRetired = true
    await ends.wait(until: deadline) { await self.isIdle }
  }

  /// Until nothing is due and nothing is under way.
  func workOff() async {
    await withTaskGroup(of: Void.self) { tasks in
      repeat {
        let result = await claimDue { claim in tasks.addTask { await self.push(claim) } }
        guard result != .failed else { return }
      } while await tasks.next() != nil
    }
  }

  /// Group after group, until nothing is due but in lanes that are full.
  private func claimDue(_ begin: (ClaimedJob) -> Void) async -> Result {
    var result = Result.some
    while !Task.isCancelled, result == .some { result = await claimGroup(begin) }
    return result
  }

  private func claimGroup(_ begin: (ClaimedJob) -> Void) async -> Result {
    guard !isRetired else { return .none }
    isClaiming = true
    defer {
      isClaiming = false
      if isIdle { ends.send() }
    }
    let (time, underWay) = (now(), underWay)
    let claims: [ClaimedJob]
    let hasPendingUpdates: Bool
    do {
      (claims, hasPendingUpdates) = try await store.write(rows: 2 * Self.group) {
        try $0.queue.renewLeases(of: underWay.ids, now: time, until: time + Self.lease)
        let claims = try $0.queue.claimDue(
          limit: Self.group, now: time, leaseUntil: time + Self.lease, capacity: underWay.capacity)
        return (claims, try $0.reader.queue.hasPendingUpdates())
      }
    } catch {
      return fail(error)
    }
    if isFailing { log.notice("push jobs are claimed again") }
    isFailing = false
    for claim in claims {
      self.underWay.begin(claim.id, in: claim.lane)
      begin(claim)
    }
    guard hasPendingUpdates else { return claims.isEmpty ? .none : .some }
    do {
      // Each slice in a transaction of its own, so that no message waits long for them.
      try await store.write(rows: UpdateQueue.maxUpdateSlice) { try $0.updates.storePending() }
      return .some
    } catch {
      return fail(error)
    }
  }

  private func fail(_ error: StoreError) -> Result {
    if !isFailing { log.error("push jobs cannot be claimed: \(error)") }
    isFailing = true
    return .failed
  }

  private var nextAlarm: Task<Void, Never>?

  /// For how long the store is left alone after it has failed.
  static let pause = Duration.seconds(1)

  /// Wakes the worker when the next job is due, or when the store may have recovered.
  private func setAlarm(after result: Result) async {
    nextAlarm?.cancel()
    var delay = Self.pause
    let capacity = underWay.capacity
    if result != .failed,
      let due = try? await store.read({
        try $0.queue.nextDue(capacity: capacity) ?? .distant
      })
    {
      guard due != .distant else { return }
      delay = max(due - now(), .milliseconds(10))
    }
    nextAlarm = Task {
      try? await Task.sleep(for: delay)
      if !Task.isCancelled { wake() }
    }
  }

  private func push(_ claim: ClaimedJob) async {
    switch claim {
    case .push(let push): await attempt(push)
    case .update(let update): await attempt(update)
    }
    underWay.end(claim.id, in: claim.lane)
    if isIdle { ends.send() }
    // The device's next job can be claimed, and the lane has capacity.
    wake()
  }

  private func attempt(_ claim: Claim) async {
    let request = claim.push
    let expires = request.expires(from: claim.message.time)
    guard now() < expires else { return await finish(claim, .expired, "expired") }
    guard let gateway = gateways[claim.device.platform] else {
      return await finish(claim, .dead, "no gateway")
    }
    let digest = digest(of: claim, request, expires: expires)
    let isRinging = rings(claim.device, request)
    let attempts = AttemptLog()
    var outcome: PushOutcome
    do {
      outcome = await gateway.send(
        try isRinging ? Push(ringing: digest.newest) : Push(digest), to: claim.device, noting: attempts)
      if isRinging, case .forgetDevice(_, let time) = outcome {
        await forgetVoIPToken(of: claim.device, registeredBefore: time ?? claim.created)
        // Whether that token stays or goes: a call does not wait.
        outcome = await gateway.send(try Push(digest), to: claim.device, noting: attempts)
      }
      if case .tooLarge(_, let most?) = outcome {
        outcome = await gateway.send(try Push(digest, largest: most), to: claim.device, noting: attempts)
      }
      if case .tooLarge(_, nil) = outcome {
        outcome = await gateway.send(
          try Push(digest, largest: Self.shortened), to: claim.device, noting: attempts)
      }
    } catch {
      return await finish(claim, .dead, "\(error)")
    }
    // It has not left: the next run is the first to send it.
    if outcome == .retry(after: nil, .cancelled) { outcome = .paused(.zero, .cancelled) }
    let told = told(attempts, outcome)
    // In the service's word, where ours says less.
    let word = outcome.reason.map { $0 == .other ? told.last?.reason ?? $0.rawValue : $0.rawValue } ?? ""
    switch outcome {
    case .sent(let note): await finish(claim, .sent, note.rawValue, told)
    case .dead, .tooLarge: await finish(claim, .dead, word, told)
    case .forgetDevice(_, let time):
      await finish(claim, .dead, word, told, forgetting: time ?? claim.created)
    case .retry(let after, _, let isUnknown):
      let note = isUnknown ? "\(word), outcome unknown" : word
      await retry(claim, gateway.retryPolicy, after: after, note, told, isUnknown: isUnknown, expires: expires)
    case .paused(let wait, _):
      // When that is too late, it expires then.
      let due = min(now() + wait, expires)
      tally.count(.paused)
      await record("pause") {
        try $0.queue.note(told, of: claim.id)
        _ = try $0.queue.retry(claim.id, due: due, note: word, wasTried: false)
      }
      await tellIfOutdated(claim)
    }
  }

  /// Once sent, or refused for good, it is forgotten: the next change of the same is another.
  private func attempt(_ claim: UpdateClaim) async {
    guard let gateway = gateways[claim.device.platform], let push = push(of: claim) else { return await end(claim) }
    var outcome = await gateway.send(push, to: claim.device)
    if case .tooLarge(_, let most) = outcome, let shorter = self.push(of: claim, largest: most ?? Self.shortened) {
      outcome = await gateway.send(shorter, to: claim.device)
    }
    let after: Duration?
    var wasTried = true
    switch outcome {
    case .sent, .dead, .tooLarge: return await end(claim)
    case .forgetDevice(let reason, let time):
      log.debug("an update has no device", metadata: ["reason": "\(reason.rawValue)"])
      await forget(claim.device, registeredBefore: time ?? now())
      return await end(claim)
    case .retry(let wait, _, _): after = wait
    case .paused(let wait, _): (after, wasTried) = (wait, false)
    }
    var generator = SystemRandomNumberGenerator()
    let time = now()
    let due = gateway.retryPolicy.next(
      after: claim.attempts, retryAfter: after, now: time, expires: claim.created + Self.lifetime(of: claim),
      using: &generator)
    guard let due else { return await end(claim) }
    await record("update") { [wasTried] in try $0.updates.retry(claim.id, due: due, wasTried: wasTried) }
  }

  /// The time for which an update is retried. A deletion is retried for as long as its job is kept: the phone shows what
  /// the sender has taken back.
  static func lifetime(of claim: UpdateClaim) -> Duration {
    if case .change(.deleted, _) = claim.content { retention } else { updateLifetime }
  }

  private func end(_ claim: UpdateClaim) async {
    await record("update") { try $0.updates.finish(claim.id) }
  }

  private func tell(_ claim: Claim, _ state: DeliveryState) async {
    guard let listener, claim.reports || claim.count > 1 || !claim.others.isEmpty else { return }
    let told = try? await store.read { try $0.queue.reported(by: claim.id, limit: Self.mostReported) }
    for (message, _) in told ?? [] { await listener(.ended(state, message, to: claim.recipient)) }
  }

  /// What the services of a gateway said; where it has none, what it said itself.
  private func told(_ log: AttemptLog, _ outcome: PushOutcome) -> [PushAttempt] {
    let told = log.attempts
    if case .paused = outcome { return told }
    return told.isEmpty ? [PushAttempt(time: now(), reason: outcome.reason?.rawValue)] : told
  }

  private func retry(
    _ claim: Claim, _ policy: RetryPolicy, after: Duration?, _ note: String, _ attempts: [PushAttempt],
    isUnknown: Bool, expires: Timestamp
  ) async {
    var generator = SystemRandomNumberGenerator()
    let time = now()
    let next = policy.next(
      after: claim.attempts, retryAfter: after, now: time, expires: .distant, using: &generator)
    guard let due = next, due < expires else {
      return await finish(claim, .expired, note, attempts, isUnknown: isUnknown, othersDue: next)
    }
    tally.count(.retried)
    await record("retry") {
      try $0.queue.note(attempts, of: claim.id)
      _ = try $0.queue.retry(claim.id, due: due, note: note, isUnknown: isUnknown)
    }
    await tellIfOutdated(claim)
  }

  private func tellIfOutdated(_ claim: Claim) async {
    guard (try? await store.read { try $0.queue.isOutdated(claim.id) }) == true else { return }
    await listener?(.pushOutdated(of: claim.recipient))
  }

  /// - Parameter registered: The device has lost its token, unless it registered at this time or later; nil: it has not.
  private func finish(
    _ claim: Claim, _ state: FinishedState, _ note: String, _ attempts: [PushAttempt] = [], isUnknown: Bool = false,
    othersDue: Timestamp? = nil, forgetting registered: Timestamp? = nil
  ) async {
    switch state {
    case .sent: tally.count(.sent)
    case .expired: tally.count(.expired)
    case .dead: tally.count(.dead)
    case .cancelled: break  // by whoever read it, not here
    }
    let time = now()
    let device = claim.device
    let rule = forgettingRule(for: device)
    let forgetting = await record(state.rawValue) { transaction -> Forgetting in
      try transaction.queue.note(attempts, of: claim.id)
      _ = try transaction.queue.finish(
        claim.id, state: state, note: note, isUnknown: isUnknown, othersDue: othersDue, now: time)
      // Afterwards: what is forgotten takes the jobs with it that have not ended.
      guard let registered else { return .none }
      let forgetting = try transaction.devices.forget(
        token: device.token, platform: device.platform, registeredBefore: registered, in: rule.scope,
        pausedUntil: rule.pause)
      if case .kept = forgetting { try transaction.queue.amend(claim.id, note: "\(note), \(Self.keptNote)") }
      return forgetting
    }
    await conclude(forgetting, of: rule.app)
    await tell(claim, state == .sent ? .pushed : .failed)
  }

  /// Stores the end of a push. While the store is not available, this retries until the end is stored: the push stays
  /// under way meanwhile, so that it is not sent again, and lanes bound the number of such ends.
  /// - Returns: The result of the work; `nil` when the work fails by itself, or when the worker is cancelled.
  @discardableResult
  func record<Answer: Sendable>(
    _ what: String, _ work: @escaping @Sendable (Transaction) throws -> Answer
  ) async -> Answer? {
    while true {
      do {
        return try await store.write(work)
      } catch {
        if !isFailing, logPause.isOver() {
          log.error("the end of a push job (\(what)) cannot be stored: \(error)")
        }
        guard case .unavailable = error, (try? await Task.sleep(for: Self.pause)) != nil else { return nil }
      }
    }
  }
}

extension Timestamp {
  /// Later than any job.
  fileprivate static let distant = Timestamp(rawValue: .max)
}
