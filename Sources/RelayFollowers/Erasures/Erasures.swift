// SPDX-License-Identifier: Apache-2.0
import Logging
import RelayHub
import RelayJSON
package import RelayProtocol
import RelayPush
package import RelayRequests
package import RelayState
package import RelayStore

/// The erasures of users: their begin, and their slices in the background.
///
/// The store performs the work, and continues it after a restart. This object ends the sessions of the user, keeps the
/// name unused until the rows are erased, and applies each slice to the rooms and users in memory. The state is
/// private. The relay creates one object, and the methods run on the hub's thread.
package final class Erasures {
  /// The users whose erasure the store has not begun yet, with the number of requests.
  private var beginning: [UserID: Int] = [:]
  /// The users whose rows are not erased yet. The rooms in memory still have them as members.
  private var open: Set<UserID> = []
  /// The relay does not store that these users went offline: they are in memory, their erasure has been requested, and
  /// they have not returned since.
  private var unsaved: Set<UserID> = []
  private var isRunning = false
  /// True if an erasure has begun after the loop looked for one.
  private var hasMore = false
  /// The erasures whose last attempt has failed. They delay no other erasure.
  package private(set) var failures = ErasureFailures()
  /// The minimum time between lines about erasures that fail.
  private var logPause = LogPause()
  private var rewrite = Rewrite()

  private let memory: RoomMemory
  private let rooms: Rooms
  private let people: People
  private let inbox: Inbox

  package init(_ rooms: Rooms, _ inbox: Inbox) {
    (self.rooms, self.inbox) = (rooms, inbox)
    (memory, people) = (rooms.memory, rooms.people)
  }

  /// True if the store must not get the presence of a user.
  package func discardsPresence(of user: UserID) -> Bool { unsaved.contains(user) }

  /// Reads the erasures in progress, at the start.
  package func load(on core: isolated Core) async throws {
    open = Set(try await core.store.read { try $0.erasures.names() })
  }

  /// True from the request of an erasure until no row has the name.
  package func isOpen(_ user: UserID) -> Bool { beginning[user] != nil || open.contains(user) }

  /// The users in a request, in its members or in its header, whose erasure is in progress.
  func usersBeingErased(in request: Request) -> Set<UserID> {
    guard !open.isEmpty || !beginning.isEmpty else { return [] }
    var found = usersBeingErased(in: request, NamedMembers.users)
    if let user = request.caller.actsFor, isOpen(user) { found.insert(user) }
    return found
  }

  private func usersBeingErased(in request: Request, _ keys: [String]) -> Set<UserID> {
    var found: Set<UserID> = []
    for key in keys {
      for case .string(let name) in NamedMembers.values(of: key, in: request.fields) {
        if isOpen(UserID(unchecked: name)) { found.insert(UserID(unchecked: name)) }
      }
    }
    return found
  }

  /// Called before a session of a user opens. Throws `unavailable` while the user is being erased. After an erasure,
  /// the session creates a new user, and the relay stores the presence of this user.
  package func admit(_ user: UserID) throws(RequestError) {
    guard !isOpen(user) else { throw .beingErased }
    unsaved.remove(user)
  }

  /// Throws `unavailable` if the caller acts for a user who is being erased, or changes something of such a user.
  package func check(_ request: Request, _ declaration: Declaration) throws(RequestError) {
    guard !open.isEmpty || !beginning.isEmpty else { return }
    if let user = request.caller.actsFor, isOpen(user) { throw .beingErased }
    guard declaration.isRead || usersBeingErased(in: request, NamedMembers.changedUsers).isEmpty else {
      throw .beingErased
    }
  }

  /// Closes the sessions of a user, and begins the erasure.
  /// - Returns: The erasure, and the number of closed sessions. It is an earlier one if that is still in progress.
  package func begin(
    of user: UserID, _ messages: MessageErasure, on core: isolated Core
  ) async throws -> (erasure: ErasureRecord, closed: Int) {
    let id = Self.newName("erasure-")
    let pseudonym = UserID(unchecked: Self.newName("erased-"))
    // No presence of a user who has left memory follows.
    unsaved = unsaved.filter { core.hub.user($0) != nil }
    beginning[user, default: 0] += 1
    unsaved.insert(user)
    let closed = core.hub.user(user).map { core.hub.closeSessions(of: $0, .byOperator, Self.reason) } ?? 0
    people.noteChange(of: user)
    let erasure = try await core.commit(rows: ErasureWriter.maxRows) {
      try $0.erasures.begin(id, of: user, as: pseudonym, messages)
    } then: { [self] result in
      begun(user, hasFailed: (try? result.get()) == nil, on: core)
      return []
    }
    return (erasure, closed)
  }

  private static let reason = "the user was erased"

  private static func newName(_ prefix: String) -> String {
    prefix + String(UInt64.random(in: 1...UInt64.max), radix: 36) + String(UInt64.random(in: 1...UInt64.max), radix: 36)
  }

  private func begun(_ user: UserID, hasFailed: Bool, on core: isolated Core) {
    if let count = beginning[user] { beginning[user] = count == 1 ? nil : count - 1 }
    guard !hasFailed else {
      if !isOpen(user) { unsaved.remove(user) }
      return
    }
    open.insert(user)
    core.publish([.erasing(user)] + (core.hub.user(user) == nil ? [] : [.person(user)]))
    resume(on: core)
  }

  // MARK: Work in the background

  /// Continues the erasures in progress, in slices. Messages are stored in between.
  package func resume(on core: isolated Core) {
    hasMore = true
    guard !isRunning else { return }
    isRunning = true
    Task {
      defer { isRunning = false }
      await core.retrySlices {
        hasMore = false
        return try await performNext(on: core) || hasMore
      }
    }
  }

  /// Erases some rows. When no erasure has rows to erase now, one rewrite of the database serves all that are erased.
  /// - Returns: False if nothing is left to do.
  private func performNext(on core: isolated Core) async throws -> Bool {
    let waiting = failures.waiting(now: .now)
    if let id = try await core.store.read({ try $0.erasures.next(except: waiting) }) {
      do throws(StoreError) {
        let slice = try await core.commit(rows: ErasureWriter.maxRows) {
          try $0.erasures.perform(id)
        } then: { [self] result in
          if let slice = try? result.get() { apply(slice, on: core) }
          return []
        }
        failures.remove(id)
        await showInLists(slice, on: core)
      } catch {
        let cause = ErasureFailures.Cause(error)
        failures.add(id, cause, at: core.hub.now, now: .now)
        logFailure(of: id, error, cause, on: core)
        // The other erasures would fail as well.
        if cause == .unavailable { try await Task.sleep(for: Core.storePause) }
      }
      return true
    }
    let erased = try await core.store.read { try $0.erasures.erased(limit: Self.maxRewritten) }
    guard !erased.isEmpty else {
      guard failures.count > 0 else { return false }
      // Another erasure may begin before the next attempt.
      try await Task.sleep(for: Core.storePause)
      return true
    }
    guard rewrite.pause <= .zero else {
      // Another erasure may begin meanwhile.
      try await Task.sleep(for: min(rewrite.pause, Core.storePause))
      return true
    }
    do throws(StoreError) {
      try await removeRemains(of: erased, on: core)
    } catch {
      rewrite.failed()
      // After a rewrite, the rest concerns only the erasures that it has served.
      let concerned = rewrite.erasures.isEmpty ? erased : rewrite.erasures
      let cause = ErasureFailures.Cause(error)
      for id in concerned { failures.add(id, cause, at: core.hub.now, retryAfter: rewrite.pause, now: .now) }
      logFailure(of: concerned[0], error, cause, on: core)
    }
    return true
  }

  private func logFailure(
    of id: String, _ error: StoreError, _ cause: ErasureFailures.Cause, on core: isolated Core
  ) {
    // `unavailable` is a failure of the store. Other causes concern one erasure.
    guard cause != .unavailable else { return core.diagnostics.logFailure(of: error) }
    guard !error.isDamage, logPause.isOver() else { return }
    core.diagnostics.log.error(
      "an erasure has failed, and the relay will try it again: \(error)",
      metadata: [
        "erasure": "\(id)", "failing": "\(failures.count)", "attempts": "\(failures[id]?.count ?? 1)",
      ])
  }

  /// Rewrites the database for these erasures, empties its write-ahead log, and ends the erasures. After a failure, the
  /// next call continues.
  private func removeRemains(of erased: [String], on core: isolated Core) async throws(StoreError) {
    if rewrite.erasures.isEmpty {
      let start = ContinuousClock.now
      try await core.store.rewrite()
      rewrite.ended(erased, since: start)
    }
    try await core.store.emptyLog()
    let finished = rewrite.erasures
    try await core.store.write { try $0.erasures.finish(finished) }
    rewrite.erasures = []
    for id in finished { failures.remove(id) }
  }

  /// The maximum number of erasures that one rewrite serves.
  private static let maxRewritten = 1_000

  /// The last rewrite of the database.
  private struct Rewrite {
    /// The erasures that it serves and that are not finished.
    var erasures: [String] = []
    private var retry = ContinuousClock.now
    /// The time at which another rewrite may begin.
    private var rest = ContinuousClock.now
    private var failures = 0

    /// The time until the next step may begin: a rewrite, or what follows one.
    var pause: Duration { (erasures.isEmpty ? max(retry, rest) : retry) - ContinuousClock.now }

    /// Messages wait for rewrites during at most a tenth of the time.
    mutating func ended(_ erasures: [String], since start: ContinuousClock.Instant) {
      self.erasures = erasures
      failures = 0
      let now = ContinuousClock.now
      rest = now + (now - start) * 9
    }

    mutating func failed() {
      failures += 1
      retry = ContinuousClock.now + ErasureFailures.pause(after: failures)
    }
  }

  // MARK: Rooms and users in memory

  private func apply(_ slice: ErasedSlice, on core: isolated Core) {
    guard let name = slice.name else { return }
    if !slice.left.isEmpty { memory.noteRemovals() }
    for left in slice.left {
      core.publish(.exclusions(of: slice.pseudonym, known: name, from: left.calls))
      leave(left, [name, slice.pseudonym], on: core)
    }
    core.publish(.effects(of: slice.invitations))
    for blocker in slice.unblocked {
      if let user = core.hub.user(blocker) { core.hub.setBlocked(false, name, by: user) }
      people.reloadInTime(blocker, on: core)
    }
    let now = core.hub.now
    for deleted in slice.deleted {
      let handle = core.hub.room(deleted.room)
      core.publish(
        .deletion(of: deleted.seq, deleted.edited, by: nil, in: deleted.room, handle, requester: nil, at: now))
    }
    for unreacted in slice.unreacted {
      let message = unreacted.message
      guard let handle = core.hub.room(message.room) else { continue }
      core.publish(
        .annotation(unreacted.reactions, .reactions, of: message.seq, in: message.room, handle, requester: nil, at: now)
      )
    }
    for room in slice.anonymized {
      guard let handle = core.hub.room(room), let position = core.hub.position(of: handle) else { continue }
      // The frames of the newest messages have the name. Clients that join get the messages from the store.
      core.hub.trim(handle, before: position.seq + 1)
    }
    if slice.isLast { open.remove(name) }
  }

  /// Shows the changed messages in the lists of rooms. Rooms that no session has joined are often not in memory.
  private func showInLists(_ slice: ErasedSlice, on core: isolated Core) async {
    for room in slice.listed where inbox.hasSubscribers {
      memory.retain(room)
      defer { memory.release(room, on: core) }
      guard let loaded = try? await rooms.load(room, on: core) else { continue }
      inbox.roomChanged(loaded, on: core)
    }
  }

  /// Ends a membership in memory. The user has the pseudonym if the room was loaded after the begin.
  private func leave(_ left: ErasedSlice.Left, _ names: [UserID], on core: isolated Core) {
    guard let room = core.hub.room(left.room) else { return }
    // The release unloads the room if it has no members any more.
    memory.retain(left.room)
    defer { memory.release(left.room, on: core) }
    for name in names {
      guard let user = core.hub.user(name), core.hub.isMember(user, of: room) else { continue }
      core.publish(.left(FormerMember(user: user, name: name, room: left.room, handle: room, cause: .left)))
    }
    if let owner = left.successor { core.publish(.role(.owner, of: owner, in: room, by: nil)) }
  }
}

extension Caller {
  /// The user that the caller acts for. Is `nil` for a backend that names no user in the header.
  fileprivate var actsFor: UserID? { if case .backend(let acting, _) = self { acting } else { owner } }
}
