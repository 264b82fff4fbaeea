// SPDX-License-Identifier: Apache-2.0
package import RelayDelivery
package import RelayHub
import RelayJSON
package import RelayProtocol
package import RelayPush
package import RelayRequests
package import RelayState
import RelayStore

/// The delivery of messages: makes the plan of pushes for each message, stores the pushes, and sends the `delivery`
/// events.
///
/// The relay creates one object, and the methods run on the hub's thread.
package final class Deliveries {
  /// The pushes that are decided again after a change.
  package let holds: Holds
  private var undecided = UndecidedTraits()
  private var tracked = TrackedMessages()
  private var planner = Planner()
  private var pace = PushPace()
  /// The last messages that mention many members at once.
  var broadMentions = BroadMentions()
  private var messageDecisions = MessageDecisions()
  /// The members with undecided messages. The relay decides and stores one slice of them at a time.
  private var dueMembers = DueMembers()
  private var isDecidingDue = false

  let memory: RoomMemory
  let recipients: Recipients
  let people: People
  let zones: Zones
  let inbox: Inbox
  let worker: PushWorker

  package init(_ memory: RoomMemory, _ people: People, _ inbox: Inbox, _ worker: PushWorker) {
    (self.memory, self.people, self.inbox, self.worker) = (memory, people, inbox, worker)
    (recipients, zones) = (people.recipients, people.zones)
    holds = Holds(people, inbox, worker)
  }

  /// Decides with these settings from now on.
  package func use(_ settings: RelaySettings) {
    planner = settings.planner
    pace.limits = settings.pace
  }

  /// Decides a message for each device of a user, and stores nothing.
  package func decisions(
    about message: MessageTraits, in room: RoomID, for name: UserID, _ user: UserHandle, as membership: Membership,
    now: Timestamp, on core: isolated Core
  ) -> [DeviceDecision] {
    let recipient = recipients[user]
    let member = PlanMember(name, recipient, as: membership, quietHours: zones.quietHours(of: recipient, at: now))
    return planner.decisions(about: PlanMessage(message, in: room, at: now), for: member, now: now)
  }

  // MARK: A message that is sent

  /// Chooses if the relay decides the pushes of a message with the message itself or later, for the members that need no
  /// wait. Returns a ticket. The caller must pass it to ``end(_:)`` once.
  /// - Parameter isComplete: False if a fact about the message is known only when it is stored.
  package func begin(
    for users: [UserHandle], in room: RoomHandle, isComplete: Bool, on core: isolated Core
  ) -> MessageDecisions.Ticket {
    let decisions = users.reduce(0) { $0 + (recipients[$1].decisionCount) }
    return messageDecisions.begin(decisions, in: room, isComplete: isComplete)
  }

  /// Ends the ticket of a message that was stored and published, or rejected.
  package func end(_ ticket: MessageDecisions.Ticket) { messageDecisions.end(ticket) }

  /// Plans the pushes of a message that is not stored yet, for the members that need no wait.
  package func plan(
    _ message: MessageTraits, at time: Timestamp, for users: [UserHandle], in room: RoomID, isCrowded: Bool = false,
    on core: isolated Core
  ) -> Plan {
    var membership = Membership.absent
    membership.isRoomTooLarge = isCrowded
    let members = users.compactMap { user -> PlanMember? in
      guard let name = core.hub.name(of: user) else { return nil }
      let recipient = recipients[user]
      // The hub has selected members who have no session and are not within the grace. The events about members who
      // hide their presence are planned later, from the same preferences.
      return PlanMember(
        name, recipient, as: membership, quietHours: zones.quietHours(of: recipient, at: time), events: .unplanned
      )
    }
    return plan(PlanMessage(message, in: room, at: time), for: members, now: time, on: core)
  }

  package func plan(_ message: PlanMessage, for members: [PlanMember], now: Timestamp, on core: isolated Core) -> Plan {
    pace.advance(to: core.hub.clock)
    let plan = planner.plan(message, for: members, now: now, pace: &pace)
    for outcome in plan.outcomes { core.diagnostics.tally.count(outcome) }
    return plan
  }

  /// Counts a call to members of a room.
  /// - Returns: The members above the pace, and the time after which they may be called again.
  func countCall(
    from sender: UserID, to members: [UserID], on core: isolated Core
  ) -> (unrung: Set<UserID>, delay: Duration) {
    pace.advance(to: core.hub.clock)
    return (Set(members.filter { !pace.admits(.call, from: sender, to: $0) }), pace.rest)
  }

  /// Keeps the traits of a stored message for the decisions that follow, and tracks it for `delivery` events.
  /// - Parameter waits: True if the pushes of some members are decided later.
  private func stored(
    _ seq: Int64, _ traits: MessageTraits, at time: Timestamp, in room: RoomHandle, waits: Bool, isReported: Bool,
    on core: isolated Core
  ) {
    // The traits contain the sender's name. The hub may have forgotten that user when the message is decided.
    if waits || !traits.isPlain { undecided[room, seq] = traits }
    if isReported { track(seq, traits, at: time, in: room, on: core) }
  }

  /// Sends the events about a message whose pushes are stored, and wakes the push worker.
  package func conclude(_ plan: Plan, _ seq: Int64, in room: RoomHandle, on core: isolated Core) {
    for user in plan.reports { sendEvent(.pushed, about: user, of: seq, in: room, on: core) }
    if !plan.pushes.isEmpty { wakeWorker(heldUntil: plan.holdEnd, on: core) }
  }

  /// Wakes the push worker, and sets the alarm for the end of the first hold.
  private func wakeWorker(heldUntil end: Timestamp?, on core: isolated Core) {
    worker.wake()
    if let end { holds.expectEnd(by: end, on: core) }
  }

  /// Cancels the planned events of a deleted message, and makes sure that no push of it is decided.
  private func deleted(_ seq: Int64, from sender: UserID, in room: RoomHandle, on core: isolated Core) {
    var traits = undecided[room, seq] ?? MessageTraits(from: sender)
    traits.isDeleted = true
    if (core.hub.position(of: room)?.seq ?? 0) >= seq { undecided[room, seq] = traits }
    tracked.cancelPlan(of: seq, in: room)
  }

  /// Forgets the traits of the decided messages: all messages of the room up to `seq`.
  package func decided(_ room: RoomHandle, upTo seq: Int64) { undecided.forget(room, upTo: seq) }

  package func forget(_ room: RoomHandle) {
    undecided.forget(room)
    tracked.forget(room)
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
  package func decide(_ due: [(RoomHandle, UserHandle)], on core: isolated Core) {
    for (room, user) in due { dueMembers.append(user, of: room) }
    decideDue(on: core)
  }

  /// Leaves the due members to the next run of the relay.
  package func stop() { dueMembers = DueMembers() }

  /// Decides one slice and stores its pushes in one transaction. When the transaction is on disk, the next slice
  /// follows in the next iteration of the loop, so that other requests are served in between.
  private func decideDue(on core: isolated Core) {
    guard !isDecidingDue, !dueMembers.isEmpty else { return }
    isDecidingDue = true
    var slice = DecisionSlice()
    var rounds: [Round] = []
    while !slice.isFull, let due = dueMembers.next() {
      guard let round = round(due.room, due.user, within: &slice, on: core) else { continue }
      if round.messages.isEmpty {
        core.hub.decide(due.room, due.user, round.decided)
      } else {
        rounds.append(round)
      }
    }
    guard !rounds.isEmpty else { return decideNextSlice(on: core) }
    for round in rounds { memory.retain(round.name) }
    let rows = rounds.reduce(0) { $0 + $1.messages.reduce(0) { $0 + $1.plan.pushes.count } }
    core.submit(rows: rows) { [rounds] transaction in
      for round in rounds {
        for message in round.messages {
          try transaction.queue.insert(message.plan.pushes, room: round.name, seq: message.seq)
        }
      }
    } then: { [self, rounds] result in
      roundsEnded(rounds, result, on: core)
      decideNextSlice(on: core)
    }
  }

  private func decideNextSlice(on core: isolated Core) {
    isDecidingDue = false
    guard !dueMembers.isEmpty else { return }
    core.later { [self] in decideDue(on: core) }
  }

  private func roundsEnded(_ rounds: [Round], _ result: Result<Void, StoreError>, on core: isolated Core) {
    for round in rounds {
      defer { memory.release(round.name, on: core) }
      switch result {
      case .success:
        core.hub.decide(round.room, round.user, round.decided)
        for message in round.messages { conclude(message.plan, message.seq, in: round.room, on: core) }
      case .failure:
        core.hub.decide(round.room, round.user, round.decided.map { DecidedSeq($0.seq, wait: .seconds(1)) })
      }
    }
    if case .failure(let error) = result { core.diagnostics.logFailure(of: error) }
  }

  /// Decides each due message of a member independently: a message that waits does not delay later ones.
  private func round(
    _ room: RoomHandle, _ user: UserHandle, within slice: inout DecisionSlice, on core: isolated Core
  ) -> Round? {
    let hub = core.hub
    guard let name = hub.name(of: room), let userName = hub.name(of: user), let member = hub.member(user, of: room)
    else { return nil }
    let now = hub.now
    let isCrowded = hub.isCrowded(room)
    let recipient = recipients[user]
    let devices = recipient.devices.count
    let messages = hub.undecided(room, user, limit: slice.maxMessages(devices: devices))
    slice.add(messages: messages.count, devices: devices)
    let quietHours = zones.quietHours(of: recipient, at: now)
    var round = Round(room: room, name: name, user: user)
    for message in messages {
      var membership = Membership(member.marks, member.presence, at: message.seq, shown: message.shown)
      membership.isRoomTooLarge = isCrowded
      membership.sessions += inbox.sessions(of: user, in: name, at: message.seq, shown: message.shown, on: core)
      let events = eventPlan(about: user, of: message.seq, in: room, now: now)
      let plan = plan(
        PlanMessage(traits(of: message, in: room, to: userName, hub), in: name, at: message.time),
        for: [PlanMember(userName, recipient, as: membership, quietHours: quietHours, events: events)], now: now,
        on: core)
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

  package func alarmFired(on core: isolated Core) {
    holds.endDue(on: core)
    sendPlannedEvents(on: core)
  }

  /// Shifts the waits and the planned events, so that they keep their length. The hub has re-armed its own alarms.
  package func clockWasSet(by step: Duration, on core: isolated Core) {
    tracked.movePlans(by: step)
    holds.move(by: step)
    core.setAlarm(tracked.nextPlan, for: .reports)
  }

  // MARK: Events for the senders

  /// Tracks a message, except in large rooms, which reveal nothing about their members.
  private func track(
    _ seq: Int64, _ message: MessageTraits, at time: Timestamp, in room: RoomHandle, on core: isolated Core
  ) {
    let hub = core.hub
    guard !hub.isLarge(room) else { return }
    tracked[room, seq] = message
    guard hub.pushes(room), let due = message.facts(at: time).hiddenReportTime(core.settings.policy),
      let sender = hub.user(message.from)
    else { return }
    tracked.plan(seq, in: room, of: Set(hub.hidden(in: room, from: sender)), at: due)
    core.setAlarm(tracked.nextPlan, for: .reports)
  }

  /// Sends the planned events that are due.
  private func sendPlannedEvents(on core: isolated Core) {
    let hub = core.hub
    for (room, seq, users) in tracked.takePlanned(by: hub.now) {
      // This includes recipients who have shown their presence again since then: the relay has sent no event about their
      // push.
      for user in users.sorted(by: { $0.rawValue < $1.rawValue }) where hub.isMember(user, of: room) {
        if let name = hub.name(of: user) { sendEvent(.pushed, about: name, of: seq, in: room, on: core) }
      }
    }
    core.setAlarm(tracked.nextPlan, for: .reports)
  }

  /// The plan of the events about a member that the sender of a message receives.
  private func eventPlan(about user: UserHandle, of seq: Int64, in room: RoomHandle, now: Timestamp) -> EventPlan {
    guard tracked[room, seq] != nil else { return .none }
    return tracked.isPlanned(user, of: seq, in: room, at: now).map(EventPlan.planned) ?? .unplanned
  }

  /// Sends a `delivery` event about a recipient to the sender of the message, unless the sender already has this state.
  private func sendEvent(
    _ state: DeliveryState, about recipient: UserID, of seq: Int64, in room: RoomHandle, on core: isolated Core
  ) {
    guard let name = core.hub.name(of: room),
      let sender = tracked.record(state, about: recipient, of: seq, in: room).flatMap(core.hub.user)
    else { return }
    core.hub.push(
      JSONWriter.object {
        $0["type"] = "delivery"
        $0["room"] = name.rawValue
        $0.integer("seq", seq)
        $0["user"] = recipient.rawValue
        $0["state"] = state.rawValue
      }, to: sender)
  }

  /// Notifies the senders of the tracked messages up to `seq` that a member has received them.
  func sendReceived(_ room: RoomHandle, _ user: UserHandle, upTo seq: Int64, on core: isolated Core) {
    guard let name = core.hub.name(of: user) else { return }
    for message in tracked.messages(in: room, upTo: seq, for: name) {
      // A sender whom the recipient has blocked receives no receipts.
      guard let sender = tracked[room, message]?.from, !recipients[user].blocked.contains(sender)
      else { continue }
      sendEvent(.received, about: name, of: message, in: room, on: core)
    }
  }

  /// Notifies the sender of a tracked message of the result of a push.
  package func notifySender(
    _ state: DeliveryState, of message: MessageReference, to recipient: UserID, on core: isolated Core
  ) {
    let hub = core.hub
    guard let room = hub.room(message.room), let traits = tracked[room, message.seq] else { return }
    // A user who is not a member may not be in memory. The preferences of such a user are unknown.
    guard let user = hub.user(recipient), hub.isMember(user, of: room) else { return }
    let now = hub.now
    let member = PlanMember(
      recipient, recipients[user], as: .absent,
      events: eventPlan(about: user, of: message.seq, in: room, now: now))
    let planned = PlanMessage(traits, in: message.room, at: now)
    guard planner.reportsResult(of: planned, about: member, now: now) else { return }
    sendEvent(state, about: recipient, of: message.seq, in: room, on: core)
  }
}

extension Deliveries: Follower {
  package func follow(_ change: Change, on core: isolated Core) {
    switch change {
    case .sent(let sent): follow(sent, on: core)
    case .deleted(let change, let sender): deleted(change.message.seq, from: sender, in: change.handle, on: core)
    case .joined(let member):
      // The user is a recipient of the messages that follow, and of those since the invitation.
      guard member.joined.isNewMember, let room = core.hub.room(member.joined.record.room) else { return }
      tracked.joined(member.name, room, after: member.joined.read)
    case .left(let member): tracked.left(member.name, member.handle)
    case .loaded(let loaded):
      for message in loaded.undecided {
        stored(
          message.seq, message.traits, at: message.time, in: loaded.handle, waits: true, isReported: message.reports,
          on: core)
      }
    case .pushed(let end): wakeWorker(heldUntil: end, on: core)
    case .heldDue: holds.end(on: core)
    case .person(let user, let hasOpenDecisions): holds.reconsider(user, hasOpenDecisions: hasOpenDecisions, on: core)
    case .marked(let user, let seq, let room): sendReceived(room, user, upTo: seq, on: core)
    case .edited, .annotated, .role, .restricted, .record, .roomDeleted, .call, .invitations, .userAccess, .listChanged,
      .erasing:
      break
    }
  }

  private func follow(_ sent: SentChange, on core: isolated Core) {
    let (message, stored) = (sent.message, sent.stored)
    self.stored(
      stored.seq, sent.traits, at: stored.time, in: message.handle, waits: message.isWaitedFor,
      isReported: message.isReported, on: core)
    conclude(message.plan, stored.seq, in: message.handle, on: core)
    guard let sender = core.hub.user(sent.traits.from) else { return }
    if let answered = stored.response?.response.message.seq {
      // A response to a notification moves the read mark only to its message.
      core.hub.setRead(answered, sender, in: message.handle)
    } else {
      // The sender has read all earlier messages.
      sendReceived(message.handle, sender, upTo: stored.seq, on: core)
    }
  }
}
