// SPDX-License-Identifier: Apache-2.0
package import RelayIdentity
package import RelayJSON
package import RelayProtocol
package import RelayRequests

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

  package init() {}

  /// The counters of a key of the configuration.
  package subscript(_ name: String) -> Counters { counters[name] ?? Counters() }

  /// Forgets the keys that are no longer in the configuration.
  package func use(_ keys: APIKeys) {
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
  package func check(_ room: RoomID, by caller: Caller, at pointer: String?) throws(RequestError) {
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
package struct KeyRates {
  private struct Bucket {
    var tokens: Double
    var filled: ContinuousClock.Instant
  }

  private var buckets: [String: Bucket] = [:]

  package init() {}

  /// The number of keys in memory.
  package var count: Int { buckets.count }

  /// Takes a token. Without one, returns the time until the next.
  package mutating func take(_ key: String, _ rate: KeyRate, now: ContinuousClock.Instant) -> Duration? {
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
  package mutating func keep(_ keys: Set<String>) { buckets = buckets.filter { keys.contains($0.key) } }
}
