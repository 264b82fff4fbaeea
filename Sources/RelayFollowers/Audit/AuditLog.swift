// SPDX-License-Identifier: Apache-2.0
package import RelayHub
package import RelayIdentity
package import RelayProtocol
package import RelayRequests
package import RelayState
import RelayStore

/// Records the actions of backends in the audit log of the store.
///
/// The answer to a change waits until its entry is on disk, unless the store rejects the entry. The answers to failed
/// requests, reads, frequent changes, `stepDown` and `publishSnapshot` do not wait. The relay writes their entries
/// within ``Store/maxWait`` and the time of one commit. A crash before that loses them.
///
/// The state is private. The relay creates one object, and the methods run on the hub's thread.
package final class AuditLog: Follower {
  private var requests = AuditedRequests()
  private var refusals = AuditedRefusals()
  /// The entries that the store has rejected, with their erased users. They wait for a retry.
  private var rejected: [(entry: AuditEntry, erased: Set<UserID>)] = []
  /// The number of submitted entries that are not on disk yet, without those that an answer waits for.
  private var late = 0
  private let pause = StorePause()
  /// The counters since the start.
  package private(set) var counters = Counters()

  package struct Counters: Equatable, Sendable {
    package var stored: UInt64 = 0
    /// Failed requests above the rate, which became no entries.
    package var skipped: UInt64 = 0
    /// Entries that the relay dropped: the store rejected them for ever, or too many others waited.
    package var lost: UInt64 = 0
  }

  /// The maximum number of entries in memory that no answer waits for.
  static let maxLate = 10_000

  private let erasures: Erasures

  package init(_ erasures: Erasures) { self.erasures = erasures }

  /// Forgets the keys that are no longer in the configuration.
  package func use(_ keys: APIKeys) { refusals.keep(Set(keys.names)) }

  // MARK: Requests

  /// A request with an API key, which may become an entry.
  package struct Action: Sendable {
    fileprivate let number: Int
    fileprivate let time: Timestamp
    fileprivate let key: String
    fileprivate let operation: Operation
    fileprivate let request: Request?
    fileprivate let address: ClientAddress?
  }

  /// Begins a request. The caller must end it. Is `nil` for a caller without an API key.
  package func begin(_ operation: @autoclosure () -> Operation, _ request: Request, on core: isolated Core) -> Action? {
    guard let key = request.caller.key else { return nil }
    return Action(
      number: requests.begin(erased: erasures.usersBeingErased(in: request)), time: core.hub.now, key: key.name,
      operation: operation(), request: request, address: request.address)
  }

  /// Records a request of an operation that is not a command. Does nothing for a caller without an API key.
  /// - Returns: False if the request has no entry.
  @discardableResult
  package func record(
    _ operation: Operation, _ error: ErrorCode? = nil, by caller: Caller, from address: ClientAddress,
    on core: isolated Core
  ) async -> Bool {
    guard let key = caller.key else { return false }
    let action = Action(
      number: requests.begin(erased: []), time: core.hub.now, key: key.name, operation: operation, request: nil,
      address: address)
    return await end(action, error, on: core)
  }

  /// Ends a request. Returns when the entry is on disk, if the client must not get the answer before.
  /// - Parameters:
  ///   - error: Is `nil` if the request has succeeded.
  ///   - room: The room that the request has created or found. Is `nil` if the request names the room itself.
  /// - Returns: False if the request has no entry.
  @discardableResult
  package func end(
    _ action: Action, _ error: ErrorCode? = nil, room: RoomID? = nil, on core: isolated Core
  ) async -> Bool {
    let erased = requests.end(action.number)
    let decision = core.settings.audit.decide(action.operation, error)
    guard decision != .ignored else { return false }
    var skipped = 0
    if decision == .refused {
      guard let before = refusals.take(action.key, now: .now) else {
        counters.skipped += 1
        return false
      }
      skipped = before
    }
    let entry = action.entry(error, room: room, skipped: skipped)
    if decision == .beforeAnswer {
      let max = core.settings.audit.maxEntries
      do throws(StoreError) {
        try await core.store.write(rows: AuditWriter.rows(toAdd: entry)) {
          try $0.audit.add(entry, erased: erased, max: max)
        }
        counters.stored += 1
      } catch {
        // The change is made, so the client gets its result.
        retryLater(entry, erased, error, on: core)
      }
    } else {
      submit(entry, erased, on: core)
    }
    return true
  }

  private func submit(_ entry: AuditEntry, _ erased: Set<UserID>, on core: isolated Core) {
    guard late + rejected.count < Self.maxLate else {
      counters.lost += 1
      return
    }
    late += 1
    let max = core.settings.audit.maxEntries
    core.submit(rows: AuditWriter.rows(toAdd: entry), isUrgent: false) {
      try $0.audit.add(entry, erased: erased, max: max)
    } then: { [self] result in
      conclude(entry, erased, result, on: core)
    }
  }

  private func conclude(
    _ entry: AuditEntry, _ erased: Set<UserID>, _ result: Result<Void, StoreError>, on core: isolated Core
  ) {
    late -= 1
    switch result {
    case .success: counters.stored += 1
    case .failure(let error): retryLater(entry, erased, error, on: core)
    }
  }

  // MARK: Failures of the store

  private func retryLater(_ entry: AuditEntry, _ erased: Set<UserID>, _ error: StoreError, on core: isolated Core) {
    core.diagnostics.logFailure(of: error)
    guard case .unavailable = error, late + rejected.count < Self.maxLate else {
      counters.lost += 1
      return
    }
    rejected.append((entry, erased))
    pause.begin(on: core) { [self] in flush(on: core) }
  }

  /// Submits the rejected entries again, at the latest when the relay stops.
  package func flush(on core: isolated Core) {
    let again = rejected
    rejected = []
    for (entry, erased) in again { submit(entry, erased, on: core) }
  }

  // MARK: Erasures

  package func follow(_ change: Change, on core: isolated Core) {
    guard case .erasing(let user) = change else { return }
    // No entry of a request in progress has the name. The entry has the pseudonym while the erasure is in progress, and
    // lacks the user afterwards.
    requests.noteErasure(of: user)
    for index in rejected.indices { rejected[index].erased.insert(user) }
  }
}

extension AuditLog.Action {
  fileprivate func entry(_ error: ErrorCode?, room: RoomID?, skipped: Int) -> AuditEntry {
    var entry = AuditEntry(
      time: time, key: key, operation: operation.name, error: error, address: address.map { "\($0)" }, skipped: skipped)
    guard let request else { return entry }
    let acting: UserID? = if case .backend(let user, _) = request.caller { user } else { nil }
    let subject = AuditSubject(
      request.fields, acting: acting, arguments: operation.arguments, idempotencyKey: request.idempotencyKey)
    entry.room = room ?? subject.room
    entry.users = subject.users
    entry.target = subject.target
    entry.request = subject.request
    return entry
  }
}

/// The requests in progress. Each has its users who were being erased when it began, and the users whose erasure has
/// begun since. Pure.
struct AuditedRequests {
  private var erased: [Int: Set<UserID>] = [:]
  private var newest = 0

  var count: Int { erased.count }

  /// - Parameter users: The users of the request who are being erased already.
  mutating func begin(erased users: Set<UserID>) -> Int {
    newest += 1
    erased[newest] = users
    return newest
  }

  /// Returns the erased users. The entry must not have their names.
  mutating func end(_ number: Int) -> Set<UserID> { erased.removeValue(forKey: number) ?? [] }

  mutating func noteErasure(of user: UserID) { for number in erased.keys { erased[number]?.insert(user) } }
}

/// The rate of entries about failed requests: a backend that repeats a forbidden request forever must not replace the
/// rest of the log. Pure.
struct AuditedRefusals {
  /// The rate of each key. The first 60 refusals of a key become entries, then one each second.
  static let rate = KeyRate(perSecond: 1, burst: 60)

  private var rates = KeyRates()
  private var skipped: [String: Int] = [:]

  /// Returns the number of requests that were left out since the last entry. Is `nil` if this one must be left out.
  mutating func take(_ key: String, now: ContinuousClock.Instant) -> Int? {
    guard rates.take(key, Self.rate, now: now) == nil else {
      skipped[key, default: 0] += 1
      return nil
    }
    return skipped.removeValue(forKey: key) ?? 0
  }

  /// Forgets all other keys.
  mutating func keep(_ keys: Set<String>) {
    rates.keep(keys)
    skipped = skipped.filter { keys.contains($0.key) }
  }
}
