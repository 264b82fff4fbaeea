// SPDX-License-Identifier: Apache-2.0
import RelayDelivery
package import RelayHub
package import RelayProtocol
package import RelayStore

/// Stores values that can be stored late, such as marks, cursors, names and rights. Two requests wait for marks: a
/// `read` with a reply, and the list of rooms.
///
/// It keeps the newest value of each kind, and retries until the store accepts it. A full disk delays the values but
/// loses none. The state is private, and the methods run on the hub's thread.
package final class LateWriter: Follower {
  private var writes = LateWrites()
  /// The pause before the rejected values are submitted again.
  private let pause = StorePause()

  private let memory: RoomMemory
  private let recipients: Recipients

  package init(_ memory: RoomMemory, _ recipients: Recipients) { (self.memory, self.recipients) = (memory, recipients) }

  /// True if the value is not stored yet.
  package func contains(_ write: LateWrite) -> Bool { writes.contains(write) }

  package func save(_ write: LateWrite, on core: isolated Core, _ work: @escaping LateWrites.Work) {
    submit(write, begin(write, on: core, work), work, on: core)
  }

  private func begin(_ write: LateWrite, on core: isolated Core, _ work: @escaping LateWrites.Work) -> Int {
    let (number, isFirst) = writes.begin(write, work)
    if isFirst, let room = write.room { memory.retain(room) }
    if isFirst, let user = write.user.flatMap(core.hub.user) { core.hub.retain(user) }
    return number
  }

  /// Submits the rejected values again, at the latest when the relay stops.
  package func flush(on core: isolated Core) {
    for (write, number, work) in writes.takeFailed() { submit(write, number, work, on: core) }
  }

  private func submit(_ write: LateWrite, _ number: Int, _ work: @escaping LateWrites.Work, on core: isolated Core) {
    core.submit(isUrgent: false, work) { [self] result in conclude(write, number, result, on: core) }
  }

  private func conclude(_ write: LateWrite, _ number: Int, _ result: Result<Void, StoreError>, on core: isolated Core) {
    if case .failure(let error) = result {
      core.diagnostics.logFailure(of: error)
      if case .unavailable = error {
        writes.fail(write, number)
        pause.begin(on: core) { [self] in flush(on: core) }
        return
      }
    }
    if case .success = result, let user = write.inboxUser.flatMap(core.hub.user) {
      core.publish(.listChanged(of: user))
    }
    if writes.end(write, number) { release(write, on: core) }
  }

  private func release(_ write: LateWrite, on core: isolated Core) {
    if let room = write.room { memory.release(room, on: core) }
    if let user = write.user.flatMap(core.hub.user) { core.hub.release(user) }
  }

  package func follow(_ change: Change, on core: isolated Core) {
    guard case .erasing(let user) = change else { return }
    // The values about the user that are not stored yet.
    for write in writes.remove(about: user) { release(write, on: core) }
  }
}

/// The values that are stored late.
extension LateWriter {
  package func saveMarks(_ room: RoomHandle, _ user: UserHandle, read: Int64, received: Int64, on core: isolated Core) {
    guard let (write, work) = marks(room, user, read: read, received: received, on: core) else { return }
    save(write, on: core, work)
  }

  /// Stores the marks of a member before a reply, so that the reply is true for all later requests and after a crash. If
  /// the store fails, the marks are stored later.
  package func storeMarks(_ room: RoomHandle, _ user: UserHandle, on core: isolated Core) async throws {
    let handover = Handover<Result<Void, StoreError>>()
    storeMarks(room, user, on: core) { handover.give($0) }
    try await handover.value().get()
  }

  /// Stores all marks of a user, so that the next read of the store has them, also those of a `read` without a reply. If
  /// the store fails, the marks are stored later.
  package func storeMarks(of user: UserHandle, on core: isolated Core) async {
    let rooms = core.hub.rooms(of: user).filter { core.hub.takeMarks(of: user, in: $0) }
    guard let last = rooms.last else { return }
    for room in rooms.dropLast() { submitMarks(room, user, on: core) { _ in } }
    // The store commits the marks in their order.
    let handover = Handover<Result<Void, StoreError>>()
    submitMarks(last, user, on: core) { handover.give($0) }
    _ = await handover.value()
  }

  /// Stores the marks of a member, and then calls `reply`.
  package func storeMarks(
    _ room: RoomHandle, _ user: UserHandle, on core: isolated Core,
    then reply: @escaping (Result<Void, StoreError>) -> Void
  ) {
    guard let name = core.hub.name(of: room), let userName = core.hub.name(of: user),
      core.hub.takeMarks(of: user, in: room) || contains(.marks(name, userName))
    else { return reply(.success(())) }
    submitMarks(room, user, on: core, then: reply)
  }

  private func submitMarks(
    _ room: RoomHandle, _ user: UserHandle, on core: isolated Core,
    then reply: @escaping (Result<Void, StoreError>) -> Void
  ) {
    guard let member = core.hub.marks(of: user, in: room),
      let (write, work) = marks(room, user, read: member.read, received: member.received, on: core)
    else { return reply(.success(())) }
    core.publish(.marked(user, upTo: max(member.read, member.received), in: room))
    // `writes` has the mark until it is stored, so that a second request for it also waits.
    let number = begin(write, on: core, work)
    core.submit(work) { [self] result in
      conclude(write, number, result, on: core)
      reply(result)
    }
  }

  private func marks(
    _ room: RoomHandle, _ user: UserHandle, read: Int64, received: Int64, on core: isolated Core
  ) -> (LateWrite, LateWrites.Work)? {
    // A push of a received message that stays unread ends only with the read mark.
    let pushesUnread = recipients[user].preferences.pushUnreadAfter != nil
    guard let room = core.hub.name(of: room), let user = core.hub.name(of: user) else { return nil }
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

  package func saveCursor(_ seq: Int64, of room: RoomHandle, on core: isolated Core) {
    guard let room = core.hub.name(of: room) else { return }
    save(.cursor(room), on: core) { try $0.rooms.advanceCursor(room, to: seq) }
  }

  package func savePresence(of user: UserID, lastSeen: Timestamp, activity: Activity?, on core: isolated Core) {
    save(.presence(user), on: core) {
      try $0.people.savePresence(of: user, lastSeen: lastSeen, activity: activity)
    }
  }

  /// The number of unread messages that a user's phones show may have changed.
  func saveBadges(of user: UserID, on core: isolated Core) {
    save(.badges(user), on: core) { try $0.updates.badgesChanged(of: user) }
  }

  package func saveProfile(_ user: User, on core: isolated Core) {
    save(.profile(user.id), on: core) { try $0.people.rename(user) }
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
  package mutating func remove(about user: UserID) -> [LateWrite] {
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
