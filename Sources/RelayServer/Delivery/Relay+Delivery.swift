// SPDX-License-Identifier: Apache-2.0
import RelayDelivery
import RelayHub
import RelayProtocol
import RelayStore

/// Decides about each message and recipient from the state of the hub and the user, and stores the resulting push jobs.
extension Relay {
  /// What becomes of a message that is not stored yet for members whom nothing is waited for.
  func decide(_ message: MessageTraits, at time: Timestamp, for users: [UserHandle], in room: RoomID) -> DecidedMessage
  {
    var decided = DecidedMessage()
    for user in users {
      guard let name = hub.name(of: user) else { continue }
      let person = self.recipient(user)
      let facts = message.facts(at: time)
      // The hub has selected members without a session and without a grace.
      let recipient = person.facts(
        name, of: message, in: room, as: .absent, quiet: quiet(of: person, at: time), now: time)
      // The message has no plan yet: the plan will have each member that hides their presence now.
      let isPlanned = facts.hiddenReportDelay(policy) != nil && person.hidesPresence(from: message.from)
      decided.add(decide(facts, recipient, person, now: time, isReported: !isPlanned))
    }
    return decided
  }

  /// The number of decisions that ``decide(_:at:for:in:)`` makes.
  func decisionCount(for users: [UserHandle]) -> Int {
    users.reduce(0) { $0 + (people[$1]?.decisionCount ?? 1) }
  }

  /// The quiet hours of a user that are on.
  func quiet(of person: Recipient, at now: Timestamp) -> QuietFacts? {
    person.preferences.quietHours.flatMap { quietClock.facts(of: $0, at: now) }
  }

  /// For each device, or once where there is none.
  /// - Parameter isReported: True if the sender may receive a report about the recipient at this decision.
  private func decide(
    _ message: MessageFacts, _ recipient: RecipientFacts, _ person: Recipient, now: Timestamp, isReported: Bool
  ) -> DecidedMessage {
    var decided = DecidedMessage()
    lazy var due = pace.due(of: message, to: recipient.user, now: now)
    for (device, facts) in person.cases(of: message, for: recipient, in: apps.entitlements, now: now) {
      let decision = RelayDelivery.decide(facts, policy: policy)
      tally.count(decision.outcome)
      switch (decision.outcome, device) {
      case (.wait(let until), _): decided.wait = until
      case (.push(.critical), .some(let device)), (.hold, .some(let device)):
        decided.pushes.append(DecidedPush(decision, facts, to: device))
      case (.push, .some(let device)):
        decided.pushes.append(DecidedPush(decision, facts, to: device, due: due))
      case (.push, nil), (.hold, nil): preconditionFailure("a push was decided for no device")
      case (.none, _): break
      }
    }
    guard isReported, decided.wait == nil else { return decided }
    switch shownOutcome(of: message, for: recipient, person, now: now) {
    case .push: decided.untold = [recipient.user]
    case .wait(let until) where decided.pushes.isEmpty: decided.wait = until
    case .wait, .hold, .some(.none), nil: break
    }
    return decided
  }

  /// What would become of a push if the recipient, who does not let the sender know, had nothing to hide; nil: they let
  /// them know.
  private func shownOutcome(
    of message: MessageFacts, for recipient: RecipientFacts, _ person: Recipient, now: Timestamp
  ) -> Decision.Outcome? {
    guard person.hidesResult(recipient) else { return nil }
    var open = recipient
    if open.hasBlockedSender {
      // Whom they have blocked does not see whether they are there.
      open.hasBlockedSender = false
      open.sessions = []
      open.away = nil
      (open.hasRead, open.hasReceivedActively) = (false, false)
    }
    open.roomLevel = .all
    open.quiet = nil
    let facts = DeliveryCase(message: message, recipient: open, device: DeviceFacts(), now: now)
    return RelayDelivery.decide(facts, policy: policy).outcome
  }

  /// The pushes of a message are on disk.
  func conclude(_ decided: DecidedMessage, _ seq: Int64, in room: RoomHandle) {
    for user in decided.untold { sendReport(.pushed, about: user, of: seq, in: room) }
    guard !decided.pushes.isEmpty else { return }
    worker.wake()
    if let end = decided.pushes.compactMap(\.holdEnd).min() { expectHoldEnd(by: end) }
  }

  // MARK: What waits

  /// What was decided for one member, to be stored.
  private struct Round: Sendable {
    let room: RoomHandle
    let name: RoomID
    let user: UserHandle
    /// The decision about each message that was due: it is decided, or it waits on.
    var decided: [DecidedSeq] = []
    var messages: [(seq: Int64, decided: DecidedMessage)] = []
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
    let rows = rounds.reduce(0) { $0 + $1.messages.reduce(0) { $0 + $1.decided.pushes.count } }
    store.submit(
      { [rounds] transaction in
        for round in rounds {
          for message in round.messages {
            _ = try transaction.insert(message.decided.pushes.map(\.draft), room: round.name, seq: message.seq)
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
        for message in round.messages { conclude(message.decided, message.seq, in: round.room) }
      case .failure:
        hub.decide(round.room, round.user, round.decided.map { DecidedSeq($0.seq, wait: .seconds(1)) })
      }
    }
    if case .failure(let error) = result { logFailure(of: error) }
  }

  /// Decides each message that is due by itself: one that has to wait does not hold up those behind it.
  private func round(_ room: RoomHandle, _ user: UserHandle, within slice: inout DecisionSlice) -> Round? {
    guard let name = hub.name(of: room), let recipient = hub.name(of: user), let facts = hub.member(user, of: room)
    else { return nil }
    let now = hub.now
    let member = RoomMember(facts)
    let person = self.recipient(user)
    let devices = person.devices.count
    let messages = hub.undecided(room, user, limit: slice.maxMessages(devices: devices))
    slice.add(messages: messages.count, devices: devices)
    let quiet = quiet(of: person, at: now)
    var round = Round(room: room, name: name, user: user)
    for message in messages {
      let traits = traits(of: message, in: room, to: recipient)
      let messageFacts = traits.facts(at: message.time)
      let facts = person.facts(
        recipient, of: traits, in: name,
        as: Membership(member.marks, member.presence, at: message.seq, shown: message.shown), quiet: quiet, now: now)
      let decided = decide(
        messageFacts, facts, person, now: now,
        isReported: reports[room, message.seq] != nil
          && !isReportPlanned(about: user, of: message.seq, messageFacts, in: room))
      round.decided.append(DecidedSeq(message.seq, wait: decided.wait.map { $0 - now }))
      guard decided.wait == nil, !decided.pushes.isEmpty || !decided.untold.isEmpty else { continue }
      round.messages.append((message.seq, decided))
    }
    return round
  }

  private func traits(of message: UndecidedMessage, in room: RoomHandle, to recipient: UserID) -> MessageTraits {
    if let traits = undecided[room, message.seq] { return traits }
    // Whose traits are not kept waits for nobody, or was decided.
    let sender = message.isOwn ? recipient : message.from.flatMap(hub.name(of:))
    return MessageTraits(from: sender ?? UserID(unchecked: ""))
  }
}
