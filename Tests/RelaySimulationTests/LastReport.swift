// SPDX-License-Identifier: Apache-2.0
import RelayProtocol

/// The last report of a device about its Focus or its filter, and whether it still counts. This second implementation
/// follows the specification.
struct LastReport<Value: Equatable & Sendable>: Sendable, Equatable {
  /// Is `nil` when nothing was reported, or when the report does not count any more.
  private(set) var value: Value?
  private(set) var at: Timestamp
  private(set) var number: Int64?
  private(set) var received: Timestamp
  /// Returns true for the values that expire early.
  private let isPassing: @Sendable (Value) -> Bool

  static func == (one: LastReport, other: LastReport) -> Bool {
    (one.value, one.at, one.number, one.received) == (other.value, other.at, other.number, other.received)
  }

  static var lifetime: Duration { .seconds(12 * 3600) }
  static var silence: Duration { .seconds(7 * 24 * 3600) }
  static var skew: Duration { .seconds(60) }

  init(
    _ value: Value?, at claimed: Timestamp?, number: Int64?, now: Timestamp,
    isPassing: @escaping @Sendable (Value) -> Bool
  ) {
    self.value = value
    at = Self.believed(claimed, now)
    self.number = number
    received = now
    self.isPassing = isPassing
    age(now)
  }

  /// Restores a stored report.
  init(
    _ value: Value?, at: Timestamp, number: Int64?, received: Timestamp, now: Timestamp,
    isPassing: @escaping @Sendable (Value) -> Bool
  ) {
    self.value = value
    self.at = at
    self.number = number
    self.received = received
    self.isPassing = isPassing
    age(now)
  }

  static func believed(_ claimed: Timestamp?, _ now: Timestamp) -> Timestamp {
    guard let claimed, claimed <= now + skew else { return now }
    return claimed
  }

  /// True if the number is a time that the device's clock, if it is right, has not reached.
  static func isAhead(_ number: Int64, _ now: Timestamp) -> Bool {
    (1_000_000_000_000..<10_000_000_000_000).contains(number) && number > (now + skew).rawValue
  }

  /// The time at which the report expires.
  var end: Timestamp {
    guard let value, isPassing(value) else { return received + Self.silence }
    return min(at + Self.lifetime, received + Self.silence)
  }

  mutating func age(_ now: Timestamp) {
    guard end <= now else { return }
    value = nil
    number = nil
  }

  /// Applies a report.
  /// - Returns: True if it is the newest report of the device.
  mutating func take(_ value: Value?, at claimed: Timestamp?, number: Int64?, now: Timestamp) -> Bool {
    age(now)
    defer { age(now) }
    received = now
    let at = Self.believed(claimed, now)
    let isNewer =
      if let number, let newest = self.number {
        number > newest || Self.isAhead(newest, now) && !Self.isAhead(number, now)
      } else {
        at >= self.at
      }
    guard isNewer else { return false }
    self = LastReport(value, at: at, number: number ?? self.number, now: now, isPassing: isPassing)
    return true
  }

  /// Called when the device registers again.
  mutating func forgetNumber() { number = nil }
}

/// The Focus of one device.
struct FocusModel: Sendable, Equatable {
  private(set) var lastReport: LastReport<Bool>
  /// The end of the settle window in which a reported false still counts as true.
  private(set) var settles: Timestamp?

  static let settleTime = Duration.seconds(3)

  init(_ isFocused: Bool?, at claimed: Timestamp?, number: Int64?, now: Timestamp) {
    lastReport = LastReport(isFocused, at: claimed, number: number, now: now) { $0 }
  }

  /// Restores a stored report.
  init(_ isFocused: Bool?, at: Timestamp, number: Int64?, received: Timestamp, settles: Timestamp?, now: Timestamp) {
    lastReport = LastReport(isFocused, at: at, number: number, received: received, now: now) { $0 }
    self.settles = settles
  }

  func state(at now: Timestamp) -> Bool? {
    if let settles, now < settles { return true }
    var lastReport = lastReport
    lastReport.age(now)
    return lastReport.value
  }

  mutating func take(_ isFocused: Bool?, at claimed: Timestamp?, number: Int64?, now: Timestamp) -> Bool {
    let (was, end) = (state(at: now), lastReport.end)
    guard lastReport.take(isFocused, at: claimed, number: number, now: now) else { return false }
    let isSettling = settles.map { now < $0 } ?? false
    if isFocused != false {
      settles = nil
    } else if was == true, !isSettling {
      settles = min(now + Self.settleTime, end)
    }
    return true
  }

  mutating func forgetNumber() { lastReport.forgetNumber() }
}

typealias FilterModel = LastReport<[String]>

/// The preferences of a user, and the reports of the user's devices.
struct PersonModel: Sendable {
  var focus: [DeviceID: FocusModel] = [:]
  /// The criteria that active filters pass.
  var filters: [DeviceID: FilterModel] = [:]
  var preferences = Preferences()
  var blocked: Set<UserID> = []

  /// True if any device reports true; otherwise false if any device reports false.
  func isFocused(at now: Timestamp) -> Bool? {
    let states = focus.values.compactMap { $0.state(at: now) }
    return states.isEmpty ? nil : states.contains(true)
  }

  func allowed(by device: DeviceID, at now: Timestamp) -> [String]? {
    guard var filter = filters[device] else { return nil }
    filter.age(now)
    return filter.value
  }

  /// The times at which a state changes without a report.
  var changes: [Timestamp] {
    focus.values.flatMap { [$0.settles, $0.lastReport.end].compactMap { $0 } } + filters.values.map(\.end)
  }

  mutating func forget(_ device: DeviceID) {
    focus[device] = nil
    filters[device] = nil
  }

  /// Takes over the newest reports of the other accounts of a phone, unless the own ones are as new.
  mutating func inherit(_ focus: [FocusModel], _ filters: [FilterModel], as device: DeviceID) {
    func newest<Report>(_ own: Report?, _ others: [Report], _ at: (Report) -> Timestamp) -> Report? {
      guard let other = others.max(by: { at($0) < at($1) }) else { return nil }
      return own.map { at($0) < at(other) } ?? true ? other : nil
    }
    if var report = newest(self.focus[device], focus, { $0.lastReport.at }) {
      report.forgetNumber()
      self.focus[device] = report
    }
    if var report = newest(self.filters[device], filters, \.at) {
      report.forgetNumber()
      self.filters[device] = report
    }
  }

  mutating func register(_ device: DeviceID) {
    focus[device]?.forgetNumber()
    filters[device]?.forgetNumber()
  }

  mutating func prefer(_ preference: Preference, now: Timestamp) {
    switch preference {
    case .onFocus(let mode): preferences.onFocus = mode
    case .level(let room, let level, let lasts):
      preferences[room].level = level
      preferences[room].until = lasts.map { now + $0 }
    case .label(let room, let label): preferences[room].criteria = label
    case .quietHours(let options): preferences.quietHours = options?.hours(at: now)
    case .shareFocus(let audience): preferences.shareFocus = audience
    case .shareOnline(let audience): preferences.shareOnline = audience
    }
  }

  func isMuted(_ room: RoomID, isMentioned: Bool, at now: Timestamp) -> Bool {
    let options = preferences[room]
    if let until = options.until, until <= now { return false }
    return options.level == .none || options.level == .mentions && !isMentioned
  }

  func areHoursQuiet(at now: Timestamp) -> Bool { preferences.quietHours?.areOn(at: now) ?? false }
}

extension QuietHours {
  /// Returns true if the hours are on, by counting minutes. Only for zones without changes of the clock.
  func areOn(at now: Timestamp) -> Bool {
    guard let zone = timeZone.flatMap(World.Zone.init(rawValue:)) else { return false }
    let minute = now.rawValue / 60_000 + zone.offset
    let length = to > from ? to.minutes - from.minutes : to.minutes - from.minutes + 1440
    return (0...1).contains { daysAgo in
      let day = minute / 1440 - Int64(daysAgo)
      let begin = day * 1440 + Int64(from.minutes)
      // Day 0 was a Thursday.
      return days.contains(Int((day + 3) % 7) + 1) && begin <= minute && minute < begin + Int64(length)
    }
  }
}

extension QuietHoursOptions {
  func hours(at now: Timestamp) -> QuietHours {
    let first = now.rawValue / 60_000 + zone.offset + Int64(start)
    let day = first / 1440
    func time(_ minute: Int64) -> TimeOfDay {
      guard let time = TimeOfDay(minutes: Int(minute % 1440)) else { preconditionFailure("it is below 1440") }
      return time
    }
    return QuietHours(
      from: time(first), to: time(first + Int64(minutes)), days: Set(days.map { Int((day + Int64($0) + 3) % 7) + 1 }),
      timeZone: zone.rawValue, mode: mode)
  }
}
