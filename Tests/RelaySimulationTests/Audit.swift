// SPDX-License-Identifier: Apache-2.0
import RelayDelivery
import RelayGateways
import RelayHub
import RelayJSON
import RelayProtocol
import RelayStore

/// The records of push jobs and of the pushes that the gateway received, over all steps.
struct Audit {
  /// The result of the last read of the disk. Is `nil` when nothing was read since the start.
  private(set) var changes: DiskChanges?
  /// Every job by its id, in its last known state.
  private(set) var jobs: [String: JobRow] = [:]
  /// The messages and devices of these jobs.
  var decided: Set<Model.Debt> = []
  /// The jobs that have left the order of their rooms at some time.
  var disordered: Set<String> = []
  /// The collapse id of a message for each recipient.
  var collapseIDs: [Place: [UserID: String]] = [:]
  var places: [String: Place] = [:]
  /// The collapse id under which a device got the push of a message.
  var sentCollapseIDs: [Target: [Place: String]] = [:]
  /// The jobs that were pushed to a device for a message.
  var pushed: [Model.Debt: Set<String>] = [:]
  /// The jobs that the gateway has reported as sent.
  var sent: Set<String> = []
  /// The pushes that the gateway received at the end of the earlier relay. Their results may not be on disk.
  var uncertain: [RecordingGateway.Handed] = []
  /// The newest message that was pushed to a device in a room.
  var newest: [Membership: [Target: (seq: Int64, time: Timestamp, isDigest: Bool)]] = [:]
  /// The tokens that the gateway has refused.
  var refused: Set<String> = []
  var phones = PhoneModel()
  var tally = Tally()
  private var seen: Int64 = 0
  private var seenAt = VirtualClock.start
  /// The number of commits at the last read. Nothing was written since if it is the same.
  private var commits = -1

  /// Records a job. Returns its earlier state, or `nil` for a new job.
  mutating func add(_ job: JobRow) -> JobRow? {
    decided.insert(Model.Debt(place: job.place, target: job.target))
    if job.isAnyway { decided.insert(Model.Debt(place: job.place, target: job.target, isAnyway: true)) }
    return jobs.updateValue(job, forKey: job.id)
  }

  mutating func read(_ relay: SimulatedRelay) throws -> DiskChanges {
    if let changes, commits == relay.fuse.commits { return changes }
    commits = relay.fuse.commits
    let changes = try relay.read { try DiskChanges($0, after: seen, since: seenAt) }
    self.changes = changes
    return changes
  }

  /// Ends the checks of a step.
  mutating func close(_ now: Timestamp) {
    seen = changes?.newest ?? 0
    seenAt = now
  }

  /// Makes the next read go to the disk, because a test wrote to it.
  mutating func distrust() { commits = -1 }

  /// Resets the records after a start.
  /// - Parameter isCrash: True if the results of pushes may not be on disk.
  mutating func begin(isCrash: Bool) {
    changes = nil
    seen = 0
    commits = -1
    if isCrash { sent = [] }
  }
}

extension Simulation {
  /// Compares everything that is visible after a step with the model.
  func look() throws {
    model.forgive(now: clock.now)
    guard let changes = audit.changes else { return }
    try lookAtRooms(changes.governed)
    try lookAtChanges()
    for job in changes.jobs {
      let known = audit.add(job)
      if let known, known.isAsDecided(job), known.isFinished == job.isFinished { continue }
      try look(at: job, known)
    }
    for handed in audit.uncertain {
      try lookAtPhone(handed, former.0, former.1, isKnown: false)
      if try !lookAtUpdate(handed) { try look(at: handed, former.0, former.1) }
    }
    audit.uncertain = []
    for handed in gateway.takeHanded() {
      transcript?.add("\(handed.device.token) is pushed \(handed.push.headers.collapseID)", at: handed.time)
      try lookAtPhone(handed, before, model)
      guard try !lookAtUpdate(handed) else { continue }
      try look(at: handed, before, model)
      if handed.answer == .sent { audit.sent.insert(handed.push.id) }
    }
    try lookAtDevices(changes)
    try lookAtHolds(changes.jobs)
    try lookAtPhones()
    for claim in claims { try claim() }
    try lookAtWaits(changes.cursors)
    try lookAtClients()
    try lookAtShownChanges()
    try lookAtShown()
    audit.close(clock.now)
  }

  // MARK: Jobs

  private func look(at job: JobRow, _ known: JobRow?) throws {
    if [.held, .merged, .waiting].contains(job.state) || job.isAnyway { audit.disordered.insert(job.id) }
    if known?.explanation != job.explanation { try lookAtExplanation(of: job) }
    // A new job whose device or membership had ended before it was stored.
    if job.state == .cancelled { return audit.tally.count(cancelled: job.note ?? "") }
    audit.tally.count(job.state)
    guard known == nil else { return }
    try lookAtReason(for: job)
    audit.tally.count(model.message(at: job.place)?.time == job.created ? .jobAtOnce : .jobAfterWait)
  }

  /// Checks that the rules of the decision require a job, with the facts before or after the step.
  private func lookAtReason(for job: JobRow) throws {
    // A job from before a crash was made in the step before it.
    let (before, after) = job.created < model.attendance.start ? former : (before, model)
    let (place, user) = (job.place, job.target.user)
    guard let message = model.message(at: place), let options = model.pushOptions[place] else {
      throw Violation(.needed, "a push of \(place), which does not exist")
    }
    guard message.from != user else { throw Violation(.needed, "a push of \(place) to its sender") }
    let mark = before.members[Membership(room: place.room, user: user)].map { options.isCall ? $0.read : $0.mark }
    if let mark = mark?.latest, mark >= place.seq {
      throw Violation(.needed, "a push of \(place) to \(user), whose mark is \(mark)")
    }
    if !job.isAnyway {
      // Before the step, nothing was known about a message of this step.
      var expectedDecisions = [before, after].map {
        $0.knowing(place, of: model).expectedDecision(
          on: place, to: job.target, isAnyway: job.isAnyway, at: job.created)
      }
      // A held push may have been decided again since.
      if job.created < begun {
        expectedDecisions.append(model.expectedDecision(on: place, to: job.target, isAnyway: false, at: clock.now))
      }
      // A push that was attempted is not held again.
      if job.attempts > 0, expectedDecisions.contains(.hold) { expectedDecisions.append(.push(.passive)) }
      let made: ExpectedDecision =
        job.state == .held ? .hold : .push(job.level.flatMap(Level.init(rawValue:)) ?? .critical)
      // A push that was held before a crash may have expired after it.
      let hasExpired = job.created < model.attendance.start && job.state == .expired
      guard
        expectedDecisions.contains(made) || hasExpired && expectedDecisions.contains(.hold)
          || job.state == .merged
      else {
        throw Violation(.needed, "\(place) for \(job.target) is \(made), but the model decides \(expectedDecisions)")
      }
    }
    guard !options.isCall, !job.isAnyway else { return }
    let attendances = [before.attendance, after.attendance]
    guard !attendances.allSatisfy({ $0.isActivelyReceived(place, by: user) }) else {
      throw Violation(.needed, "a push of \(place) to \(user), who has an active session with it")
    }
    let ends = attendances.map { $0.endOfWait(for: place, of: message.time, to: user) ?? message.time }
    guard ends.contains(where: { $0 <= job.created }) else {
      throw Violation(.needed, "a push of \(place) to \(user) at \(job.created), before the wait ends at \(ends)")
    }
  }

  // MARK: Pushes

  /// True if a push has no job of its own: it shows nothing, or changes an earlier push.
  private func lookAtUpdate(_ handed: RecordingGateway.Handed) throws -> Bool {
    let headers = handed.push.headers
    switch handed.phonePush.content {
    case .alert, .ring: return false
    case .change, .badge, .wake, .removal: break
    }
    if handed.answer == .forget { audit.refused.insert(handed.device.token) }
    guard headers.priority == .low else { throw Violation(.needed, "\(headers.collapseID) at \(headers.priority)") }
    guard let (digest, text) = handed.phonePush.content.change else {
      guard headers.collapseID.hasPrefix("/") else {
        throw Violation(.collapsed, "a push that shows nothing as \(headers.collapseID)")
      }
      return true
    }
    guard let job = audit.jobs[digest.newest.notification] else {
      throw Violation(.needed, "a change of \(digest.newest.notification), which is no job")
    }
    // A phone that got no push of a call may show that it was missed.
    let shown = audit.sentCollapseIDs[job.target]?[job.place]
    guard shown == headers.collapseID || shown == nil && text == .missed else {
      throw Violation(
        .collapsed, "a change of \(job.place) as \(headers.collapseID), which \(job.target) does not show")
    }
    if handed.isPerhapsShown { audit.sentCollapseIDs[job.target, default: [:]][job.place] = headers.collapseID }
    return true
  }

  private func look(at handed: RecordingGateway.Handed, _ before: Model, _ after: Model) throws {
    let push = handed.push
    guard let job = audit.jobs[push.id] else { throw Violation(.needed, "a push \(push.id) without a job") }
    let (place, target) = (job.place, job.target)
    guard let message = model.message(at: place), let options = model.pushOptions[place] else {
      throw Violation(.needed, "a push of \(place), which does not exist")
    }
    let what = "\(place) is pushed to \(target) at \(handed.time)"
    try lookAtCollapseID(handed, job, what)

    let expires = options.expires(from: message.time)
    let expiration = push.headers.type == .voip ? 0 : expires.rawValue / 1000
    guard handed.time < expires, push.headers.expiration == expiration else {
      throw Violation(.inTime, "\(what) with expiration \(push.headers.expiration), but it expires at \(expires)")
    }
    guard
      [after.devices[target], before.devices[target]].contains(where: {
        $0.map { World.tokens[$0.token] } == handed.device.token
      })
    else {
      throw Violation(.inTime, "\(what) with \(handed.device.token), which is not its token")
    }
    let expectedDecisions = [before, after].map {
      $0.knowing(place, of: model).expectedDecision(on: place, to: target, isAnyway: job.isAnyway, at: handed.time)
    }
    if expectedDecisions.allSatisfy({ if case .some(.none) = $0 { true } else { false } }) {
      throw Violation(.inTime, "\(what), but the model decides \(expectedDecisions)")
    }
    try lookAtPayload(push, job, before, after, what)
    if options.isCall { try lookAtRinging(place, target.user, before, after, what) }
    let membership = Membership(room: place.room, user: target.user)
    // Marks reach the disk and the jobs within a second.
    let marks = before.members[membership].map { options.isCall ? $0.read : $0.mark }
    if let mark = marks?.at(handed.time - Model.lateness), mark >= place.seq {
      throw Violation(.needed, "\(what), whose mark was \(mark) for more than a second")
    }
    guard !audit.sent.contains(push.id) else { throw Violation(.needed, "\(what) again after it was sent") }
    if !audit.disordered.contains(job.id) {
      // A push that was decided again after a crash may be late. So may a push whose message was in a digest, after the
      // digest.
      if let newest = audit.newest[membership]?[target], !newest.isDigest {
        guard place.seq >= newest.seq || job.created >= newest.time else {
          throw Violation(.inTime, "\(what) after \(newest)")
        }
      }
      audit.newest[membership, default: [:]][target] = (
        place.seq, handed.time, isDigest: try parser.read(push.payload).has("digest")
      )
    }

    audit.tally.count(handed)
    switch handed.answer {
    case .sent, .dead, .forget:
      if handed.answer == .forget { audit.refused.insert(handed.device.token) }
      settle(job)
    case .retry, .none: break
    }
  }

  /// Records that a push of the job has ended, and with it the jobs that are merged into it.
  private func settle(_ job: JobRow) {
    let others = audit.jobs.values.filter { $0.mergedInto == job.id }
    for job in [job] + others {
      model.pushed(Model.Debt(place: job.place, target: job.target))
      if job.isAnyway { model.pushed(Model.Debt(place: job.place, target: job.target, isAnyway: true)) }
    }
  }

  /// Makes the gateway answer the waiting pushes.
  func letGo(hasSent: Bool) {
    for job in gateway.waiting.compactMap({ audit.jobs[$0] }) where hasSent {
      audit.sent.insert(job.id)
      settle(job)
    }
    audit.phones.answer(now: clock.now)
    gateway.letGo(hasSent ? .sent(.shown) : .retry(after: nil, .timeout, isUnknown: true))
  }

  // MARK: The rest

  private func lookAtDevices(_ changes: DiskChanges) throws {
    let devices = changes.devices
    for target in devices.subtracting(model.devices.keys) {
      throw Violation(.kept, "\(target) is registered, but never was or was deleted")
    }
    for (target, device) in model.devices where !devices.contains(target) {
      guard audit.refused.contains(World.tokens[device.token]) else {
        throw Violation(.kept, "\(target) is not registered any more")
      }
      model.lose(target, keeping: changes.reports.reports(since: before, in: model), now: clock.now)
    }
  }

  /// Checks that no message waits longer than the maximum of all waits.
  private func lookAtWaits(_ cursors: [RoomID: Int64]) throws {
    for room in World.rooms {
      let place = Place(room: room, seq: (cursors[room] ?? 0) + 1)
      if isLate(place) { throw Violation(.reached, "\(place) is still not decided at \(clock.now)") }
    }
    for debt in model.debts where !audit.decided.contains(debt) && isLate(debt.place) {
      throw Violation(.reached, "\(debt.place) is not pushed to \(debt.target) at \(clock.now)")
    }
  }

  private func isLate(_ place: Place) -> Bool {
    guard let message = model.message(at: place) else { return false }
    return clock.now > model.attendance.deadline(of: message.time) + Model.lateness
  }

  /// Checks that each client in a room has received all messages of it.
  private func lookAtClients() throws {
    for slot in World.slots {
      guard let client = clients[slot], !client.isEnding, !client.isSlow else { continue }
      for (room, received) in client.received where received < model.log(of: room).newest {
        throw Violation(.ordered, "\(slot) received \(room) up to \(received), not \(model.log(of: room).newest)")
      }
    }
  }
}

extension PhonePush.Content {
  /// The new form of an earlier notification. Is `nil` for other pushes.
  fileprivate var change: (DigestSubject, EntryText)? {
    if case .change(let digest, let text) = self { (digest, text) } else { nil }
  }
}
