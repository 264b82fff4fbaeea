// SPDX-License-Identifier: Apache-2.0
package import RelayIdentity
package import RelayJSON
package import RelayProtocol

/// The API keys in use: their scopes, their rates, and the counters of their requests.
///
/// The state is private. The relay creates one object, and the methods run on the hub's thread.
package final class Backends {
  private var rates = KeyRates()
  private var counters: [String: Counters] = [:]

  /// The counters of a key since the start.
  package struct Counters: Equatable, Sendable {
    /// All requests, including those that the relay refused.
    package var requests: UInt64 = 0
    /// Requests outside of the scope.
    package var outside: UInt64 = 0
    /// Requests above the rate.
    package var limited: UInt64 = 0
  }

  init() {}

  /// The counters of a key of the configuration.
  package subscript(_ name: String) -> Counters { counters[name] ?? Counters() }

  /// Forgets the keys that are no longer in the configuration.
  func use(_ keys: APIKeys) {
    let names = Set(keys.names)
    counters = counters.filter { names.contains($0.key) }
    rates.keep(names)
  }

  /// Counts a request against the rate of its key. Throws `rate_limited`.
  package func admit(_ key: BackendKey, now: ContinuousClock.Instant = .now) throws(RequestError) {
    counters[key.name, default: Counters()].requests += 1
    guard let rate = key.scope?.rate, let delay = rates.take(key.name, rate, now: now) else { return }
    counters[key.name, default: Counters()].limited += 1
    throw RequestError(.rateLimited, "too many requests of the API key \(key.name)", retryAfter: delay)
  }

  /// Throws `forbidden` if the operation, or a room or a user that the request names, is outside of the scope of the
  /// caller's key.
  package func check(_ operation: Operation, _ fields: Fields, by caller: Caller) throws(RequestError) {
    guard case .backend(let acting, let key?) = caller else { return }
    try count(key) { () throws(RequestError) in try key.check(operation, fields, acting: acting) }
  }

  /// Throws `forbidden` if a room that the relay has found for a request is outside of the scope of the caller's key. A
  /// notification without a room belongs to its user alone, so the rooms of a scope do not limit it.
  func check(_ room: RoomID, by caller: Caller, at pointer: String?) throws(RequestError) {
    guard let key = caller.key, !room.isNotifications else { return }
    try count(key) { () throws(RequestError) in try key.check(room: room.rawValue, at: pointer) }
  }

  /// Throws `forbidden` if a user that the relay has found for a request is outside of the scope of the caller's key.
  package func check(_ user: UserID, by caller: Caller, at pointer: String?) throws(RequestError) {
    guard let key = caller.key else { return }
    try count(key) { () throws(RequestError) in try key.check(user: user.rawValue, at: pointer) }
  }

  /// Limits a stream of presence to the users in the scope of a key. Throws `forbidden` if the filter names another
  /// user.
  package func limit(_ filter: PresenceFilter, to key: BackendKey?) throws(RequestError) -> PresenceFilter {
    guard let key else { return filter }
    var limited = filter
    try count(key) { () throws(RequestError) in limited = try filter.limited(to: key) }
    return limited
  }

  private func count(_ key: BackendKey, _ check: () throws(RequestError) -> Void) throws(RequestError) {
    do throws(RequestError) {
      try check()
    } catch {
      counters[key.name, default: Counters()].outside += 1
      throw error
    }
  }
}

/// The rate limits of API keys: a token bucket for each key. Pure.
struct KeyRates {
  private struct Bucket {
    var tokens: Double
    var filled: ContinuousClock.Instant
  }

  private var buckets: [String: Bucket] = [:]

  /// The number of keys in memory.
  var count: Int { buckets.count }

  /// Takes a token. Without one, returns the time until the next.
  mutating func take(_ key: String, _ rate: KeyRate, now: ContinuousClock.Instant) -> Duration? {
    let burst = Double(rate.burst)
    var bucket = buckets[key] ?? Bucket(tokens: burst, filled: now)
    let elapsed = max(0, (now - bucket.filled) / .seconds(1))
    // A reload may have lowered the burst.
    bucket.tokens = min(burst, bucket.tokens + elapsed * rate.perSecond)
    bucket.filled = now
    defer { buckets[key] = bucket }
    guard bucket.tokens < 1 else {
      bucket.tokens -= 1
      return nil
    }
    return .seconds((1 - bucket.tokens) / rate.perSecond)
  }

  /// Forgets all other keys.
  mutating func keep(_ keys: Set<String>) { buckets = buckets.filter { keys.contains($0.key) } }
}

/// The members of requests that name rooms and users. Pure.
///
/// The names have the same meaning in all commands. Mentions are not among them: they are a part of the message, and
/// only notify members of its room.
enum NamedMembers {
  static let rooms = ["room"]
  /// The members of these objects have the names of rooms.
  static let roomObjects = ["rooms"]
  static let users = ["user", "from", "owner", "other", "users", "members"]
  /// The members with users that a request may change. `users` is not among them: `presence`, `watch` and
  /// `notifyAnyway` only select users, and the store refuses to `block` a user who is being erased.
  static let changedUsers = users.filter { $0 != "users" }

  /// The items of a list, or the value of another member.
  static func values(of key: String, in fields: Fields) -> [JSON] {
    switch fields.members[key] {
    case .array(let items): items
    case .some(let value): [value]
    case nil: []
    }
  }
}

extension BackendKey {
  func check(room: String, at pointer: String?) throws(RequestError) {
    guard scope?.rights.include(room: room) == false else { return }
    throw outside("the room", at: pointer)
  }

  func check(user: String, at pointer: String?) throws(RequestError) {
    guard scope?.rights.include(user: user) == false else { return }
    throw outside("the user", at: pointer)
  }

  /// Throws `forbidden` if the operation, or a room or a user that the request names, is outside of the scope.
  ///
  /// The log may contain the message of the error. It therefore names no user: the pointer has the position.
  package func check(_ operation: Operation, _ fields: Fields, acting: UserID?) throws(RequestError) {
    guard let rights = scope?.rights else { return }
    guard rights.include(operation: operation.name) else {
      throw outside("the operation \(operation.name)", at: nil)
    }
    var (namesRoom, namesUser) = (false, false)
    for key in NamedMembers.rooms {
      guard case .string(let room)? = fields.members[key] else { continue }
      namesRoom = namesRoom || operation.arguments.contains(key)
      try check(room: room, at: fields.pointer(to: key))
    }
    for key in NamedMembers.roomObjects {
      guard case .object(let rooms)? = fields.members[key] else { continue }
      for room in rooms.keys.sorted() { try check(room: room, at: "\(fields.pointer(to: key))/\(room)") }
    }
    if let acting { try check(user: acting.rawValue, at: "/headers/x-stillwire-user") }
    for key in NamedMembers.users {
      switch fields.members[key] {
      case .string(let user):
        namesUser = namesUser || operation.arguments.contains(key)
        try check(user: user, at: fields.pointer(to: key))
      case .array(let users):
        for (index, user) in users.enumerated() {
          guard case .string(let user) = user else { continue }
          try check(user: user, at: fields.pointer(to: "\(key)/\(index)"))
        }
      default: break
      }
    }
    if operation.reach.contains(.rooms), !namesRoom, !rights.hasAllRooms {
      throw outside("the operation \(operation.name) without a room, which concerns all rooms,", at: nil)
    }
    if operation.reach.contains(.users), !namesUser, !rights.hasAllUsers {
      throw outside("the operation \(operation.name) without a user, which concerns all users,", at: nil)
    }
  }

  private func outside(_ what: String, at pointer: String?) -> RequestError {
    RequestError(
      .forbidden, "\(what) is outside of the scope \(scope?.name ?? "") of the API key \(name)", at: pointer)
  }
}

extension Caller {
  /// The API key of a backend. Is `nil` for other callers, and in open mode.
  package var key: BackendKey? { if case .backend(_, let key) = self { key } else { nil } }
}
