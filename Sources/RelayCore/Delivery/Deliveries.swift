// SPDX-License-Identifier: Apache-2.0
package import RelayDelivery
package import RelayHub
import RelayJSON
package import RelayProtocol
import RelayPush
import RelayStore

/// The delivery of messages: makes the plan of pushes for each message, stores the pushes, and sends the reports.
///
/// The relay creates one object, and the methods run on the hub's thread.
package final class Deliveries {
  /// The pushes that are decided again after a change.
  package let holds = Holds()
  private var undecided = UndecidedTraits()
  private var reports = ReportedMessages()
  private var pace = PushPace()
  /// The last messages that mention many members at once.
  var broadMentions = BroadMentions()
  private var messageDecisions = MessageDecisions()
  /// The members with undecided messages. The relay decides and stores one slice of them at a time.
  private var dueMembers = DueMembers()
  private var isDecidingDue = false

  /// Decides a message for each device of a user, and stores nothing.
  package func decisions(
    about message: MessageTraits, in room: RoomID, for name: UserID, _ user: UserHandle, as membership: Membership,
    now: Timestamp, on relay: isolated Relay
  ) -> [DeviceDecision] {
    let recipient = relay.people.recipient(user)
    let member = PlanMember(name, recipient, as: membership, quietHours: relay.zones.quietHours(of: recipient, at: now))
    return relay.settings.planner.decisions(about: PlanMessage(message, in: room, at: now), for: member, now: now)
  }

  // MARK: A message that is sent

  /// Chooses if the relay decides the pushes of a message with the message itself or later, for the members that need no
  /// wait.
  /// The caller returns each ticket once, to ``end(_:)``.
  /// - Parameter isComplete: False if a fact about the message is known only when it is stored.
  func begin(
    for users: [UserHandle], in room: RoomHandle, isComplete: Bool, on relay: isolated Relay
  ) -> MessageDecisions.Ticket {
    let decisions = users.reduce(0) { $0 + (relay.people.recipient($1).decisionCount) }
    return messageDecisions.begin(decisions, in: room, isComplete: isComplete)
  }

  /// Ends the ticket of a message that was stored and published, or rejected.
  func end(_ ticket: MessageDecisions.Ticket) { messageDecisions.end(ticket) }

  /// Plans the pushes of a message that is not stored yet, for the members that need no wait.
  package func plan(
    _ message: MessageTraits, at time: Timestamp, for users: [UserHandle], in room: RoomID, isCrowded: Bool = false,
    on relay: isolated Relay
  ) -> Plan {
    var membership = Membership.absent
    membership.isRoomTooLarge = isCrowded
    let members = users.compactMap { user -> PlanMember? in
      guard let name = relay.hub.name(of: user) else { return nil }
      let recipient = relay.people.recipient(user)
      // The hub has selected members who have no session and are not within the grace. The reports about members who
      // hide their presence are planned later, from the same preferences.
      return PlanMember(
        name, recipient, as: membership, quietHours: relay.zones.quietHours(of: recipient, at: time), report: .unplanned
      )
    }
    return plan(PlanMessage(message, in: room, at: time), for: members, now: time, on: relay)
  }

  package func plan(_ message: PlanMessage, for members: [PlanMember], now: Timestamp, on relay: isolated Relay) -> Plan
  {
    advancePace(on: relay)
    let plan = relay.settings.planner.plan(message, for: members, now: now, pace: &pace)
    for outcome in plan.outcomes { relay.diagnostics.tally.count(outcome) }
    return plan
  }

  /// Counts a call to members of a room.
  /// - Returns: The members above the pace, and the time after which they may be called again.
  func countCall(
    from sender: UserID, to members: [UserID], on relay: isolated Relay
  ) -> (unrung: Set<UserID>, delay: Duration) {
    advancePace(on: relay)
    return (Set(members.filter { !pace.admits(.call, from: sender, to: $0) }), pace.rest)
  }

  private func advancePace(on relay: isolated Relay) {
    pace.limits = relay.settings.pace
    pace.advance(to: relay.hub.clock)
  }

  /// Keeps the traits of a stored message for the decisions that follow, and begins its reports.
  /// - Parameter waits: True if the pushes of some members are decided later.
  private func stored(
    _ seq: Int64, _ traits: MessageTraits, at time: Timestamp, in room: RoomHandle, waits: Bool, isReported: Bool,
    on relay: isolated Relay
  ) {
    // The traits contain the sender's name. The hub may have forgotten that user when the message is decided.
    if waits || !traits.isPlain { undecided[room, seq] = traits }
    if isReported { report(seq, traits, at: time, in: room, on: relay) }
  }

  /// Sends the reports of a message whose pushes are stored, and wakes the push worker.
  func conclude(_ plan: Plan, _ seq: Int64, in room: RoomHandle, on relay: isolated Relay) {
    for user in plan.reports { sendReport(.pushed, about: user, of: seq, in: room, on: relay) }
    if !plan.pushes.isEmpty { pushed(heldUntil: plan.holdEnd, on: relay) }
  }

  /// Sends the stored pushes that are due.
  private func pushed(heldUntil end: Timestamp?, on relay: isolated Relay) {
    relay.worker.wake()
    if let end { holds.expectEnd(by: end, on: relay) }
  }

  /// Cancels the planned reports of a deleted message, and makes sure that no push of it is decided.
  private func deleted(_ seq: Int64, from sender: UserID, in room: RoomHandle, on relay: isolated Relay) {
    var traits = undecided[room, seq] ?? MessageTraits(from: sender)
    traits.isDeleted = true
    if (relay.hub.position(of: room)?.seq ?? 0) >= seq { undecided[room, seq] = traits }
    reports.cancelPlan(of: seq, in: room)
  }

  /// Forgets the traits of the decided messages: all messages of the room up to `seq`.
  package func decided(_ room: RoomHandle, upTo seq: Int64) { undecided.forget(room, upTo: seq) }

  package func forget(_ room: RoomHandle) {
    undecided.forget(room)
    reports.forget(room)
  }

  // MARK: Due members

  /// The plans of one member's due messages, before they are stored.
  private struct Round: Sendable {
    let room: RoomHandle
    let name: RoomID
    let user: UserHandle
    /// The result for each due message: it is decided, or it continues to wait.
    var decided: [DecidedSeq] = []
    var messages: [(seq: Int64, plan: Plan)] = []
  }

  /// Decides the due messages of these members, slice by slice.
  package func decide(_ due: [(RoomHandle, UserHandle)], on relay: isolated Relay) {
    for (room, user) in due { dueMembers.append(user, of: room) }
    decideDue(on: relay)
  }

  /// Leaves the due members to the next run of the relay.
  package func stop() { dueMembers = DueMembers() }

  /// Decides one slice and stores its pushes in one transaction. When the transaction is on disk, the next slice
  /// follows in another turn of the loop, so that other requests are served in between.
  private func decideDue(on relay: isolated Relay) {
    guard !isDecidingDue, !dueMembers.isEmpty else { return }
    isDecidingDue = true
    var slice = DecisionSlice()
    var rounds: [Round] = []
    while !slice.isFull, let due = dueMembers.next() {
      guard let round = round(due.room, due.user, within: &slice, on: relay) else { continue }
      if round.messages.isEmpty {
        relay.hub.decide(due.room, due.user, round.decided)
      } else {
        rounds.append(round)
      }
    }
    guard !rounds.isEmpty else { return decideNextSlice(on: relay) }
    for round in rounds { relay.rooms.retain(round.name) }
    let rows = rounds.reduce(0) { $0 + $1.messages.reduce(0) { $0 + $1.plan.pushes.count } }
    relay.store.submit(
      { [rounds] transaction in
        for round in rounds {
          for message in round.messages {
            try transaction.queue.insert(message.plan.pushes, room: round.name, seq: message.seq)
          }
        }
      }, rows: rows
    ) { [relay, rounds] result in
      relay.assumeIsolated {
        $0.deliveries.conclude(rounds, result, on: $0)
        $0.deliveries.decideNextSlice(on: $0)
      }
    }
  }

  private func decideNextSlice(on relay: isolated Relay) {
    isDecidingDue = false
    guard !dueMembers.isEmpty else { return }
    relay.thread.perform { [relay] in relay.assumeIsolated { $0.deliveries.decideDue(on: $0) } }
  }

  private func conclude(_ rounds: [Round], _ result: Result<Void, StoreError>, on relay: isolated Relay) {
    for round in rounds {
      defer { relay.rooms.release(round.name, on: relay) }
      switch result {
      case .success:
        relay.hub.decide(round.room, round.user, round.decided)
        for message in round.messages { conclude(message.plan, message.seq, in: round.room, on: relay) }
      case .failure:
        relay.hub.decide(round.room, round.user, round.decided.map { DecidedSeq($0.seq, wait: .seconds(1)) })
      }
    }
    if case .failure(let error) = result { relay.diagnostics.logFailure(of: error) }
  }

  /// Decides each due message of a member independently: a message that waits does not delay later ones.
  private func round(
    _ room: RoomHandle, _ user: UserHandle, within slice: inout DecisionSlice, on relay: isolated Relay
  ) -> Round? {
    let hub = relay.hub
    guard let name = hub.name(of: room), let userName = hub.name(of: user), let member = hub.member(user, of: room)
    else { return nil }
    let now = hub.now
    let isCrowded = hub.isCrowded(room)
    let recipient = relay.people.recipient(user)
    let devices = recipient.devices.count
    let messages = hub.undecided(room, user, limit: slice.maxMessages(devices: devices))
    slice.add(messages: messages.count, devices: devices)
    let quietHours = relay.zones.quietHours(of: recipient, at: now)
    var round = Round(room: room, name: name, user: user)
    for message in messages {
      var membership = Membership(member.marks, member.presence, at: message.seq, shown: message.shown)
      membership.isRoomTooLarge = isCrowded
      membership.sessions += relay.inbox.sessions(of: user, in: name, at: message.seq, shown: message.shown, on: relay)
      let report = report(about: user, of: message.seq, in: room, now: now)
      let plan = plan(
        PlanMessage(traits(of: message, in: room, to: userName, hub), in: name, at: message.time),
        for: [PlanMember(userName, recipient, as: membership, quietHours: quietHours, report: report)], now: now,
        on: relay)
      let wait = plan.waits[userName]
      round.decided.append(DecidedSeq(message.seq, wait: wait.map { $0 - now }))
      guard wait == nil, !plan.pushes.isEmpty || !plan.reports.isEmpty else { continue }
      round.messages.append((message.seq, plan))
    }
    return round
  }

  private func traits(
    of message: UndecidedMessage, in room: RoomHandle, to recipient: UserID, _ hub: Hub
  ) -> MessageTraits {
    if let traits = undecided[room, message.seq] { return traits }
    // A message without stored traits has only a body, or is already decided.
    let sender = message.isOwn ? recipient : message.from.flatMap(hub.name(of:))
    return MessageTraits(from: sender ?? UserID(unchecked: ""))
  }

  // MARK: Time

  /// The next end of a hold, or the next planned report.
  var alarm: Timestamp? { [holds.alarm, reports.nextPlan].compactMap { $0 }.min() }

  func alarmFired(on relay: isolated Relay) {
    holds.endDue(on: relay)
    reportHidden(on: relay)
  }

  /// Shifts the waits and the planned reports, so that they keep their length. The hub has re-armed its own alarms.
  func clockWasSet(by step: Duration, on relay: isolated Relay) {
    reports.movePlans(by: step)
    holds.move(by: step)
    relay.armAlarm()
  }

  // MARK: Reports

  /// Starts the reports about a message, except in large rooms, which reveal nothing about their members.
  private func report(
    _ seq: Int64, _ message: MessageTraits, at time: Timestamp, in room: RoomHandle, on relay: isolated Relay
  ) {
    let hub = relay.hub
    guard !hub.isLarge(room) else { return }
    reports[room, seq] = message
    guard hub.pushes(room), let due = message.facts(at: time).hiddenReportTime(relay.settings.policy),
      let sender = hub.user(message.from)
    else { return }
    reports.plan(seq, in: room, of: Set(hub.hidden(in: room, from: sender)), at: due)
    relay.armAlarm()
  }

  /// Sends the planned reports that are due.
  private func reportHidden(on relay: isolated Relay) {
    let hub = relay.hub
    for (room, seq, users) in reports.takePlanned(by: hub.now) {
      // This includes recipients who have shown their presence again since then: the relay has not reported their push.
      for user in users.sorted(by: { $0.rawValue < $1.rawValue }) where hub.isMember(user, of: room) {
        if let name = hub.name(of: user) { sendReport(.pushed, about: name, of: seq, in: room, on: relay) }
      }
    }
  }

  /// The kind of report about a member that the sender of a message receives.
  private func report(about user: UserHandle, of seq: Int64, in room: RoomHandle, now: Timestamp) -> MemberReport {
    guard reports[room, seq] != nil else { return .none }
    return reports.isPlanned(user, of: seq, in: room, at: now).map(MemberReport.planned) ?? .unplanned
  }

  /// Sends a `delivery` event about a recipient to the sender of the message, unless the sender already has this state.
  private func sendReport(
    _ state: DeliveryState, about recipient: UserID, of seq: Int64, in room: RoomHandle, on relay: isolated Relay
  ) {
    guard let name = relay.hub.name(of: room),
      let sender = reports.record(state, about: recipient, of: seq, in: room).flatMap(relay.hub.user)
    else { return }
    relay.hub.push(
      JSONWriter.object {
        $0["type"] = "delivery"
        $0["room"] = name.rawValue
        $0.integer("seq", seq)
        $0["user"] = recipient.rawValue
        $0["state"] = state.rawValue
      }, to: sender)
  }

  /// Reports that a member has received the messages up to `seq`.
  func reportReceived(_ room: RoomHandle, _ user: UserHandle, upTo seq: Int64, on relay: isolated Relay) {
    guard let name = relay.hub.name(of: user) else { return }
    for message in reports.messages(in: room, upTo: seq, for: name) {
      // A sender whom the recipient has blocked receives no receipts.
      guard let sender = reports[room, message]?.from, !relay.people.recipient(user).blocked.contains(sender)
      else { continue }
      sendReport(.received, about: name, of: message, in: room, on: relay)
    }
  }

  /// Reports the result of a push.
  package func reportPush(
    _ state: DeliveryState, of message: MessageReference, to recipient: UserID, on relay: isolated Relay
  ) {
    let hub = relay.hub
    guard let room = hub.room(message.room), let traits = reports[room, message.seq] else { return }
    // A user who is not a member may not be in memory. The preferences of such a user are unknown.
    guard let user = hub.user(recipient), hub.isMember(user, of: room) else { return }
    let now = hub.now
    let member = PlanMember(
      recipient, relay.people.recipient(user), as: .absent,
      report: report(about: user, of: message.seq, in: room, now: now))
    let planned = PlanMessage(traits, in: message.room, at: now)
    guard relay.settings.planner.reportsResult(of: planned, about: member, now: now) else { return }
    sendReport(state, about: recipient, of: message.seq, in: room, on: relay)
  }
}

extension Deliveries: Follower {
  func follow(_ change: Change, on relay: isolated Relay) {
    switch change {
    case .sent(let sent): follow(sent, on: relay)
    case .deleted(let change, let sender): deleted(change.message.seq, from: sender, in: change.handle, on: relay)
    case .joined(let member):
      // The user is a recipient of the messages that follow, and of those since the invitation.
      guard member.joined.isNewMember, let room = relay.hub.room(member.joined.record.room) else { return }
      reports.joined(member.name, room, after: member.joined.read)
    case .left(let member): reports.left(member.name, member.handle)
    case .loaded(let loaded):
      for message in loaded.undecided {
        stored(
          message.seq, message.traits, at: message.time, in: loaded.handle, waits: true, isReported: message.reports,
          on: relay)
      }
    case .pushed(let end): pushed(heldUntil: end, on: relay)
    case .heldDue: holds.end(on: relay)
    case .person(let user): holds.reconsider(user, on: relay)
    case .edited, .annotated, .role, .restricted, .record, .roomDeleted, .call, .invitations, .erasing: break
    }
  }

  private func follow(_ sent: SentChange, on relay: isolated Relay) {
    let (message, stored) = (sent.message, sent.stored)
    self.stored(
      stored.seq, sent.traits, at: stored.time, in: message.handle, waits: message.isWaitedFor,
      isReported: message.isReported, on: relay)
    conclude(message.plan, stored.seq, in: message.handle, on: relay)
    guard let sender = relay.hub.user(sent.traits.from) else { return }
    if let answered = stored.response?.response.message.seq {
      // A response to a notification moves the read mark only to its message.
      relay.hub.setRead(answered, sender, in: message.handle)
    } else {
      // The sender has read all earlier messages.
      reportReceived(message.handle, sender, upTo: stored.seq, on: relay)
    }
  }
}
