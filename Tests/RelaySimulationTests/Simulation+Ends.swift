// SPDX-License-Identifier: Apache-2.0
import RelayGateways
import RelayProtocol
import RelayStore

/// Restarts, crashes and the end of time.
extension Simulation {
  /// An orderly end of the process, and a start.
  func restart(after pause: Duration) throws {
    try step { relay.drain() }
    // A client that does not answer the close is cut after some seconds.
    for _ in 0..<2 where !clients.isEmpty { try advance(by: .seconds(5)) }
    guard clients.isEmpty else { throw Violation(.answered, "\(clients.keys) do not end") }
    audit.tally.count(.restart)
    countWaits()
    relay.stop()
    try start(after: pause, lateness: .zero, unanswered: [], isImage: false)
  }

  func crash(
    at point: Fuse.Point?, during asks: [Action.Asked], then time: Duration, after pause: Duration
  ) throws {
    if let point { relay.fuse.arm(point) }
    try step { say(asks) }
    if !relay.fuse.isBlown { try advance(by: time) }
    switch (relay.fuse.isBlown, point) {
    case (true, .commit): audit.tally.count(.crashAtCommit)
    case (true, .handing): audit.tally.count(.crashAtHanding)
    default: audit.tally.count(.crashAtRest)
    }
    relay.crash()
    let unanswered = try hearTheRest()
    if !unanswered.isEmpty { audit.tally.count(.crashInDoubt) }
    countWaits()
    try start(after: pause, lateness: Model.lateness, unanswered: unanswered, isImage: true)
  }

  private func countWaits() {
    if !model.debts.isSubset(of: audit.decided) { audit.tally.count(.restartInWait) }
  }

  /// What was told before the end. Returns what was asked and not answered.
  private func hearTheRest() throws -> [(UserID, Ask)] {
    let all = clients.values.map { $0 }
    while !clients.isEmpty { _ = try hear() }
    return all.flatMap { client in
      client.questions.values.compactMap { question in
        if case .ask(let asking) = question { (client.slot.user, asking.ask) } else { nil }
      }
    }
  }

  /// Starts a relay on what the former has left.
  /// - Parameter lateness: For how long what is written late may be missing.
  private func start(
    after pause: Duration, lateness: Duration, unanswered: [(UserID, Ask)], isImage: Bool
  ) throws {
    let end = clock.now
    clock.move(to: end + pause)
    try begin(isImage: isImage)
    former = (before, model)
    audit.untold = gateway.takeHanded()
    for handed in audit.untold where handed.answer == .forget { audit.refused.insert(handed.device.token) }
    let disk = try relay.read { try Disk($0) }
    let known = model
    try model.adopt(disk, end: end - lateness, unanswered: unanswered, refused: audit.refused, now: clock.now)
    if World.rooms.contains(where: { model.log(of: $0).newest > known.log(of: $0).newest }) {
      audit.tally.count(.untold)
    }
    if model.members.contains(where: { $1.mark.latest < known.members[$0]?.mark.latest ?? 0 }) {
      audit.tally.count(.marksLost)
    }
    try step {}
  }

  /// Far enough in the future that everything has come to its end, with a gateway that works.
  func endOfTime() throws {
    for token in World.tokens { gateway.answer(.sent, to: token) }
    try step { letGo(hasSent: true) }
    try advance(by: .seconds(60))
    try stand(still: .seconds(7200))
    try advance(by: .seconds(60))
    model.expire(now: clock.now)
    if let debt = model.debts.min(by: { "\($0)" < "\($1)" }) {
      throw Violation(.reached, "\(debt.place) has not reached \(debt.target), and \(model.debts.count - 1) others")
    }
    guard let news = audit.news else { return }
    guard news.unfinished == 0 else { throw Violation(.reached, "\(news.unfinished) jobs are not finished") }
    for room in World.rooms where model.log(of: room).newest != news.cursors[room] ?? 0 {
      throw Violation(.reached, "\(room) is decided up to \(news.cursors[room] ?? 0), of \(model.log(of: room).newest)")
    }
  }
}

extension Model {
  /// Goes on from what is on disk after a start, if that is what it must be.
  /// - Parameters:
  ///   - end: Marks as of this time must be there.
  ///   - unanswered: What may have happened or not.
  ///   - refused: Tokens of devices that may be gone.
  mutating func adopt(
    _ disk: Disk, end: Timestamp, unanswered: [(user: UserID, ask: Ask)], refused: Set<String>, now: Timestamp
  ) throws {
    for room in World.rooms { try adopt(room, disk.rooms[room]) }
    let memberships = World.rooms.flatMap { room in World.users.map { Membership(room: room, user: $0) } }
    for membership in memberships {
      try adopt(
        membership, disk.members[membership], end: end,
        unanswered: unanswered.filter { $0.user == membership.user }.map(\.ask), now: now)
    }
    try adopt(disk.devices, unanswered: unanswered, refused: refused)
    for (key, first) in keys where now < first.time + Self.keyLifetime {
      guard disk.keys[key]?.seq == first.seq else { throw Violation(.kept, "\(key) is forgotten, it was \(first)") }
    }
    keys = disk.keys
    attendance = Attendance(start: now)
  }

  private mutating func adopt(_ room: RoomID, _ found: Disk.Room?) throws {
    let log = log(of: room)
    guard let found else {
      guard log.newest == 0 else { throw Violation(.ordered, "\(room) is gone, with \(log.newest) messages") }
      return
    }
    try see(epoch: found.epoch, of: room)
    guard found.seq >= log.newest else {
      throw Violation(.ordered, "\(room) ends with \(found.seq), and \(log.newest) was shown")
    }
    for seq in stride(from: found.first, through: found.seq, by: 1) {
      guard let message = found.messages[seq] else { throw Violation(.ordered, "\(room)/\(seq) is gone") }
      try see(message, at: Place(room: room, seq: seq))
    }
  }

  private mutating func adopt(
    _ membership: Membership, _ found: (read: Int64, received: Int64)?, end: Timestamp, unanswered: [Ask],
    now: Timestamp
  ) throws {
    let isAsked = unanswered.contains { ask in
      switch ask {
      case .join(let room, _, _), .leave(let room, false): room == membership.room
      default: false
      }
    }
    let known = members[membership]
    guard (known == nil) == (found == nil) || isAsked else {
      throw Violation(.kept, "\(membership): \(found == nil ? "no member any more" : "a member again")")
    }
    guard let found else {
      leave(membership)
      return
    }
    if let known {
      let (read, mark) = (known.read.at(end), known.mark.at(end))
      guard found.read >= read, max(found.read, found.received) >= mark else {
        throw Violation(
          .kept, "\(membership) has \(found) on disk, and had read \(read) and received \(mark) by \(end)")
      }
      guard max(found.read, found.received) <= log(of: membership.room).newest else {
        throw Violation(.kept, "\(membership) has \(found) on disk, of \(log(of: membership.room).newest)")
      }
    }
    members[membership] = Member(read: found.read, received: found.received, now: now)
  }

  private mutating func adopt(
    _ found: [Target: String], unanswered: [(user: UserID, ask: Ask)], refused: Set<String>
  ) throws {
    for user in World.users {
      for device in World.devices {
        let target = Target(user: user, device: device)
        guard devices[target] != found[target] else { continue }
        let isAsked = unanswered.contains { other, ask in
          switch ask {
          // A registration may take the token of another's device.
          case .register: true
          case .forget(let asked): other == user && asked == device
          default: false
          }
        }
        guard isAsked || devices[target].map(refused.contains) ?? false else {
          throw Violation(.kept, "\(target) has \(found[target] ?? "no token"), not \(devices[target] ?? "none")")
        }
        if let token = found[target] { register(target, token: token) } else { forget(target) }
      }
    }
  }
}
