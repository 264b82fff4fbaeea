// SPDX-License-Identifier: Apache-2.0
import RelayDelivery
import RelayHub
import RelayProtocol
import RelayStore

/// Plans each message from the state of the hub and the users, and stores the pushes.
extension Relay {
  var planner: Planner { Planner(policy: policy, apps: apps.entitlements) }

  /// Plans a message that is not stored yet for members that no decision waits for.
  func plan(_ message: MessageTraits, at time: Timestamp, for users: [UserHandle], in room: RoomID) -> Plan {
    let members = users.lazy.compactMap { [self] user -> PlanMember? in
      guard let name = hub.name(of: user) else { return nil }
      let recipient = recipient(user)
      // The hub has selected members without a session and without a grace. The plan of the reports about hidden members
      // is made later, from the same preferences.
      return PlanMember(name, recipient, as: .absent, quiet: quiet(of: recipient, at: time), report: .unplanned)
    }
    return plan(PlanMessage(message, in: room, at: time), for: members, now: time)
  }

  func plan(_ message: PlanMessage, for members: some Sequence<PlanMember>, now: Timestamp) -> Plan {
    let plan = planner.plan(message, for: members, now: now, pace: &pace)
    for outcome in plan.outcomes { tally.count(outcome) }
    return plan
  }

  /// The number of decisions that ``plan(_:at:for:in:)`` makes.
  func decisionCount(for users: [UserHandle]) -> Int {
    users.reduce(0) { $0 + (people[$1]?.decisionCount ?? 1) }
  }

  /// The quiet hours of a user that are on.
  func quiet(of recipient: Recipient, at now: Timestamp) -> QuietFacts? {
    recipient.preferences.quietHours.flatMap { quietClock.facts(of: $0, at: now) }
  }

  /// Sends the reports of a message whose pushes are on disk, and starts their delivery.
  func conclude(_ plan: Plan, _ seq: Int64, in room: RoomHandle) {
    for user in plan.reports { sendReport(.pushed, about: user, of: seq, in: room) }
    guard !plan.pushes.isEmpty else { return }
    worker.wake()
    if let end = plan.holdEnd { expectHoldEnd(by: end) }
  }

  // MARK: Due members

  /// The plans of one member's due messages, to be stored.
  private struct Round: Sendable {
    let room: RoomHandle
    let name: RoomID
    let user: UserHandle
    /// The decision about each message that was due: it is decided, or it waits on.
    var decided: [DecidedSeq] = []
    var messages: [(seq: Int64, plan: Plan)] = []
  }

  /// Decides the undecided messages of these members, slice after slice.
  func decide(_ due: [(RoomHandle, UserHandle)]) {
    for (room, user) in due { dueMembers.append(user, of: room) }
    decideDue()
  }

  /// Decides one slice and stores its pushes in one transaction. The next slice follows when that is on disk, in another
  /// turn of the loop: sessions are served and messages are stored in between.
  private func decideDue() {
    guard !isDecidingDue, !dueMembers.isEmpty else { return }
    isDecidingDue = true
    var slice = DecisionSlice()
    var rounds: [Round] = []
    while !slice.isFull, let due = dueMembers.next() {
      guard let round = round(due.room, due.user, within: &slice) else { continue }
      if round.messages.isEmpty {
        hub.decide(due.room, due.user, round.decided)
      } else {
        rounds.append(round)
      }
    }
    guard !rounds.isEmpty else { return decideNextSlice() }
    for round in rounds { pin(round.name) }
    let rows = rounds.reduce(0) { $0 + $1.messages.reduce(0) { $0 + $1.plan.pushes.count } }
    store.submit(
      { [rounds] transaction in
        for round in rounds {
          for message in round.messages {
            _ = try transaction.insert(message.plan.pushes.map(JobDraft.init), room: round.name, seq: message.seq)
          }
        }
      }, rows: rows
    ) { [self, rounds] result in
      assumeIsolated {
        $0.conclude(rounds, result)
        $0.decideNextSlice()
      }
    }
  }

  private func decideNextSlice() {
    isDecidingDue = false
    guard !dueMembers.isEmpty else { return }
    thread.perform { [self] in assumeIsolated { $0.decideDue() } }
  }

  private func conclude(_ rounds: [Round], _ result: Result<Void, StoreError>) {
    for round in rounds {
      defer { unpin(round.name) }
      switch result {
      case .success:
        hub.decide(round.room, round.user, round.decided)
        for message in round.messages { conclude(message.plan, message.seq, in: round.room) }
      case .failure:
        hub.decide(round.room, round.user, round.decided.map { DecidedSeq($0.seq, wait: .seconds(1)) })
      }
    }
    if case .failure(let error) = result { logFailure(of: error) }
  }

  /// Decides each message that is due by itself: one that has to wait does not hold up those behind it.
  private func round(_ room: RoomHandle, _ user: UserHandle, within slice: inout DecisionSlice) -> Round? {
    guard let name = hub.name(of: room), let userName = hub.name(of: user), let facts = hub.member(user, of: room)
    else { return nil }
    let now = hub.now
    let member = RoomMember(facts)
    let recipient = recipient(user)
    let devices = recipient.devices.count
    let messages = hub.undecided(room, user, limit: slice.maxMessages(devices: devices))
    slice.add(messages: messages.count, devices: devices)
    let quiet = quiet(of: recipient, at: now)
    var round = Round(room: room, name: name, user: user)
    for message in messages {
      let membership = Membership(member.marks, member.presence, at: message.seq, shown: message.shown)
      let report = self.report(about: user, of: message.seq, in: room)
      let plan = plan(
        PlanMessage(traits(of: message, in: room, to: userName), in: name, at: message.time),
        for: [PlanMember(userName, recipient, as: membership, quiet: quiet, report: report)], now: now)
      let wait = plan.waits[userName]
      round.decided.append(DecidedSeq(message.seq, wait: wait.map { $0 - now }))
      guard wait == nil, !plan.pushes.isEmpty || !plan.reports.isEmpty else { continue }
      round.messages.append((message.seq, plan))
    }
    return round
  }

  private func traits(of message: UndecidedMessage, in room: RoomHandle, to recipient: UserID) -> MessageTraits {
    if let traits = undecided[room, message.seq] { return traits }
    // A message without traits has nothing but a body, or is decided.
    let sender = message.isOwn ? recipient : message.from.flatMap(hub.name(of:))
    return MessageTraits(from: sender ?? UserID(unchecked: ""))
  }
}
