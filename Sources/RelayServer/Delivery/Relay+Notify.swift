// SPDX-License-Identifier: Apache-2.0
import RelayDelivery
import RelayHub
import RelayJSON
import RelayProtocol
import RelayPush
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
      (message: try reader.messages.head(room, seq), silenced: try reader.queue.silenced(room, seq))
    }
    guard let message = found.message, !message.traits.isDeleted else {
      throw RequestError(.notFound, "there is no such message", at: "/seq")
    }
    // Before anything that takes longer where somebody was quiet.
    guard message.traits.from == sender else { throw notSender }
    let named = request.users.map(Set.init)
    let users = found.silenced.filter { named?.contains($0) ?? true }
    let handles = try await retain(users)
    defer { handles.forEach(hub.release) }
    let plan = try await plan(message, in: room, for: zip(users, handles))
    let now = hub.now
    let notified = try await store.write { transaction in
      let notified = try transaction.silenced.notify(room, seq, by: sender, users: users, now: now)
      guard case .users(let allowed)? = notified else { return notified }
      let pushes = plan.pushes.filter { allowed.contains($0.user) }
      _ = try transaction.queue.insert(pushes.map(JobDraft.init), room: room, seq: seq)
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

  /// Plans the pushes of a message as if no recipient were silenced.
  private func plan(
    _ message: MessageHead, in room: RoomID, for users: some Sequence<(UserID, UserHandle)>
  ) async throws -> Plan {
    let users = Array(users)
    let marks = try await store.read { reader in
      try users.map { try reader.rooms.marks(of: $0.0, in: room) }
    }
    let now = hub.now
    let members = zip(users, marks).map { user, marks in
      let recipient = recipient(user.1)
      let membership = Membership(newest(marks, of: user.0, in: room), nil, at: message.seq, shown: now)
      return PlanMember(user.0, recipient, as: membership, quiet: deliveries.quiet(of: recipient, at: now))
    }
    let message = PlanMessage(message.traits, in: room, at: message.time, isNotifyAnyway: true)
    return deliveries.plan(message, for: members, now: now, on: self)
  }

  /// A member's stored marks, or those that are not stored yet.
  private func newest(_ stored: Marks?, of user: UserID, in room: RoomID) -> Marks? {
    guard let stored else { return nil }
    guard let room = hub.room(room), let user = hub.user(user), let known = hub.marks(of: user, in: room) else {
      return stored
    }
    return Marks(read: max(stored.read, known.read), received: max(stored.received, known.received))
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
