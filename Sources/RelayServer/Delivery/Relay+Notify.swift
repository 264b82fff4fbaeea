// SPDX-License-Identifier: Apache-2.0
import RelayDelivery
import RelayHub
import RelayProtocol
import RelayStore

/// Notify Anyway: the sender wants to be heard by who was quiet.
extension Relay {
  func notify(_ request: HubRequest, _ user: UserHandle) async throws {
    let (room, _, name) = try place(of: request, user)
    let notification = try NotifyRequest(request.fields)
    let count = try await notify(notification, in: room, by: name)
    finish(request) { $0.integer("push", count) }
  }

  /// - Returns: How many are notified. Throws `forbidden` where somebody else sent the message or the time is over,
  ///   `rate_limited`, and `not_found`.
  func notify(_ request: NotifyRequest, in room: RoomID, by sender: UserID) async throws -> Int {
    let seq = request.seq
    let found = try await store.read { reader in
      (message: try reader.message(room, seq), silenced: try reader.silenced(room, seq))
    }
    guard let message = found.message, !message.isDeleted else {
      throw RequestError(.notFound, "there is no such message", at: "/seq")
    }
    // Before anything that takes longer where somebody was quiet.
    guard message.from == sender else { throw notSender }
    let named = request.users.map(Set.init)
    let users = found.silenced.filter { named?.contains($0) ?? true }
    let handles = try await retain(users)
    defer { handles.forEach(hub.release) }
    let traits = MessageTraits(
      from: message.from, mentions: message.mentions, push: PushRequest(stored: message.push, parser))
    let pushes = try await pushes(of: message, traits, in: room, to: zip(users, handles))
    let now = hub.now
    let notified = try await store.write { transaction in
      let notified = try transaction.notify(room, seq, by: sender, users: users, now: now)
      guard case .users(let allowed)? = notified else { return notified }
      let drafts = pushes.map(\.draft).filter { allowed.contains($0.user) }
      _ = try transaction.insert(drafts, room: room, seq: seq)
      return notified
    }
    switch notified {
    case .users(let users)?:
      worker.wake()
      return users.count
    case .notSender?: throw notSender
    case .tooLate?: throw RequestError(.forbidden, "the message is too old to notify anyway", at: "/seq")
    case .tooMany(let end)?:
      throw RequestError(.rateLimited, "too many notifications of one recipient", retryAfter: end - now)
    case nil: throw RequestError(.notFound, "there is no such message", at: "/seq")
    }
  }

  private var notSender: RequestError { RequestError(.forbidden, "somebody else sent this message", at: "/seq") }

  /// What the decision comes to if nobody's silence counts.
  private func pushes(
    of message: StoredMessage, _ traits: MessageTraits, in room: RoomID, to users: some Sequence<(UserID, UserHandle)>
  ) async throws -> [DecidedPush] {
    let users = Array(users)
    let marks = try await store.read { reader in
      try users.map { try reader.marks(of: $0.0, in: room) }
    }
    let now = hub.now
    let facts = traits.facts(at: message.time, isNotifyAnyway: true)
    var pushes: [DecidedPush] = []
    for ((name, user), marks) in zip(users, marks) {
      let person = self.recipient(user)
      let membership = Membership(newest(marks, of: name, in: room), nil, at: message.seq, shown: now)
      let recipient = person.facts(
        name, of: traits, in: room, as: membership, quiet: quiet(of: person, at: now), now: now)
      for case (let device?, let facts) in person.cases(of: facts, for: recipient, in: apps.entitlements, now: now) {
        let decision = RelayDelivery.decide(facts, policy: policy)
        tally.count(decision.outcome)
        if case .push = decision.outcome { pushes.append(DecidedPush(decision, facts, to: device)) }
      }
    }
    return pushes
  }
}

/// Which message, and whom.
struct NotifyRequest {
  let seq: Int64
  /// nil: all who were quiet.
  let users: [UserID]?

  static let mostUsers = 256

  init(_ fields: Fields) throws(RequestError) {
    try self.init(seq: fields.seq, fields)
  }

  init(seq: Int64, _ fields: Fields) throws(RequestError) {
    self.seq = seq
    users = try fields.names("users", most: Self.mostUsers)
  }
}
