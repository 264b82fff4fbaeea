// SPDX-License-Identifier: Apache-2.0
import RelayDelivery
import RelayHub
import RelayProtocol
import RelayPush
import RelayStore

/// The erasures of users: their begin, and their slices in the background.
///
/// The store performs the work, and continues it after a restart. This object ends the sessions of the user, and
/// applies each slice to the rooms and users in memory. The state is private. The relay creates one object, and the
/// methods run on the hub's thread.
package final class Erasures {
  /// The users whose erasure the store has not begun yet, with the number of requests.
  private var beginning: [UserID: Int] = [:]
  /// The erased users who are still in memory and have not returned. The store must not learn that they went offline.
  private var erased: Set<UserID> = []
  private var isRunning = false

  /// True if the store must not get the presence of a user.
  func hasErased(_ user: UserID) -> Bool { erased.contains(user) }

  /// Called before a session of a user opens. Returns false while an erasure of the user begins. Otherwise the user is
  /// a new one from now on.
  func admits(_ user: UserID) -> Bool {
    guard beginning[user] == nil else { return false }
    erased.remove(user)
    return true
  }

  /// Closes the sessions of a user, and begins the erasure.
  /// - Returns: The erasure, and the number of closed sessions.
  func begin(
    of user: UserID, _ messages: MessageErasure, on relay: isolated Relay
  ) async throws -> (erasure: ErasureRecord, closed: Int) {
    let id = Self.newName("erasure-")
    let pseudonym = UserID(unchecked: Self.newName("erased-"))
    // No presence of a user who has left memory follows.
    erased = erased.filter { relay.hub.user($0) != nil }
    beginning[user, default: 0] += 1
    erased.insert(user)
    let closed = relay.hub.user(user).map { relay.hub.closeSessions(of: $0, .byOperator, Self.reason) } ?? 0
    relay.people.noteChange(of: user)
    let erasure = try await relay.commit(rows: Self.rows) {
      try $0.erasures.begin(id, of: user, as: pseudonym, messages)
    } then: { relay, result in
      relay.erasures.begun(user, hasFailed: (try? result.get()) == nil, on: relay)
    }
    return (erasure, closed)
  }

  private static let reason = "the user was erased"
  /// An estimate of the rows that a slice writes.
  private static let rows = 200

  private static func newName(_ prefix: String) -> String {
    prefix + String(UInt64.random(in: 1...UInt64.max), radix: 36) + String(UInt64.random(in: 1...UInt64.max), radix: 36)
  }

  /// Forgets what is in memory about a user.
  private func begun(_ user: UserID, hasFailed: Bool, on relay: isolated Relay) {
    if let count = beginning[user] { beginning[user] = count == 1 ? nil : count - 1 }
    guard !hasFailed else {
      erased.remove(user)
      return
    }
    relay.restrictions.forget(user)
    relay.people.noteChange(of: user)
    if let handle = relay.hub.user(user) {
      relay.hub.retain(handle)
      defer { relay.hub.release(handle) }
      for other in relay.people.recipient(handle).blocked { relay.hub.setBlocked(false, other, by: handle) }
      relay.people.show(Recipient(), of: handle, on: relay)
      relay.hub.setProfile(User(id: user), of: handle)
      relay.hub.forgetSeen(handle)
      relay.deliveries.holds.reconsider(handle, on: relay)
    }
    relay.rooms.sweep(on: relay)
    resume(on: relay)
  }

  /// Continues the erasures in progress, in slices. Messages are stored in between.
  func resume(on relay: isolated Relay) {
    guard !isRunning else { return }
    isRunning = true
    Task {
      defer { isRunning = false }
      while relay.stage != .stopping {
        do {
          guard let id = try await relay.store.read({ try $0.erasures.next() }) else { return }
          let slice = try await relay.commit(rows: Self.rows) {
            try $0.erasures.perform(id)
          } then: { relay, result in
            if let slice = try? result.get() { relay.erasures.apply(slice, on: relay) }
          }
          guard slice.isLast else { continue }
          try await relay.store.removeDeletedContents()
          try await relay.store.write { try $0.erasures.finish(id) }
        } catch {
          _ = relay.requestError(error)  // logs the failure
          guard case StoreError.unavailable = error else { return }
          try? await Task.sleep(for: Relay.storePause)
        }
      }
    }
  }

  // MARK: Rooms and users in memory

  private func apply(_ slice: ErasedSlice, on relay: isolated Relay) {
    guard let name = slice.name else { return }
    if !slice.left.isEmpty { relay.rooms.noteRemovals() }
    for left in slice.left { leave(left, [name, slice.pseudonym], on: relay) }
    for blocker in slice.unblocked {
      if let user = relay.hub.user(blocker) { relay.hub.setBlocked(false, name, by: user) }
      relay.people.reloadInTime(blocker, on: relay)
    }
    for deleted in slice.deleted { show(deleted, on: relay) }
    for room in slice.anonymized {
      guard let handle = relay.hub.room(room), let position = relay.hub.position(of: handle) else { continue }
      // The frames of the newest messages have the name. Clients that join get the messages from the store.
      relay.hub.trim(handle, before: position.seq + 1)
    }
    if !slice.deleted.isEmpty { relay.worker.wake() }
  }

  /// Ends a membership in memory. The user has the pseudonym if the room was loaded after the begin.
  private func leave(_ left: ErasedSlice.Left, _ names: [UserID], on relay: isolated Relay) {
    guard let room = relay.hub.room(left.room) else { return }
    // The end of the pin unloads the room if it has no members any more.
    relay.rooms.pin(left.room)
    defer { relay.rooms.unpin(left.room, on: relay) }
    for name in names {
      guard let user = relay.hub.user(name), relay.hub.isMember(user, of: room) else { continue }
      relay.people.forgetWithdrawn(user, from: left.room)
      try? relay.hub.removeMember(user, from: room, .left)
      relay.people.evaluateWatches(of: user, on: relay)
    }
    if let owner = left.successor.flatMap(relay.hub.user) {
      relay.hub.setRole(.owner, of: owner, in: room, by: nil)
    }
  }

  private func show(_ deleted: ErasedSlice.Deleted, on relay: isolated Relay) {
    guard let handle = relay.hub.room(deleted.room) else { return }
    relay.deliveries.deleted(deleted.seq, from: deleted.edited.from, in: handle, on: relay)
    let change = ChangedMessage(
      seq: deleted.seq, change: deleted.edited.change, time: relay.hub.now, body: nil)
    relay.show(change, in: deleted.room, handle, nil, deleted.edited)
  }
}
