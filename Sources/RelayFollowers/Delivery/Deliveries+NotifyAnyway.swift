// SPDX-License-Identifier: Apache-2.0
import RelayDelivery
import RelayHub
package import RelayProtocol
import RelayPush
package import RelayState
import RelayStore

/// Notify Anyway: the sender notifies recipients who were silenced when the message was sent.
extension Deliveries {
  /// Notifies the silenced recipients of a message. Throws `forbidden` if another user sent the message or the message
  /// is too old, `rate_limited`, and `not_found`.
  /// - Parameter named: The recipients to notify. With `nil`, all silenced recipients are notified.
  /// - Returns: The number of notified users.
  package func notifyAnyway(
    _ seq: Int64, in room: RoomID, by sender: UserID, only named: [UserID]?, on core: isolated Core
  ) async throws -> Int {
    let found = try await core.store.read { reader in
      (message: try reader.messages.head(room, seq), silenced: try reader.queue.silenced(room, seq))
    }
    guard let message = found.message, !message.traits.isDeleted else {
      throw RequestError(.notFound, "there is no such message", at: "/seq")
    }
    // Checked first, so that the duration of the following reads does not show other users whether a recipient was
    // silenced.
    guard message.traits.from == sender else { throw notSender }
    let named = named.map(Set.init)
    let users = found.silenced.filter { named?.contains($0) ?? true }
    let handles = try await people.retain(users, on: core)
    defer { handles.forEach(core.hub.release) }
    let plan = try await plan(message, in: room, for: zip(users, handles), on: core)
    let notified = try await core.store.write { transaction in
      let notified = try transaction.silenced.notify(room, seq, by: sender, users: users)
      guard case .users(let allowed)? = notified else { return notified }
      try transaction.queue.insert(plan.pushes.filter { allowed.contains($0.user) }, room: room, seq: seq)
      return notified
    }
    switch notified {
    case .users(let users)?:
      worker.wake()
      return users.count
    case .notSender?: throw notSender
    case .tooLate?: throw RequestError(.forbidden, "the message is too old to notify anyway", at: "/seq")
    case .tooMany(let delay)?:
      throw RequestError(.rateLimited, "too many notifications of one recipient", retryAfter: delay)
    case nil: throw RequestError(.notFound, "there is no such message", at: "/seq")
    }
  }

  private var notSender: RequestError { RequestError(.forbidden, "somebody else sent this message", at: "/seq") }

  /// Plans the pushes of a message as if no recipient were silenced.
  private func plan(
    _ message: MessageHead, in room: RoomID, for users: some Sequence<(UserID, UserHandle)>,
    on core: isolated Core
  ) async throws -> Plan {
    let users = Array(users)
    let marks = try await core.store.read { reader in
      try users.map { try reader.rooms.marks(of: $0.0, in: room) }
    }
    let now = core.hub.now
    let members = zip(users, marks).map { user, marks in
      let recipient = recipients[user.1]
      let membership = Membership(newest(marks, of: user.0, in: room, core.hub), nil, at: message.seq, shown: now)
      return PlanMember(user.0, recipient, as: membership, quietHours: zones.quietHours(of: recipient, at: now))
    }
    let message = PlanMessage(message.traits, in: room, at: message.time, isNotifyAnyway: true)
    return plan(message, for: members, now: now, on: core)
  }

  /// The newer of a member's stored marks and the marks in memory.
  private func newest(_ stored: Marks?, of user: UserID, in room: RoomID, _ hub: Hub) -> Marks? {
    guard let stored else { return nil }
    guard let room = hub.room(room), let user = hub.user(user), let known = hub.marks(of: user, in: room) else {
      return stored
    }
    return Marks(read: max(stored.read, known.read), received: max(stored.received, known.received))
  }
}
