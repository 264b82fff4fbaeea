// SPDX-License-Identifier: Apache-2.0
import Logging
import RelayHub
import RelayProtocol
import RelayPush
import RelayStore

/// What is written a little later, with nobody waiting for it. Of each there is one newest value, and that is tried
/// until the store takes it: a full disk delays marks and cursors, but loses none.
enum LateWrite: Hashable {
  case marks(RoomID, UserID)
  case cursor(RoomID)
  case lastSeen(UserID)
  case profile(UserID)
  /// The rooms in which the newest token of a user does not give `join`.
  case withdrawn(UserID)
  /// The claim `rooms` of the newest token of a user.
  case grants(UserID)

  /// The room that has to stay in memory, where the value is known, until it is stored.
  var room: RoomID? {
    switch self {
    case .marks(let room, _), .cursor(let room): room
    case .lastSeen, .profile, .withdrawn, .grants: nil
    }
  }

  /// The user who has to stay in memory, where the value is known, until it is stored.
  var user: UserID? { if case .withdrawn(let user) = self { user } else { nil } }
}

/// The late writes that are not on disk yet; at most one of a kind for each member, room and user.
struct LateWrites {
  typealias Work = @Sendable (Transaction) throws -> Void

  private struct Entry {
    let number: Int
    let work: Work
    var hasFailed = false
  }

  private var entries: [LateWrite: Entry] = [:]
  private var newest = 0

  /// The number of this value, and whether it is the only one of its kind.
  mutating func begin(_ write: LateWrite, _ work: @escaping Work) -> (number: Int, isFirst: Bool) {
    newest += 1
    let before = entries.updateValue(Entry(number: newest, work: work), forKey: write)
    return (newest, before == nil)
  }

  /// True if the value is not stored yet.
  func contains(_ write: LateWrite) -> Bool { entries[write] != nil }

  /// It is stored, or never will be; false when a newer one is on its way, or was.
  mutating func end(_ write: LateWrite, _ number: Int) -> Bool {
    guard entries[write]?.number == number else { return false }
    entries[write] = nil
    return true
  }

  /// It is to be tried again, unless a newer one is on its way.
  mutating func fail(_ write: LateWrite, _ number: Int) {
    guard entries[write]?.number == number else { return }
    entries[write]?.hasFailed = true
  }

  /// Those to be tried again now.
  mutating func takeFailed() -> [(write: LateWrite, number: Int, work: Work)] {
    entries.compactMap { write, entry in
      guard entry.hasFailed else { return nil }
      entries[write]?.hasFailed = false
      return (write, entry.number, entry.work)
    }
  }
}

extension Relay {
  /// For how long the store is left alone after it has failed.
  static let storePause = Duration.seconds(1)

  func saveLate(_ write: LateWrite, _ work: @escaping LateWrites.Work) {
    let (number, isFirst) = lateWrites.begin(write, work)
    if isFirst, let room = write.room { pin(room) }
    if isFirst, let user = write.user.flatMap(hub.user) { hub.retain(user) }
    submit(write, number, work)
  }

  private func submit(_ write: LateWrite, _ number: Int, _ work: @escaping LateWrites.Work) {
    store.submit(work, isUrgent: false) { [self] result in
      assumeIsolated { $0.conclude(write, number, result) }
    }
  }

  private func conclude(_ write: LateWrite, _ number: Int, _ result: Result<Void, StoreError>) {
    if case .failure(let error) = result {
      logFailure(of: error)
      if case .unavailable = error {
        lateWrites.fail(write, number)
        retryLateWrites(after: Self.storePause)
        return
      }
    }
    guard lateWrites.end(write, number) else { return }
    if let room = write.room { unpin(room) }
    if let user = write.user.flatMap(hub.user) { hub.release(user) }
  }

  private func retryLateWrites(after pause: Duration) {
    guard lateRetry == nil else { return }
    lateRetry = Task {
      try? await Task.sleep(for: pause)
      lateRetry = nil
      submitFailedLateWrites()
    }
  }

  func submitFailedLateWrites() {
    for (write, number, work) in lateWrites.takeFailed() { submit(write, number, work) }
  }

  /// A store that fails does so for everybody and for a while; a line now and then is enough.
  func logFailure(of error: StoreError) {
    guard storeLogPause.isOver() else { return }
    log.error("\(error)", metadata: ["code": "\(error.code.rawValue)"])
  }

  // MARK: What is late

  func saveMarks(_ room: RoomHandle, _ user: UserHandle, read: Int64, received: Int64) {
    guard let room = hub.name(of: room), let user = hub.name(of: user) else { return }
    saveLate(.marks(room, user)) { [worker] in
      if try $0.updates.storeBadges(of: user, reading: room, upTo: read) { worker.wake() }
      try $0.rooms.mark(room, user, read: read, received: received)
      _ = try $0.queue.cancel(room, user, upTo: read, reason: "read")
      if received > read { _ = try $0.queue.cancel(room, user, upTo: received, sparesCalls: true, reason: "received") }
    }
  }

  func saveCursor(_ seq: Int64, of room: RoomHandle) {
    guard let room = hub.name(of: room) else { return }
    saveLate(.cursor(room)) { try $0.rooms.advanceCursor(room, to: seq) }
  }

  func saveLastSeen(_ time: Timestamp, of user: UserID) {
    saveLate(.lastSeen(user)) { try $0.people.touch(user, lastSeen: time) }
  }

  func saveProfile(_ user: User) {
    saveLate(.profile(user.id)) { try $0.people.rename(user) }
  }
}
