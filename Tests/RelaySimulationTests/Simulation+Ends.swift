// SPDX-License-Identifier: Apache-2.0
import RelayDelivery
import RelayGateways
import RelayProtocol
import RelayStore

/// Restarts, crashes and the end of a run.
extension Simulation {
  /// Ends the process gracefully and starts it again.
  func restart(after pause: Duration) throws {
    let online = online
    try step { relay.drain() }
    // The relay cuts a client that does not answer the close after some seconds.
    for _ in 0..<2 where !clients.isEmpty { try advance(by: .seconds(5)) }
    guard clients.isEmpty else { throw Violation(.answered, "the sessions \(clients.keys) do not end") }
    audit.tally.count(.restart)
    countWaits()
    relay.stop()
    try start(after: pause, lateness: .zero, unanswered: [], online: online, isImage: false)
  }

  func crash(
    at point: Fuse.Point?, during requests: [Action.SlotRequest], then time: Duration, after pause: Duration
  ) throws {
    let online = online
    if let point { relay.fuse.arm(point) }
    try step { relay.whileStill { say(requests) } }
    if !relay.fuse.isBlown { try advance(by: time) }
    switch (relay.fuse.isBlown, point) {
    case (true, .commit): audit.tally.count(.crashAtCommit)
    case (true, .handing): audit.tally.count(.crashAtHanding)
    default: audit.tally.count(.crashAtRest)
    }
    relay.crash()
    let unanswered = try receiveRest()
    if !unanswered.isEmpty { audit.tally.count(.crashInDoubt) }
    countWaits()
    try start(after: pause, lateness: Model.lateness, unanswered: unanswered, online: online, isImage: true)
  }

  /// The users who are online for certain. A frozen client may have lost its session already.
  private var online: Set<UserID> {
    let clients = clients.values.filter { $0.isTalking && $0.pendingRequests.isEmpty }
    return Set(clients.map(\.slot.user))
  }

  private func countWaits() {
    if !model.debts.isSubset(of: audit.decided) { audit.tally.count(.restartInWait) }
  }

  /// Takes the frames from before the end. Returns the requests without a reply.
  private func receiveRest() throws -> [Unanswered] {
    let all = clients.values.map { $0 }
    while !clients.isEmpty { _ = try receive() }
    return all.flatMap { client in
      client.pendingRequests.values.compactMap { pending -> Unanswered? in
        guard case .request(let sentRequest) = pending else { return nil }
        unansweredRooms[client.slot] = sentRequest.request.room
        return Unanswered(user: client.slot.user, sentRequest: sentRequest)
      }
    }
  }

  /// Starts a relay on the files of the earlier one.
  /// - Parameters:
  ///   - lateness: The time whose delayed writes may be missing.
  ///   - online: The users who were online at the end.
  private func start(
    after pause: Duration, lateness: Duration, unanswered: [Unanswered], online: Set<UserID>, isImage: Bool
  ) throws {
    let end = clock.now
    clock.move(to: end + pause)
    try begin(isImage: isImage)
    former = (before, model)
    audit.uncertain = gateway.takeHanded()
    if isImage { audit.phones.crash(now: clock.now) }
    for handed in audit.uncertain where handed.answer == .forget { audit.refused.insert(handed.device.token) }
    let disk = try relay.read { try Disk($0) }
    let known = model
    try model.adopt(
      disk, drafts: drafts.mapValues(\.options), end: end - lateness, unanswered: unanswered, refused: audit.refused,
      now: clock.now)
    try adoptRooms(disk.governed, unanswered, end: end)
    try adoptChanges(disk.changes, unanswered)
    model.attendance.awaited = online
    if World.rooms.contains(where: { model.log(of: $0).newest > known.log(of: $0).newest }) {
      audit.tally.count(.unacknowledged)
    }
    if model.members.contains(where: { $1.mark.latest < known.members[$0]?.mark.latest ?? 0 }) {
      audit.tally.count(.marksLost)
    }
    try step {}
  }

  /// Moves the time so far that every wait, hold and retry has ended, with a gateway that works.
  func endOfTime() throws {
    for token in World.tokens { gateway.answer(.sent, to: token) }
    try step { letGo(hasSent: true) }
    try advance(by: .seconds(60))
    try stand(still: .seconds(7200))
    try advance(by: .seconds(60))
    // Each account of a phone may need its own wake to remove notifications.
    for _ in 0...World.users.count { try stand(still: PhonePlanner.wakePause + .seconds(5)) }
    // Every silence and hold has ended by then.
    try stand(still: .seconds(12 * 3600))
    try advance(by: .seconds(60))
    model.forgive(now: clock.now)
    if let debt = model.debts.min(by: { "\($0)" < "\($1)" }) {
      throw Violation(.reached, "\(debt.place) has not reached \(debt.target), and \(model.debts.count - 1) others")
    }
    guard let changes = audit.changes else { return }
    guard changes.unfinished == 0 else { throw Violation(.reached, "\(changes.unfinished) jobs are not finished") }
    for room in World.rooms where model.log(of: room).newest != changes.cursors[room] ?? 0 {
      throw Violation(
        .reached, "\(room) is decided up to \(changes.cursors[room] ?? 0), of \(model.log(of: room).newest)")
    }
  }
}

/// A request without a reply, which may have succeeded or not.
struct Unanswered {
  let user: UserID
  let sentRequest: SentRequest
}
