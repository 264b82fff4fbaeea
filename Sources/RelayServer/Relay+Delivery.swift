// SPDX-License-Identifier: Apache-2.0
import Logging
import RelayDelivery
import RelayHub
import RelayProtocol
import RelayStore

/// Who is pushed to: what the hub knows goes through the decision, and what comes out becomes jobs.
extension Relay {
  /// The jobs of a message that is not stored yet, for members whom nothing is waited for.
  func jobs(for users: [UserHandle], at time: Timestamp, from sender: UserID) -> [JobDraft] {
    let message = MessageFacts(sender: sender, time: time, expires: time + Self.pushLifetime)
    return users.flatMap { user in
      guard let name = hub.name(of: user) else { return [] as [JobDraft] }
      // Nobody is there, and no grace runs: the hub has said so.
      return decide(message, RecipientFacts(user: name), user, now: time).jobs
    }
  }

  /// For how long a push of a message may reach its device (push.md: 28 days).
  static let pushLifetime = Duration.seconds(28 * 24 * 3600)

  private struct Verdict {
    /// When to ask again; nil: decided.
    var wait: Timestamp?
    var jobs: [JobDraft] = []
  }

  private func decide(_ message: MessageFacts, _ recipient: RecipientFacts, _ user: UserHandle, now: Timestamp)
    -> Verdict
  {
    var verdict = Verdict()
    let devices = people[user]?.devices ?? []
    for device in devices.isEmpty ? [nil] : devices.map(Optional.some) {
      let decision = RelayDelivery.decide(
        DeliveryCase(message: message, recipient: recipient, device: device.map { _ in DeviceFacts() }, now: now),
        policy: policy)
      tally.count(decision.outcome)
      switch (decision.outcome, device) {
      case (.wait(let until), _): verdict.wait = until
      case (.push, .some(let device)):
        verdict.jobs.append(
          JobDraft(
            user: recipient.user, device: device.id, token: device.token, platform: device.platform, due: now,
            reasons: decision.reasons.map(\.code.rawValue)))
      case (.push, nil): preconditionFailure("a push was decided for no device")
      case (.hold, _): preconditionFailure("a push was held without a silence")
      case (.none, _): break
      }
    }
    return verdict
  }

  /// What was decided for one member, to be stored.
  private struct Round: Sendable {
    let room: RoomHandle
    let name: RoomID
    let user: UserHandle
    var decided: Int64 = 0
    var wait: Duration = .zero
    var jobs: [(seq: Int64, drafts: [JobDraft])] = []
  }

  /// Decides what waits for these members, and stores the pushes in one transaction for all.
  func decide(_ due: [(RoomHandle, UserHandle)]) {
    var rounds: [Round] = []
    for (room, user) in due {
      guard let round = round(room, user) else { continue }
      if round.jobs.isEmpty {
        hub.decide(room, user, upTo: round.decided, askAgain: round.wait)
      } else {
        rounds.append(round)
      }
    }
    guard !rounds.isEmpty else { return }
    for round in rounds { pin(round.name) }
    store.submit({ [rounds] transaction in
      for round in rounds {
        for job in round.jobs { _ = try transaction.insert(job.drafts, room: round.name, seq: job.seq) }
      }
    }) { [self, rounds] result in
      assumeIsolated { $0.conclude(rounds, result) }
    }
  }

  private func conclude(_ rounds: [Round], _ result: Result<Void, StoreError>) {
    for round in rounds {
      unpin(round.name)
      switch result {
      case .success: hub.decide(round.room, round.user, upTo: round.decided, askAgain: round.wait)
      case .failure: hub.decide(round.room, round.user, upTo: 0, askAgain: .seconds(1))
      }
    }
    switch result {
    case .success: worker.wake()
    case .failure(let error): logFailure(of: error)
    }
  }

  private func round(_ room: RoomHandle, _ user: UserHandle) -> Round? {
    guard let name = hub.name(of: room), let recipient = hub.name(of: user) else { return nil }
    let now = hub.now
    let (messages, member) = hub.undecided(room, user)
    var round = Round(room: room, name: name, user: user)
    for message in messages {
      let verdict = verdict(message, member, recipient, user, now: now)
      if let wait = verdict.wait {
        round.wait = wait - now
        break
      }
      round.decided = message.seq
      if !verdict.jobs.isEmpty { round.jobs.append((message.seq, verdict.jobs)) }
    }
    return round
  }

  private func verdict(
    _ message: UndecidedMessage, _ member: MemberFacts, _ recipient: UserID, _ user: UserHandle, now: Timestamp
  ) -> Verdict {
    let facts = RecipientFacts(
      user: recipient, hasRead: member.read >= message.seq, hasReceivedActively: member.received >= message.seq,
      sessions: member.sessions.map { SessionFacts($0, of: message) },
      away: AwayFacts(since: member.awaySince, isClean: member.isClean))
    // The hub tells whether it is the recipient's own, which is all that the decision asks of the sender.
    let sender = message.isOwn ? recipient : UserID(unchecked: "")
    return decide(
      MessageFacts(sender: sender, time: message.time, expires: message.time + Self.pushLifetime), facts, user,
      now: now)
  }
}

extension SessionFacts {
  init(_ session: MemberSession, of message: UndecidedMessage) {
    let wasGiven = message.seq >= session.givenFrom
    let writing: Writing =
      if !wasGiven {
        .missed(joined: session.joined)
      } else if let blocked = session.blocked, message.shown >= blocked {
        .pending
      } else {
        .written(at: max(message.shown, session.joined, session.drained))
      }
    self.init(
      activity: session.activity, writing: writing,
      hasReceived: session.received >= message.seq && (session.acknowledges || wasGiven))
  }
}
