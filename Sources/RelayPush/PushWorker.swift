// SPDX-License-Identifier: Apache-2.0
package import Logging
import RelayDelivery
package import RelayGateways
package import RelayProtocol
package import RelayStore
import Synchronization

/// Claims the push jobs that are due, sends them through the gateways, and stores the results.
///
/// Delivery is at least once: a job that was claimed before a crash is sent again. `Server` creates the worker. It is
/// an actor that does not run on the hub's thread.
package actor PushWorker {
  let store: Store
  private let gateways: [Platform: any Gateway]
  let now: @Sendable () -> Timestamp
  /// The clock of pauses, which nobody can set.
  let instant: @Sendable () -> ContinuousClock.Instant
  /// Returns true if the claims of this run are still valid. Returns false if another run may have released them.
  private let ownsClaims: @Sendable () async -> Bool
  let log: Logger
  let settings = Mutex(PushSettings())
  private let wakes: AsyncStream<Void>
  private nonisolated let waker: AsyncStream<Void>.Continuation
  let receipts: ReceiptKey
  package var tally = PushTally()
  /// The ends of the pauses in which no more tokens of an app are removed, by app. A pause begins after too many
  /// removals.
  let forgettingPauses = Mutex<[String: ContinuousClock.Instant]>([:])
  private let outages = Mutex(ServiceOutages())
  /// The push services that fail, by the time of their first failure. Safe to call from any thread.
  package nonisolated var serviceOutages: [ServiceOutage] { outages.withLock { $0.current(at: instant()) } }
  /// The lanes whose waiting pushes must be sent now.
  private var lanesToRetry: Set<Lane> = []
  /// Limits the log lines about pushes that failed for good.
  private var deadPause = LogPause()
  /// The pushes that failed for good since the last line about them.
  private var deadPushes = 0
  /// True if the last attempt to claim jobs failed.
  private var isFailing = false
  /// Limits the log lines about results that could not be stored.
  var logPause = LogPause()

  private var inProgress = PushesInProgress()
  /// Signals that no push is in progress.
  private let ends = EndSignal()

  /// The maximum number of jobs in one claim.
  static let group = 64
  /// The time after a claim in which other jobs wait for the next one. A job alone does not wait.
  static let claimPause = Duration.milliseconds(5)
  /// A claim is valid for this time and is renewed while the push is in progress. After a crash, the next start
  /// releases all claims (``releaseEarlierClaims()``), or the lease ends.
  static let lease = Duration.seconds(60)
  /// The payload limit in bytes of the second attempt, when a gateway refused the size and named no limit.
  static let shortened = Push.maxPayload / 4 * 3
  /// The maximum number of messages of one digest whose senders are notified.
  package static let maxReported = PushQueue.maxCoalesced
  /// The time for which a badge or an edit is retried.
  static let updateLifetime = Duration.seconds(3600)
  /// The topic of devices that register no app.
  static let defaultTopic = "stillwire"
  /// The time for which finished jobs are kept, so that the relay can explain them.
  package static let retention = Duration.seconds(3 * 24 * 3600)

  /// - Parameter ownsClaims: Called before each push is sent. May wait for the log of a cluster. Returns false if another
  ///   node may have released the claims of this one.
  package init(
    store: Store, gateways: [Platform: any Gateway], now: @escaping @Sendable () -> Timestamp,
    instant: @escaping @Sendable () -> ContinuousClock.Instant = { .now },
    ownsClaims: @escaping @Sendable () async -> Bool = { true }, log: Logger
  ) {
    self.store = store
    self.ownsClaims = ownsClaims
    receipts = ReceiptKey(store.secret)
    self.gateways = gateways
    self.now = now
    self.instant = instant
    self.log = log
    (wakes, waker) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
  }

  /// An event that the worker reports to its listener.
  package enum Event: Sendable {
    /// The push of a message ended, and its sender requested reports (`report`).
    case ended(DeliveryState, MessageReference, to: UserID)
    /// The relay removed a device, or its VoIP token, because a gateway refused the token for good.
    case deviceForgotten(of: UserID)
    /// A push waits again (retry or pause), and a fact of its decision may have changed while it was being sent.
    /// The decision must be made again.
    case pushOutdated(of: UserID)
  }

  private(set) var listener: (@Sendable (Event) async -> Void)?

  package func listen(_ listener: @escaping @Sendable (Event) async -> Void) { self.listener = listener }

  /// Replaces the settings for later pushes. Safe to call from any thread.
  package nonisolated func use(_ settings: PushSettings) {
    self.settings.withLock { $0 = settings }
  }

  /// Makes the worker look for due jobs. Safe to call from any thread.
  package nonisolated func wake() { waker.yield() }

  /// Processes jobs until the task is cancelled. Call ``releaseEarlierClaims()`` first.
  package func run() async {
    defer { nextAlarm?.cancel() }
    wake()
    await withDiscardingTaskGroup { tasks in
      for await _ in wakes {
        var hasClaimed = false
        let result = await claimDue { claim in
          hasClaimed = true
          tasks.addTask { await self.push(claim) }
        }
        guard !Task.isCancelled else { return }
        await setAlarm(after: result)
        // Jobs that become due meanwhile share a claim.
        if hasClaimed { try? await Task.sleep(for: Self.claimPause) }
      }
    }
  }

  /// Releases the claims of an earlier run.
  package func releaseEarlierClaims() async {
    do {
      try await store.write { try $0.queue.releaseLeases() }
    } catch {
      if !error.isDamage { log.error("push jobs of an earlier run stay claimed until their leases expire: \(error)") }
    }
  }

  enum ClaimResult {
    case some, none, failed
  }

  private var isRetired = false
  /// True while the store claims jobs that will then be in progress.
  private var isClaiming = false

  private var isIdle: Bool { inProgress.isEmpty && !isClaiming }

  /// Claims no more jobs, and waits for the pushes in progress. A push that is still in progress at the deadline is
  /// sent again by the next run, so that it may arrive twice.
  package func retire(by deadline: ContinuousClock.Instant) async {
    isRetired = true
    await ends.wait(until: deadline) { await self.isIdle }
  }

  /// Processes jobs until no job is due or in progress. Tests call it.
  func workOff() async {
    await withTaskGroup(of: Void.self) { tasks in
      repeat {
        let result = await claimDue { claim in tasks.addTask { await self.push(claim) } }
        guard result != .failed else { return }
      } while await tasks.next() != nil
    }
  }

  /// Claims groups of jobs until no job is due, except in lanes that are full. A lane is a queue with limited capacity.
  private func claimDue(_ begin: (Claim) -> Void) async -> ClaimResult {
    await retryWaiting()
    var result = ClaimResult.some
    while !Task.isCancelled, result == .some { result = await claimGroup(begin) }
    return result
  }

  private func claimGroup(_ begin: (Claim) -> Void) async -> ClaimResult {
    guard !isRetired else { return .none }
    isClaiming = true
    defer {
      isClaiming = false
      if isIdle { ends.send() }
    }
    let (time, inProgress) = (now(), inProgress)
    let (apps, zones) = settings.withLock { ($0.apps.entitlements, $0.zones) }
    let claims: [Claim]
    let hasPendingUpdates: Bool
    do {
      (claims, hasPendingUpdates) = try await store.write(rows: 2 * Self.group) {
        try $0.queue.renewLeases(of: inProgress.ids, now: time, until: time + Self.lease)
        let claims = try $0.queue.claimDue(
          limit: Self.group, now: time, leaseUntil: time + Self.lease, apps: apps, zones: zones,
          capacity: inProgress.capacity)
        return (claims, try $0.reader.queue.hasPendingUpdates())
      }
    } catch {
      return fail(error)
    }
    if isFailing { log.notice("push jobs are claimed again") }
    isFailing = false
    for claim in claims {
      self.inProgress.begin(claim.id, in: claim.lane)
      begin(claim)
    }
    guard hasPendingUpdates else { return claims.isEmpty ? .none : .some }
    do {
      // Store each slice in its own transaction, so that messages do not wait long.
      try await store.write(rows: UpdateQueue.maxUpdateSlice) { try $0.updates.storePending() }
      return .some
    } catch {
      return fail(error)
    }
  }

  private func fail(_ error: StoreError) -> ClaimResult {
    if !isFailing, !error.isDamage { log.error("push jobs cannot be claimed: \(error)") }
    isFailing = true
    return .failed
  }

  private var nextAlarm: Task<Void, Never>?

  /// The delay before the worker uses the store again after an error.
  static let pause = Duration.seconds(1)

  /// Wakes the worker when the next job is due, or when the store may have recovered.
  private func setAlarm(after result: ClaimResult) async {
    nextAlarm?.cancel()
    var delay = Self.pause
    let capacity = inProgress.capacity
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

  private func push(_ claim: Claim) async {
    var isMoreDue = true
    switch claim.content {
    case .alert: isMoreDue = await attempt(claim)
    case .change, .phone, .silent: await attemptUpdate(claim)
    }
    // Other jobs of a full lane may be due.
    if inProgress.end(claim.id, in: claim.lane) { isMoreDue = true }
    if isIdle { ends.send() }
    if isMoreDue { wake() }
  }

  /// The expiry of a push by the present wall clock. A step shifts the expiry of a message's push by the same amount, so
  /// that the push lives as long as without the step.
  private func end(of claim: Claim) -> Timestamp {
    let clock = store.readClock()
    switch claim.content {
    case .alert(let shown):
      if let end = shown.ends { return end + clock.moment.steps }
      return shown.push.expires(from: clock.wallTime(shown.message.time, steps: shown.steps))
    case .silent(_, epoch: _, let message, let request):
      return request.expires(from: clock.wallTime(message.time, steps: claim.steps))
    case .change, .phone: return now() + Self.lifetime(of: claim)
    }
  }

  /// The time at which the job was made, by the present wall clock.
  private func created(_ claim: Claim) -> Timestamp {
    store.readClock().wallTime(claim.created, steps: claim.steps)
  }

  /// - Returns: True if the worker must look for due jobs.
  private func attempt(_ claim: Claim) async -> Bool {
    let expires = end(of: claim)
    guard now() < expires else { return await finish(claim, .expired, "expired") }
    guard let gateway = gateways[claim.device.platform] else {
      logDead(claim, "no gateway")
      return await finish(claim, .dead, "no gateway")
    }
    var push = push(of: claim, expires: expires)
    let attempts = AttemptLog()
    var outcome = await send(push, claim.device, gateway, noting: attempts)
    if case .ring(let call, for: _) = push.content, case .forgetDevice(_, let time) = outcome {
      await forgetVoIPToken(of: claim.device, registeredBefore: time ?? created(claim))
      // The call must not wait: send it as an alert now, even if the VoIP token was kept.
      push.content = .alert(DigestSubject(newest: call))
      outcome = await send(push, claim.device, gateway, noting: attempts)
    }
    outcome = await sendShorter(&push, after: outcome, claim.device, gateway, noting: attempts)
    // The relay stopped before the push was sent. Store it as a pause, because a pause does not count as an attempt.
    if outcome == .retry(after: nil, .cancelled) { outcome = .paused(.zero, .cancelled) }
    let recorded = recordedAttempts(attempts, outcome)
    // Prefer the service's own reason if the relay knows only `other`.
    let word = outcome.reason.map { $0 == .other ? recorded.last?.reason ?? $0.rawValue : $0.rawValue } ?? ""
    switch outcome {
    case .sent(let note):
      var claim = claim
      claim.removals = push.carried
      let rings = if case .ring = push.content { true } else { false }
      return await finish(claim, .sent, note.rawValue, recorded, rings: rings)
    case .dead, .tooLarge:
      logDead(claim, word)
      return await finish(claim, .dead, word, recorded)
    case .forgetDevice(_, let time):
      return await finish(claim, .dead, word, recorded, forgetting: time ?? created(claim))
    case .retry(let after, _, let isUnknown):
      let note = isUnknown ? "\(word), outcome unknown" : word
      return await retry(
        claim, gateway.retryPolicy, after: after, note, recorded, isUnknown: isUnknown, expires: end(of: claim))
    case .paused(let wait, _):
      // If the pause outlasts the push, the push expires at its own time.
      let due = min(now() + wait, end(of: claim))
      tally.count(.paused)
      await record("pause") {
        try $0.queue.note(recorded, of: claim.id)
        _ = try $0.queue.retry(claim.id, due: due, note: word, wasTried: false)
      }
      await notifyIfOutdated(claim)
      return true
    }
  }

  /// Sends a push, unless another node may have released its claim: that node sends it. The write of `paused` that
  /// follows is safe: a node that leads no more cannot commit it.
  private func send(
    _ push: PhonePush, _ device: Device, _ gateway: any Gateway, noting attempts: AttemptLog
  ) async -> PushOutcome {
    guard await ownsClaims() else { return .paused(.zero, .cancelled) }
    let outcome = await gateway.send(push, to: device, noting: attempts)
    observe(outcome, attempts.attempts.last, of: device)
    return outcome
  }

  /// Logs the beginning and the end of a service's outage. After the end, the pushes that wait for their next attempt
  /// are sent.
  private func observe(_ outcome: PushOutcome, _ attempt: PushAttempt?, of device: Device) {
    guard let sign = ServiceOutages.Sign(outcome, status: attempt?.status, cause: attempt?.words) else { return }
    let (time, now) = (now(), instant())
    let (event, retries) = outages.withLock { $0.observe(sign, of: device, at: time, now) }
    switch event {
    case .begins(let outage):
      log.warning("a push service fails; the relay tries its pushes again", metadata: outage.metadata)
    case .ends(let outage):
      log.notice(
        "a push service works again",
        metadata: outage.metadata.merging(["after": "\(time - outage.since)"]) { $1 })
    case nil: break
    }
    guard retries else { return }
    lanesToRetry.insert(Lane(of: device))
    wake()
  }

  /// Makes pushes due that wait because their service failed: one for each probe, and a slice of each lane whose service
  /// works again.
  private func retryWaiting() async {
    let now = instant()
    for lane in outages.withLock({ $0.probes(at: now) }) { _ = await retryNow(lane, limit: 1) }
    for lane in lanesToRetry {
      switch await retryNow(lane, limit: PushQueue.maxRetriedNow) {
      case true?: wake()  // Other works are stored between two slices.
      case false?: lanesToRetry.remove(lane)
      case nil: break  // The worker tries again after the pause of a failed claim.
      }
    }
  }

  /// - Returns: True if more may wait. Is `nil` when the store is not available.
  private func retryNow(_ lane: Lane, limit: Int) async -> Bool? {
    let reasons = GatewayReason.unreachable.map(\.rawValue)
    return try? await store.write(rows: 2 * limit) { try $0.queue.retryNow(lane, after: reasons, limit: limit) }
  }

  /// Logs a push that failed for good. Do not call it for a device that is gone: that is the usual end of an app.
  private func logDead(_ claim: Claim, _ reason: String) {
    deadPushes += 1
    guard deadPause.isOver(now: instant()) else { return }
    log.warning(
      "a push has failed for good",
      metadata: [
        "platform": "\(claim.device.platform.rawValue)", "app": "\(claim.device.app ?? "none")", "reason": "\(reason)",
        "pushes": "\(deadPushes)",
      ])
    deadPushes = 0
  }

  /// Sends a push again with a shorter payload, if the gateway has refused its size.
  private func sendShorter(
    _ push: inout PhonePush, after outcome: PushOutcome, _ device: Device, _ gateway: any Gateway,
    noting attempts: AttemptLog
  ) async -> PushOutcome {
    var outcome = outcome
    if case .tooLarge(_, let maxSize?) = outcome, maxSize < push.maxSize {
      push.maxSize = maxSize
      outcome = await send(push, device, gateway, noting: attempts)
    }
    if case .tooLarge(_, nil) = outcome {
      push.maxSize = min(push.maxSize, Self.shortened)
      outcome = await send(push, device, gateway, noting: attempts)
    }
    return outcome
  }

  /// Sends an update. The update ends when it is sent or refused for good; a later change creates another update.
  private func attemptUpdate(_ claim: Claim) async {
    let expires = end(of: claim)
    guard let gateway = gateways[claim.device.platform], now() < expires else { return await endUpdate(claim) }
    var push = push(of: claim, expires: expires)
    let attempts = AttemptLog()
    let first = await send(push, claim.device, gateway, noting: attempts)
    let after: Duration?
    var wasTried = true
    let outcome = await sendShorter(&push, after: first, claim.device, gateway, noting: attempts)
    switch outcome {
    case .sent:
      var claim = claim
      claim.removals = push.carried
      await record("update") { [claim] in try $0.updates.finish(claim) }
      return
    case .dead, .tooLarge: return await endUpdate(claim)
    case .forgetDevice(let reason, let time):
      log.debug("an update's device token is no longer valid", metadata: ["reason": "\(reason.rawValue)"])
      await forget(claim.device, registeredBefore: time ?? now())
      return await endUpdate(claim)
    case .retry(let wait, _, _): after = wait
    case .paused(let wait, _): (after, wasTried) = (wait, false)
    }
    var generator = SystemRandomNumberGenerator()
    let due = gateway.retryPolicy.next(
      after: claim.attempts, retryAfter: after, now: now(), expires: created(claim) + Self.lifetime(of: claim),
      using: &generator)
    guard let due else { return await endUpdate(claim) }
    await record("update") { [wasTried] in
      try $0.updates.retry(claim.id, due: due, note: outcome.reason?.rawValue, wasTried: wasTried)
    }
  }

  /// The time for which an update is retried. A removal is retried for as long as it is open, because the phone still
  /// shows the message.
  static func lifetime(of claim: Claim) -> Duration {
    switch claim.content {
    case .change(.deleted, _): UpdateQueue.removalAge
    case .phone(let phone) where phone.removes: UpdateQueue.removalAge
    case .change, .phone, .silent: updateLifetime
    case .alert: preconditionFailure("the push of a message has its own end")
    }
  }

  private func endUpdate(_ claim: Claim) async {
    await record("update") { try $0.updates.finish(claim.id) }
  }

  private func notifySender(_ claim: Claim, _ state: DeliveryState) async {
    guard let listener, let shown = claim.shown, shown.reports || shown.isDigest else { return }
    let messages = try? await store.read { try $0.queue.reported(by: claim.id, limit: Self.maxReported) }
    for (message, _) in messages ?? [] { await listener(.ended(state, message, to: claim.recipient)) }
  }

  /// Returns the attempts at which a service was contacted. If there are none, makes one from the gateway's result.
  private func recordedAttempts(_ log: AttemptLog, _ outcome: PushOutcome) -> [PushAttempt] {
    let recorded = log.attempts
    if case .paused = outcome { return recorded }
    return recorded.isEmpty ? [PushAttempt(time: now(), reason: outcome.reason?.rawValue)] : recorded
  }

  private func retry(
    _ claim: Claim, _ policy: RetryPolicy, after: Duration?, _ note: String, _ attempts: [PushAttempt],
    isUnknown: Bool, expires: Timestamp
  ) async -> Bool {
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
    await notifyIfOutdated(claim)
    return true
  }

  private func notifyIfOutdated(_ claim: Claim) async {
    guard (try? await store.read { try $0.queue.isOutdated(claim.id) }) == true else { return }
    await listener?(.pushOutdated(of: claim.recipient))
  }

  /// Stores the end of a push, counts it, and notifies the sender.
  /// - Parameters:
  ///   - rings: True if the push was a call screen.
  ///   - registered: If set, removes the device's token unless the device registered it at this time or later.
  /// - Returns: False if nothing else has become due.
  private func finish(
    _ claim: Claim, _ state: FinishedState, _ note: String, _ attempts: [PushAttempt] = [], isUnknown: Bool = false,
    rings: Bool = false, othersDue: Timestamp? = nil, forgetting registered: Timestamp? = nil
  ) async -> Bool {
    switch state {
    case .sent: tally.count(.sent)
    case .expired: tally.count(.expired)
    case .dead: tally.count(.dead)
    case .cancelled: break  // The operation that cancels a push counts it.
    }
    let time = now()
    let device = claim.device
    let rule = forgettingRule(for: device)
    let stored = await record(state.rawValue) { transaction -> (Forgetting, isMoreDue: Bool) in
      if state == .sent { try transaction.updates.sent(claim.removals, to: device.id, of: claim.recipient) }
      _ = try transaction.queue.finish(
        claim.id, state: state, note: note, attempts: attempts, isUnknown: isUnknown, rings: rings,
        othersDue: othersDue, now: time)
      // Finish this job first: the removal of a device ends all its unfinished jobs.
      guard let registered else {
        return (.none, isMoreDue: try state != .sent || transaction.queue.hasNext(after: claim))
      }
      let forgetting = try transaction.devices.forget(
        token: device.token, platform: device.platform, registeredBefore: registered, in: rule.scope,
        pausedFor: rule.pause)
      if case .kept = forgetting { try transaction.queue.amend(claim.id, note: "\(note), \(Self.keptNote)") }
      return (forgetting, isMoreDue: true)
    }
    await conclude(stored?.0, of: rule.app)
    await notifySender(claim, state == .sent ? .pushed : .failed)
    return stored?.isMoreDue ?? true
  }

  /// Stores the result of a push, and retries while the store is unavailable. Meanwhile the push stays in progress, so
  /// that it is not sent again. The capacity of the lanes bounds the number of such results.
  /// - Returns: The result of the work. Is `nil` when the work itself fails, or when the worker is cancelled.
  @discardableResult
  func record<Answer: Sendable>(
    _ what: String, _ work: @escaping @Sendable (Transaction) throws -> Answer
  ) async -> Answer? {
    while true {
      do {
        return try await store.write(work)
      } catch {
        if !isFailing, !error.isDamage, logPause.isOver() {
          log.error("the result of a push job (\(what)) cannot be stored: \(error)")
        }
        guard case .unavailable = error, (try? await Task.sleep(for: Self.pause)) != nil else { return nil }
      }
    }
  }
}

extension Timestamp {
  /// A time later than any job.
  fileprivate static let distant = Timestamp(rawValue: .max)
}
