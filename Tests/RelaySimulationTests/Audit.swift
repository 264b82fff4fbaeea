// SPDX-License-Identifier: Apache-2.0
import RelayDelivery
import RelayGateways
import RelayProtocol
import RelayStore

/// What is known of push jobs and of what the gateway was handed, over all steps.
struct Audit {
  /// What the last look at the disk has shown; nil: there was none since the start.
  private(set) var news: DiskNews?
  /// Every job, by its id.
  private(set) var jobs: [String: JobRow] = [:]
  /// What they are for.
  private(set) var decided: Set<Model.Debt> = []
  var collapseIDs: [Place: String] = [:]
  var places: [String: Place] = [:]
  /// Jobs of which the gateway has said that they are sent.
  var sent: Set<String> = []
  /// What was handed over at the end of the former relay, and may not be on disk.
  var untold: [RecordingGateway.Handed] = []
  /// The newest message that was handed over for a device in a room.
  var newest: [Membership: [Target: (seq: Int64, time: Timestamp)]] = [:]
  /// Tokens that the gateway has said are of no use.
  var refused: Set<String> = []
  var tally = Tally()
  private var seen: Int64 = 0

  /// false: it is known.
  mutating func add(_ job: JobRow) -> Bool {
    decided.insert(Model.Debt(place: job.place, target: job.target))
    return jobs.updateValue(job, forKey: job.id) == nil
  }

  mutating func read(_ relay: SimulatedRelay) throws -> DiskNews {
    let news = try relay.read { [seen] in try DiskNews($0, after: seen) }
    self.news = news
    return news
  }

  /// The news are looked at.
  mutating func close() { seen = news?.newest ?? 0 }

  /// After a start, all is to be looked at again.
  /// - Parameter isCrash: How pushes have ended may not be on disk.
  mutating func begin(isCrash: Bool) {
    news = nil
    seen = 0
    if isCrash { sent = [] }
  }
}

extension Tally {
  fileprivate mutating func count(_ handed: RecordingGateway.Handed) {
    switch handed.answer {
    case .sent: count(.pushed)
    case .retry: count(.pushedAgain)
    case .forget, .dead: count(.pushRefused)
    case .none: count(.pushUnanswered)
    }
  }
}

extension Simulation {
  /// Holds what is to be seen after a step against the model.
  func look() throws {
    guard let news = audit.news else { return }
    for job in news.jobs where audit.add(job) {
      // What had no device any more, or no membership, when it was to be stored.
      guard job.state != .cancelled else { continue }
      try look(at: job)
      audit.tally.count(model.message(at: job.place)?.time == job.created ? .jobAtOnce : .jobAfterWait)
    }
    for handed in audit.untold { try look(at: handed, former.0, former.1) }
    audit.untold = []
    for handed in gateway.takeHanded() {
      try look(at: handed, before, model)
      if handed.answer == .sent { audit.sent.insert(handed.push.id) }
    }
    try lookAtDevices(news.devices)
    try lookAtWaits(news.cursors)
    try lookAtClients()
    audit.close()
  }

  // MARK: Jobs

  /// Whether it was to be made, by the rules of the decision as they were before the step, or are after it.
  private func look(at job: JobRow) throws {
    // What a crash left was made in the step before it.
    let (before, after) = job.created < model.attendance.start ? former : (before, model)
    let (place, user) = (job.place, job.target.user)
    guard let message = model.message(at: place) else {
      throw Violation(.needed, "a push of \(place), which is not known")
    }
    guard message.from != user else { throw Violation(.needed, "a push of \(place) to its sender") }
    let membership = Membership(room: place.room, user: user)
    guard after.members[membership] != nil || before.members[membership] != nil else {
      throw Violation(.needed, "a push of \(place) to \(user), who is no member")
    }
    if let mark = before.members[membership]?.mark.latest, mark >= place.seq {
      throw Violation(.needed, "a push of \(place) to \(user), who has all up to \(mark)")
    }
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

  private func look(at handed: RecordingGateway.Handed, _ before: Model, _ after: Model) throws {
    let push = handed.push
    guard let job = audit.jobs[push.id] else { throw Violation(.needed, "a push \(push.id) without a job") }
    let (place, target) = (job.place, job.target)
    guard let message = model.message(at: place) else {
      throw Violation(.needed, "a push of \(place), which is not known")
    }
    let what = "\(place) is pushed to \(target) at \(handed.time)"

    let collapseID = push.headers.collapseID
    if let known = audit.collapseIDs.updateValue(collapseID, forKey: place), known != collapseID {
      throw Violation(.collapsed, "\(what) as \(collapseID), and was as \(known)")
    }
    if let known = audit.places.updateValue(place, forKey: collapseID), known != place {
      throw Violation(.collapsed, "\(what) as \(collapseID), as \(known) was")
    }

    let expires = message.time + Model.pushLifetime
    guard handed.time < expires, push.headers.expiration == expires.rawValue / 1000 else {
      throw Violation(.inTime, "\(what), to expire at \(push.headers.expiration), and it expires at \(expires)")
    }
    guard [after.devices[target], before.devices[target]].contains(handed.device.token) else {
      throw Violation(.inTime, "\(what) with \(handed.device.token), which is not its token")
    }
    let membership = Membership(room: place.room, user: target.user)
    guard after.members[membership] != nil || before.members[membership] != nil else {
      throw Violation(.inTime, "\(what), who has left")
    }
    // Marks reach the disk, and the jobs there, within a second.
    if let mark = before.members[membership]?.mark.at(handed.time - Model.lateness),
      mark >= place.seq
    {
      throw Violation(.needed, "\(what), who has had all up to \(mark) for more than a second")
    }
    guard !audit.sent.contains(push.id) else { throw Violation(.needed, "\(what) again, and it was sent") }
    // One that was decided once more after a crash may come late.
    if let newest = audit.newest[membership]?[target] {
      guard place.seq >= newest.seq || job.created >= newest.time else {
        throw Violation(.inTime, "\(what) after \(newest)")
      }
    }
    audit.newest[membership, default: [:]][target] = (place.seq, handed.time)

    audit.tally.count(handed)
    switch handed.answer {
    case .sent, .dead, .forget:
      if handed.answer == .forget { audit.refused.insert(handed.device.token) }
      model.pushed(Model.Debt(place: place, target: target))
    case .retry, .none: break
    }
  }

  /// Has the gateway answer what it has not yet.
  func letGo(hasSent: Bool) {
    for job in gateway.waiting.compactMap({ audit.jobs[$0] }) where hasSent {
      audit.sent.insert(job.id)
      model.pushed(Model.Debt(place: job.place, target: job.target))
    }
    gateway.letGo(hasSent ? .sent(.shown) : .retry(after: nil, .serviceUnavailable))
  }

  // MARK: The rest

  private func lookAtDevices(_ devices: Set<Target>) throws {
    for target in devices.subtracting(model.devices.keys) {
      throw Violation(.kept, "\(target) is registered, and was not or is forgotten")
    }
    for (target, token) in model.devices where !devices.contains(target) {
      guard audit.refused.contains(token) else { throw Violation(.kept, "\(target) is not registered any more") }
      model.forget(target)
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
