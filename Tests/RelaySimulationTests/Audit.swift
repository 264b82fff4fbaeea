// SPDX-License-Identifier: Apache-2.0
import RelayDelivery
import RelayGateways
import RelayHub
import RelayJSON
import RelayProtocol
import RelayStore

/// What is known of push jobs and of what the gateway was handed, over all steps.
struct Audit {
  /// What the last look at the disk has shown; nil: there was none since the start.
  private(set) var news: DiskNews?
  /// Every job, by its id, as it was seen last.
  private(set) var jobs: [String: JobRow] = [:]
  /// What they are for.
  var decided: Set<Model.Debt> = []
  /// Jobs that were out of the order of their rooms at some time.
  var disordered: Set<String> = []
  var collapseIDs: [Place: String] = [:]
  var places: [String: Place] = [:]
  /// Under which collapse id a device was told of a message.
  var told: [Target: [Place: String]] = [:]
  /// The jobs that a device was pushed for a message.
  var pushed: [Model.Debt: Set<String>] = [:]
  /// Jobs of which the gateway has said that they are sent.
  var sent: Set<String> = []
  /// What was handed over at the end of the former relay, and may not be on disk.
  var untold: [RecordingGateway.Handed] = []
  /// The newest message that was handed over for a device in a room.
  var newest: [Membership: [Target: (seq: Int64, time: Timestamp, isDigest: Bool)]] = [:]
  /// Tokens that the gateway has said are of no use.
  var refused: Set<String> = []
  var tally = Tally()
  private var seen: Int64 = 0
  private var seenAt = VirtualClock.start
  /// Nothing was written since so many commits.
  private var commits = -1

  /// What it was before; nil: it is new.
  mutating func add(_ job: JobRow) -> JobRow? {
    decided.insert(Model.Debt(place: job.place, target: job.target))
    if job.isAnyway { decided.insert(Model.Debt(place: job.place, target: job.target, isAnyway: true)) }
    return jobs.updateValue(job, forKey: job.id)
  }

  mutating func read(_ relay: SimulatedRelay) throws -> DiskNews {
    if let news, commits == relay.fuse.commits { return news }
    commits = relay.fuse.commits
    let news = try relay.read { try DiskNews($0, after: seen, since: seenAt) }
    self.news = news
    return news
  }

  /// The news are looked at.
  mutating func close(_ now: Timestamp) {
    seen = news?.newest ?? 0
    seenAt = now
  }

  /// Something else was written.
  mutating func distrust() { commits = -1 }

  /// After a start, all is to be looked at again.
  /// - Parameter isCrash: How pushes have ended may not be on disk.
  mutating func begin(isCrash: Bool) {
    news = nil
    seen = 0
    commits = -1
    if isCrash { sent = [] }
  }
}

extension Simulation {
  /// Holds what is to be seen after a step against the model.
  func look() throws {
    model.forgive(now: clock.now)
    guard let news = audit.news else { return }
    for job in news.jobs {
      let known = audit.add(job)
      if let known, known.isAsDecided(job), known.isFinished == job.isFinished { continue }
      try look(at: job, known)
    }
    for handed in audit.untold where try !lookAtUpdate(handed) { try look(at: handed, former.0, former.1) }
    audit.untold = []
    for handed in gateway.takeHanded() {
      transcript?.add("\(handed.device.token) is pushed \(handed.push.headers.collapseID)", at: handed.time)
      guard try !lookAtUpdate(handed) else { continue }
      try look(at: handed, before, model)
      if handed.answer == .sent { audit.sent.insert(handed.push.id) }
    }
    try lookAtDevices(news)
    try lookAtHolds(news.jobs)
    for claim in claims { try claim() }
    try lookAtWaits(news.cursors)
    try lookAtClients()
    try lookAtShown()
    audit.close(clock.now)
  }

  // MARK: Jobs

  private func look(at job: JobRow, _ known: JobRow?) throws {
    if [.held, .merged].contains(job.state) || job.isThrottled || job.isAnyway { audit.disordered.insert(job.id) }
    if known?.explanation != job.explanation { try lookAtExplanation(of: job) }
    // What had no device any more, or no membership, when it was to be stored.
    if job.state == .cancelled { return audit.tally.count(cancelled: job.note ?? "") }
    audit.tally.count(job.state)
    guard known == nil else { return }
    try lookAtReason(for: job)
    audit.tally.count(model.message(at: job.place)?.time == job.created ? .jobAtOnce : .jobAfterWait)
  }

  /// Whether it was to be made, by the rules of the decision as they were before the step, or are after it.
  private func lookAtReason(for job: JobRow) throws {
    // What a crash left was made in the step before it.
    let (before, after) = job.created < model.attendance.start ? former : (before, model)
    let (place, user) = (job.place, job.target.user)
    guard let message = model.message(at: place), let wish = model.wishes[place] else {
      throw Violation(.needed, "a push of \(place), which is not known")
    }
    guard message.from != user else { throw Violation(.needed, "a push of \(place) to its sender") }
    let mark = before.members[Membership(room: place.room, user: user)].map { wish.isCall ? $0.read : $0.mark }
    if let mark = mark?.latest, mark >= place.seq {
      throw Violation(.needed, "a push of \(place) to \(user), who has all up to \(mark)")
    }
    if !job.isAnyway {
      // Of a message of this step nothing was known before it.
      var verdicts = [before, after].map {
        $0.knowing(place, of: model).verdict(on: place, to: job.target, isAnyway: job.isAnyway, at: job.created)
      }
      // Who held it may have been asked again since.
      if job.created < begun {
        verdicts.append(model.verdict(on: place, to: job.target, isAnyway: false, at: clock.now))
      }
      // Of what was attempted nothing is taken back.
      if job.attempts > 0, verdicts.contains(.hold) { verdicts.append(.push(.passive)) }
      let made: Verdict = job.state == .held ? .hold : .push(job.level.flatMap(Level.init(rawValue:)) ?? .critical)
      guard verdicts.contains(made) || job.state == .merged else {
        throw Violation(.needed, "\(place) is to be \(verdicts) for \(job.target), and is \(made)")
      }
    }
    guard !wish.isCall, !job.isAnyway else { return }
    let attendances = [before.attendance, after.attendance]
    guard !attendances.allSatisfy({ $0.isActivelyReceived(place, by: user) }) else {
      throw Violation(.needed, "a push of \(place) to \(user), who is there and has it")
    }
    let ends = attendances.map { $0.endOfWait(for: place, of: message.time, to: user) ?? message.time }
    guard ends.contains(where: { $0 <= job.created }) else {
      throw Violation(.needed, "a push of \(place) to \(user) at \(job.created), to be waited for until \(ends)")
    }
  }

  // MARK: Pushes

  /// Whether a push is beside those of jobs: a badge alone, or a change of what the device was told of.
  private func lookAtUpdate(_ handed: RecordingGateway.Handed) throws -> Bool {
    guard audit.jobs[handed.push.id] == nil else { return false }
    if handed.answer == .forget { audit.refused.insert(handed.device.token) }
    let payload = try parser.read(handed.push.payload)
    guard let communication = try payload.object("communication") ?? payload.object("push") else {
      return try payload.object("aps")?.members.keys.elementsEqual(["badge"]) == true
    }
    let told = try communication.string("notification", longest: 64)
    guard let told, told != handed.push.id, let job = audit.jobs[told] else {
      return false
    }
    let collapseID = handed.push.headers.collapseID
    guard audit.told[job.target]?[job.place] == collapseID, handed.push.headers.priority == .low else {
      throw Violation(.collapsed, "a change of \(job.place) as \(collapseID), which \(job.target) was not told of")
    }
    return true
  }

  private func look(at handed: RecordingGateway.Handed, _ before: Model, _ after: Model) throws {
    let push = handed.push
    guard let job = audit.jobs[push.id] else { throw Violation(.needed, "a push \(push.id) without a job") }
    let (place, target) = (job.place, job.target)
    guard let message = model.message(at: place), let wish = model.wishes[place] else {
      throw Violation(.needed, "a push of \(place), which is not known")
    }
    let what = "\(place) is pushed to \(target) at \(handed.time)"
    try lookAtTold(handed, job, what)

    let expires = wish.expires(from: message.time)
    let expiration = push.headers.type == .voip ? 0 : expires.rawValue / 1000
    guard handed.time < expires, push.headers.expiration == expiration else {
      throw Violation(.inTime, "\(what), to expire at \(push.headers.expiration), and it expires at \(expires)")
    }
    guard
      [after.devices[target], before.devices[target]].contains(where: {
        $0.map { World.tokens[$0.token] } == handed.device.token
      })
    else {
      throw Violation(.inTime, "\(what) with \(handed.device.token), which is not its token")
    }
    let verdicts = [before, after].map {
      $0.knowing(place, of: model).verdict(on: place, to: target, isAnyway: job.isAnyway, at: handed.time)
    }
    if verdicts.allSatisfy({ if case .some(.none) = $0 { true } else { false } }) {
      throw Violation(.inTime, "\(what), and is to be \(verdicts)")
    }
    try lookAtPayload(push, job, before, after, what)
    let membership = Membership(room: place.room, user: target.user)
    // Marks reach the disk, and the jobs there, within a second.
    let marks = before.members[membership].map { wish.isCall ? $0.read : $0.mark }
    if let mark = marks?.at(handed.time - Model.lateness), mark >= place.seq {
      throw Violation(.needed, "\(what), who has had all up to \(mark) for more than a second")
    }
    guard !audit.sent.contains(push.id) else { throw Violation(.needed, "\(what) again, and it was sent") }
    if !audit.disordered.contains(job.id) {
      // One that was decided once more after a crash may come late, and one that a digest told of when that is over.
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

  /// A push of it has come to its end, and with it what it told of.
  private func settle(_ job: JobRow) {
    let others = audit.jobs.values.filter { $0.mergedInto == job.id }
    for job in [job] + others {
      model.pushed(Model.Debt(place: job.place, target: job.target))
      if job.isAnyway { model.pushed(Model.Debt(place: job.place, target: job.target, isAnyway: true)) }
    }
  }

  /// Has the gateway answer what it has not yet.
  func letGo(hasSent: Bool) {
    for job in gateway.waiting.compactMap({ audit.jobs[$0] }) where hasSent {
      audit.sent.insert(job.id)
      settle(job)
    }
    gateway.letGo(hasSent ? .sent(.shown) : .retry(after: nil, .timeout, isUnknown: true))
  }

  // MARK: The rest

  private func lookAtDevices(_ news: DiskNews) throws {
    let devices = news.devices
    for target in devices.subtracting(model.devices.keys) {
      throw Violation(.kept, "\(target) is registered, and was not or is forgotten")
    }
    for (target, device) in model.devices where !devices.contains(target) {
      guard audit.refused.contains(World.tokens[device.token]) else {
        throw Violation(.kept, "\(target) is not registered any more")
      }
      model.lose(target, keeping: news.reports.said(since: before, in: model), now: clock.now)
    }
  }

  /// No message waits for longer than all waits together.
  private func lookAtWaits(_ cursors: [RoomID: Int64]) throws {
    for room in World.rooms {
      let place = Place(room: room, seq: (cursors[room] ?? 0) + 1)
      if isLate(place) { throw Violation(.reached, "\(place) is not decided at \(clock.now)") }
    }
    for debt in model.debts where !audit.decided.contains(debt) && isLate(debt.place) {
      throw Violation(.reached, "\(debt.place) is not pushed to \(debt.target) at \(clock.now)")
    }
  }

  private func isLate(_ place: Place) -> Bool {
    guard let message = model.message(at: place) else { return false }
    return clock.now > model.attendance.deadline(of: message.time) + Model.lateness
  }

  /// Who is in a room has heard all of it.
  private func lookAtClients() throws {
    for slot in World.slots {
      guard let client = clients[slot], !client.isEnding else { continue }
      for (room, heard) in client.heard where heard < model.log(of: room).newest {
        throw Violation(.ordered, "\(slot) has heard \(heard) of \(room), not \(model.log(of: room).newest)")
      }
    }
  }
}
