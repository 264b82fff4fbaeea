// SPDX-License-Identifier: Apache-2.0
import RelayDelivery
import RelayHub
package import RelayProtocol
import RelayPush
package import RelayStore

/// Stores values that can be stored late, such as marks, cursors, names and rights. Two requests wait for marks: a
/// `read` with a reply, and the list of rooms.
///
/// It keeps the newest value of each kind, and retries until the store accepts it. A full disk delays the values but
/// loses none. The state is private, and the methods run on the hub's thread.
package final class LateWriter: Follower {
  private var writes = LateWrites()
  /// The next retry of the rejected values.
  private var retry: Task<Void, Never>?

  /// True if the value is not stored yet.
  package func contains(_ write: LateWrite) -> Bool { writes.contains(write) }

  package func save(_ write: LateWrite, on relay: isolated Relay, _ work: @escaping LateWrites.Work) {
    submit(write, begin(write, on: relay, work), work, on: relay)
  }

  private func begin(_ write: LateWrite, on relay: isolated Relay, _ work: @escaping LateWrites.Work) -> Int {
    let (number, isFirst) = writes.begin(write, work)
    if isFirst, let room = write.room { relay.rooms.retain(room) }
    if isFirst, let user = write.user.flatMap(relay.hub.user) { relay.hub.retain(user) }
    return number
  }

  /// Submits the rejected values at once, because the relay stops.
  package func flush(on relay: isolated Relay) {
    retry?.cancel()
    submitFailed(on: relay)
  }

  private func submit(_ write: LateWrite, _ number: Int, _ work: @escaping LateWrites.Work, on relay: isolated Relay) {
    relay.store.submit(work, isUrgent: false) { [relay] result in
      relay.assumeIsolated { $0.late.conclude(write, number, result, on: $0) }
    }
  }

  private func conclude(_ write: LateWrite, _ number: Int, _ result: Result<Void, StoreError>, on relay: isolated Relay)
  {
    if case .failure(let error) = result {
      relay.diagnostics.logFailure(of: error)
      if case .unavailable = error {
        writes.fail(write, number)
        retry(after: Relay.storePause, on: relay)
        return
      }
    }
    if case .success = result, let user = write.inboxUser.flatMap(relay.hub.user) {
      relay.inbox.listChanged(of: user, on: relay)
    }
    if writes.end(write, number) { release(write, on: relay) }
  }

  private func release(_ write: LateWrite, on relay: isolated Relay) {
    if let room = write.room { relay.rooms.release(room, on: relay) }
    if let user = write.user.flatMap(relay.hub.user) { relay.hub.release(user) }
  }

  func follow(_ change: Change, on relay: isolated Relay) {
    guard case .erasing(let user) = change else { return }
    // The values about the user that are not stored yet.
    for write in writes.remove(about: user) { release(write, on: relay) }
  }

  private func retry(after pause: Duration, on relay: isolated Relay) {
    guard retry == nil else { return }
    retry = Task {
      try? await Task.sleep(for: pause)
      retry = nil
      submitFailed(on: relay)
    }
  }

  private func submitFailed(on relay: isolated Relay) {
    for (write, number, work) in writes.takeFailed() { submit(write, number, work, on: relay) }
  }
}

/// The values that are stored late.
extension LateWriter {
  func saveMarks(_ room: RoomHandle, _ user: UserHandle, read: Int64, received: Int64, on relay: isolated Relay) {
    guard let (write, work) = marks(room, user, read: read, received: received, on: relay) else { return }
    save(write, on: relay, work)
  }

  /// Stores the marks of a member before a reply, so that the reply is true for all later requests and after a crash. If
  /// the store fails, the marks are stored later.
  func storeMarks(_ room: RoomHandle, _ user: UserHandle, on relay: isolated Relay) async throws {
    let handover = Handover<Result<Void, StoreError>>()
    storeMarks(room, user, on: relay) { handover.give($1) }
    try await handover.value().get()
  }

  /// Stores all marks of a user, so that the next read of the store has them, also those of a `read` without a reply. If
  /// the store fails, the marks are stored later.
  func storeMarks(of user: UserHandle, on relay: isolated Relay) async {
    let rooms = relay.hub.rooms(of: user).filter { relay.hub.takeMarks(of: user, in: $0) }
    guard let last = rooms.last else { return }
    for room in rooms.dropLast() { submitMarks(room, user, on: relay) { _, _ in } }
    // The store commits the marks in their order.
    let handover = Handover<Result<Void, StoreError>>()
    submitMarks(last, user, on: relay) { handover.give($1) }
    _ = await handover.value()
  }

  /// Stores the marks of a member, and then calls `reply`.
  func storeMarks(
    _ room: RoomHandle, _ user: UserHandle, on relay: isolated Relay,
    then reply: @escaping @Sendable (isolated Relay, Result<Void, StoreError>) -> Void
  ) {
    guard let name = relay.hub.name(of: room), let userName = relay.hub.name(of: user),
      relay.hub.takeMarks(of: user, in: room) || contains(.marks(name, userName))
    else { return reply(relay, .success(())) }
    submitMarks(room, user, on: relay, then: reply)
  }

  private func submitMarks(
    _ room: RoomHandle, _ user: UserHandle, on relay: isolated Relay,
    then reply: @escaping @Sendable (isolated Relay, Result<Void, StoreError>) -> Void
  ) {
    guard let member = relay.hub.marks(of: user, in: room),
      let (write, work) = marks(room, user, read: member.read, received: member.received, on: relay)
    else { return reply(relay, .success(())) }
    relay.deliveries.reportReceived(room, user, upTo: max(member.read, member.received), on: relay)
    // `writes` has the mark until it is stored, so that a second request for it also waits.
    let number = begin(write, on: relay, work)
    relay.store.submit(work) { [relay] result in
      relay.assumeIsolated { relay in
        relay.late.conclude(write, number, result, on: relay)
        reply(relay, result)
      }
    }
  }

  private func marks(
    _ room: RoomHandle, _ user: UserHandle, read: Int64, received: Int64, on relay: isolated Relay
  ) -> (LateWrite, LateWrites.Work)? {
    // A push of a received message that stays unread ends only with the read mark.
    let pushesUnread = relay.people.recipient(user).preferences.pushUnreadAfter != nil
    guard let room = relay.hub.name(of: room), let user = relay.hub.name(of: user) else { return nil }
    return (
      .marks(room, user),
      {
        try $0.updates.read(room, user, upTo: read)
        try $0.rooms.mark(room, user, read: read, received: received)
        _ = try $0.queue.cancel(room, user, upTo: read, reason: "read")
        if received > read, !pushesUnread {
          _ = try $0.queue.cancel(room, user, upTo: received, keepsCalls: true, reason: "received")
        }
      }
    )
  }

  func saveCursor(_ seq: Int64, of room: RoomHandle, on relay: isolated Relay) {
    guard let room = relay.hub.name(of: room) else { return }
    save(.cursor(room), on: relay) { try $0.rooms.advanceCursor(room, to: seq) }
  }

  func savePresence(of user: UserID, lastSeen: Timestamp, activity: Activity?, on relay: isolated Relay) {
    save(.presence(user), on: relay) {
      try $0.people.savePresence(of: user, lastSeen: lastSeen, activity: activity)
    }
  }

  /// The number of unread messages that a user's phones show may have changed.
  func saveBadges(of user: UserID, on relay: isolated Relay) {
    save(.badges(user), on: relay) { try $0.updates.badgesChanged(of: user) }
  }

  func saveProfile(_ user: User, on relay: isolated Relay) {
    save(.profile(user.id), on: relay) { try $0.people.rename(user) }
  }
}

/// The kind of a value that is stored late. The relay keeps only the newest value of each kind.
package enum LateWrite: Hashable {
  case marks(RoomID, UserID)
  case cursor(RoomID)
  case presence(UserID)
  case profile(UserID)
  /// The rooms in which the newest token of a user does not give `join`.
  case withdrawn(UserID)
  /// The claim `rooms` of the newest token of a user.
  case grants(UserID)
  /// The badges of a user's phones.
  case badges(UserID)

  /// The room that must stay in memory until the value is stored, because the newest value is in the room.
  package var room: RoomID? {
    switch self {
    case .marks(let room, _), .cursor(let room): room
    case .presence, .profile, .withdrawn, .grants, .badges: nil
    }
  }

  /// The user whose row has the value. Is `nil` for values of rooms.
  fileprivate var subject: UserID? {
    switch self {
    case .marks(_, let user), .presence(let user), .profile(let user), .withdrawn(let user), .grants(let user),
      .badges(let user):
      user
    case .cursor: nil
    }
  }

  /// The user whose list of rooms shows the value.
  var inboxUser: UserID? {
    switch self {
    case .marks(_, let user), .withdrawn(let user): user
    case .cursor, .presence, .profile, .grants, .badges: nil
    }
  }

  /// The user who must stay in memory until the value is stored, because the newest value is in the user's facts.
  package var user: UserID? { if case .withdrawn(let user) = self { user } else { nil } }
}

/// The late writes that are not on disk yet: at most one of each kind for each member, room and user.
package struct LateWrites {
  package typealias Work = @Sendable (Transaction) throws -> Void

  private struct Entry {
    let number: Int
    let work: Work
    var hasFailed = false
  }

  private var entries: [LateWrite: Entry] = [:]
  private var newest = 0

  /// Returns the number of this value, and true if no other value of its kind is waiting.
  package mutating func begin(_ write: LateWrite, _ work: @escaping Work) -> (number: Int, isFirst: Bool) {
    newest += 1
    let before = entries.updateValue(Entry(number: newest, work: work), forKey: write)
    return (newest, before == nil)
  }

  /// True if the value is not stored yet.
  package func contains(_ write: LateWrite) -> Bool { entries[write] != nil }

  /// Forgets a value that is stored or has finally failed. Returns false if a newer value has replaced it.
  package mutating func end(_ write: LateWrite, _ number: Int) -> Bool {
    guard entries[write]?.number == number else { return false }
    entries[write] = nil
    return true
  }

  /// Keeps a value for a retry, unless a newer value has replaced it.
  package mutating func fail(_ write: LateWrite, _ number: Int) {
    guard entries[write]?.number == number else { return }
    entries[write]?.hasFailed = true
  }

  /// Forgets all values about a user, and returns their kinds.
  mutating func remove(about user: UserID) -> [LateWrite] {
    let found = entries.keys.filter { $0.subject == user }
    for write in found { entries[write] = nil }
    return found
  }

  /// Returns the values to retry.
  mutating func takeFailed() -> [(write: LateWrite, number: Int, work: Work)] {
    entries.compactMap { write, entry in
      guard entry.hasFailed else { return nil }
      entries[write]?.hasFailed = false
      return (write, entry.number, entry.work)
    }
  }
}
