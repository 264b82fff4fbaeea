// SPDX-License-Identifier: Apache-2.0

/// Counts events of keys within a day, to the hour, for limits that count in memory. Pure.
///
/// Events of the same hour share a counter, which ends a day after its last event. So a limit may hold for up to an hour
/// longer than a day, but never for less.
package struct DailyCounts<Key: Hashable & Sendable>: Sendable {
  package typealias Instant = ContinuousClock.Instant

  private struct Hour {
    let begin: Instant
    var last: Instant
    var count: Int
  }

  private var hours: [Key: [Hour]] = [:]
  /// The earliest time of the next search for keys to forget.
  private var nextSearch: Instant?

  package static var window: Duration { .seconds(86_400) }
  private static var hour: Duration { .seconds(3_600) }
  /// The maximum number of keys. Beyond it, any other key is forgotten for a new one.
  package static var maxKeys: Int { 65_536 }

  package init() {}

  /// The number of keys in memory.
  package var keys: Int { hours.count }

  /// The number of events of a key within the window.
  package func count(of key: Key, at now: Instant) -> Int {
    (hours[key] ?? []).reduce(0) { now - $1.last < Self.window ? $0 + $1.count : $0 }
  }

  /// Counts events, unless the key would exceed the limit.
  /// - Parameter limit: At least `count`.
  /// - Returns: The time until the events are within the limit. Is `nil` if they were counted.
  package mutating func take(_ count: Int, of key: Key, limit: Int, at now: Instant) -> Duration? {
    let recent = (hours[key] ?? []).filter { now - $0.last < Self.window }
    var excess = recent.reduce(count - limit) { $0 + $1.count }
    guard excess > 0 else {
      add(count, to: key, recent, at: now)
      return nil
    }
    for hour in recent {
      excess -= hour.count
      if excess <= 0 { return hour.last + Self.window - now }
    }
    return Self.window
  }

  private mutating func add(_ count: Int, to key: Key, _ recent: [Hour], at now: Instant) {
    if hours[key] == nil { makeSpace(at: now) }
    var recent = recent
    if let last = recent.last, now - last.begin < Self.hour {
      recent[recent.count - 1].last = now
      recent[recent.count - 1].count += count
    } else {
      recent.append(Hour(begin: now, last: now, count: count))
    }
    hours[key] = recent
  }

  /// Takes back the newest events, because they did not happen.
  package mutating func giveBack(_ count: Int, of key: Key) {
    guard var known = hours[key] else { return }
    var left = count
    while left > 0, var hour = known.popLast() {
      let taken = min(left, hour.count)
      left -= taken
      hour.count -= taken
      if hour.count > 0 { known.append(hour) }
    }
    hours[key] = known.isEmpty ? nil : known
  }

  /// Forgets the keys without an event within the window, at most once a minute, or else any key.
  private mutating func makeSpace(at now: Instant) {
    guard hours.count >= Self.maxKeys else { return }
    if nextSearch.map({ now >= $0 }) ?? true {
      nextSearch = now + .seconds(60)
      hours = hours.filter { $0.value.contains { now - $0.last < Self.window } }
    }
    if hours.count >= Self.maxKeys, let any = hours.keys.first { hours[any] = nil }
  }
}
