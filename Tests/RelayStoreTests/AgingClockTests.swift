// SPDX-License-Identifier: Apache-2.0
import Foundation
import GRDB
import RelayDelivery
import RelayProtocol
import Testing

@testable import RelayStore

/// The clock for ages: a table of what happens to the wall clock, and the effect on keys and on deletion by age.
@Suite struct AgingClockTests {
  /// Something that happens to a relay and its clocks. Durations in hours.
  enum Happening {
    case passes(Double), set(by: Double), restarts(after: Double), confirms
  }

  struct Row: CustomTestStringConvertible {
    let happenings: [Happening]
    let cause: AgingClock.Cause?
    /// The remaining time of the wait, in hours.
    var remaining: Double = 0
    var keyOffset: Double = 0
    var testDescription: String { "\(happenings)" }
  }

  private static let day = 24.0

  static let rows: [Row] = [
    Row(happenings: [], cause: nil),
    Row(happenings: [.passes(1_000)], cause: nil),
    // Small steps count, and nothing waits.
    Row(happenings: [.set(by: 1)], cause: nil, keyOffset: 1),
    Row(happenings: [.set(by: -1)], cause: nil, keyOffset: -1),
    Row(happenings: [.set(by: 1), .set(by: 1), .set(by: -0.5)], cause: nil, keyOffset: 1.5),
    // A step of more than an hour, in both directions.
    Row(happenings: [.set(by: 1.001)], cause: .step, remaining: day, keyOffset: 1.001),
    Row(happenings: [.set(by: -1.001)], cause: .step, remaining: day, keyOffset: -1.001),
    Row(happenings: [.set(by: 960), .passes(23.9)], cause: .step, remaining: 0.1, keyOffset: 960),
    Row(happenings: [.set(by: 960), .passes(24)], cause: nil, keyOffset: 960),
    Row(happenings: [.set(by: 960), .confirms], cause: nil, keyOffset: 960),
    // A correction begins the wait again, however small it is.
    Row(happenings: [.set(by: 960), .passes(23), .set(by: -960)], cause: .step, remaining: day),
    Row(happenings: [.set(by: 960), .passes(23), .set(by: 0.1)], cause: .step, remaining: day, keyOffset: 960.1),
    // The wait takes seven days in all.
    Row(
      happenings: (0..<7).flatMap { _ in [Happening.set(by: 2), .passes(23.9)] }, cause: .step, remaining: 0.1,
      keyOffset: 14),
    Row(
      happenings: (0..<7).flatMap { _ in [Happening.set(by: 2), .passes(23.9)] } + [.set(by: 2), .passes(0.7)],
      cause: nil, keyOffset: 16),
    // Restarts.
    Row(happenings: [.restarts(after: 24)], cause: nil),
    Row(happenings: [.restarts(after: 24.1)], cause: .stop, remaining: day),
    Row(happenings: [.restarts(after: -24.1)], cause: .stop, remaining: day),
    Row(happenings: [.restarts(after: 960), .passes(24)], cause: nil),
    Row(happenings: [.restarts(after: 960), .confirms], cause: nil),
    Row(
      happenings: [.restarts(after: 960), .passes(1), .set(by: -960)], cause: .step, remaining: day, keyOffset: -960),
    Row(happenings: [.set(by: 960), .restarts(after: 1)], cause: .step, remaining: day),
    Row(happenings: [.restarts(after: 960), .passes(12), .restarts(after: 0)], cause: .stop, remaining: day),
    Row(
      happenings: (0..<7).flatMap { _ in [Happening.restarts(after: 48), .passes(23.5)] }, cause: .stop, remaining: 0.5),
    Row(
      happenings: (0..<7).flatMap { _ in [Happening.restarts(after: 48), .passes(23.5)] }
        + [.restarts(after: 0), .passes(3.5)], cause: nil),
  ]

  @Test(arguments: rows) func `the wait follows from what happens to the clocks`(row: Row) {
    var now = Timestamp(rawValue: 1_700_000_000_000)
    var elapsed = Duration.seconds(5)
    var clock = AgingClock(nil, now: now, elapsed: elapsed)
    for happening in row.happenings {
      switch happening {
      case .passes(let hours):
        now = now + .seconds(3600 * hours)
        elapsed += .seconds(3600 * hours)
      case .set(let hours): now = now + .seconds(3600 * hours)
      case .restarts(let hours):
        let record = clock.record(now: now, elapsed: elapsed)
        now = now + .seconds(3600 * hours)
        elapsed = .seconds(5)
        clock = AgingClock(record, now: now, elapsed: elapsed)
      case .confirms:
        let hasEnded = clock.confirm(clock.wait!)
        #expect(hasEnded)
      }
      clock.read(now: now, elapsed: elapsed)
    }
    #expect(clock.wait?.cause == row.cause)
    let remaining = (clock.remaining(at: elapsed) ?? .zero).seconds / 3600
    #expect(abs(remaining - row.remaining) < 0.001, "\(remaining)")
    #expect(abs(clock.keyOffset.seconds / 3600 - row.keyOffset) < 0.001)
  }

  @Test func `many small differences add up to a step, and inaccuracy is none`() {
    var clock = AgingClock(nil, now: .at(0), elapsed: .zero)
    clock.read(now: .at(1_999), elapsed: .milliseconds(1_000))
    #expect(clock.keyOffset == .zero)
    clock.read(now: .at(2_000), elapsed: .milliseconds(1_000))
    #expect(clock.keyOffset == .seconds(1))
    clock.read(now: .at(3_500), elapsed: .milliseconds(2_000))
    #expect(clock.keyOffset == .seconds(1))
  }

  @Test func `a large step forward moves the end of what began before it, until the clock is trusted`() {
    let (hour, month) = (Duration.seconds(3600), Duration.seconds(30 * 86_400))
    var clock = AgingClock(nil, now: .at(0), elapsed: .zero)
    clock.read(now: .at(0) + month, elapsed: .zero)
    #expect(clock.shift(since: .at(0)) == month)
    #expect(clock.shift(since: .at(0) + month) == .zero)
    clock.read(now: .at(0) + month + hour + hour, elapsed: hour)
    #expect(clock.shift(since: .at(0)) == month + hour)
    clock.read(now: .at(0) + hour, elapsed: hour)
    #expect(clock.shift(since: .at(0)) == .zero)
    clock.read(now: .at(0) + month, elapsed: hour)
    _ = clock.confirm(clock.wait!)
    #expect(clock.shift(since: .at(0)) == .zero)
  }

  /// The steps of the wall clock in seconds and the seconds after each, a time in seconds after the first reading, and
  /// its age in seconds at the end. The age is `nil` if the wall clock has not shown the time.
  static let ages: [(steps: [(by: Int64, then: Int64)], time: Int64, age: Int64?)] = [
    ([], 0, 100), ([], 99, 1), ([], 100, 0), ([], 101, nil),
    ([(3_600, 10)], 0, 110), ([(3_600, 10)], 100, 10), ([(3_600, 10)], 101, nil), ([(3_600, 10)], 3_700, 10),
    ([(3_600, 10)], 3_710, 0), ([(-3_600, 10)], 0, 110), ([(-3_600, 10)], -3_500, 10), ([(-3_600, 10)], -3_490, 0),
    // The wall clock shows a time twice: the last one counts.
    ([(-50, 10)], 40, 70), ([(-50, 10)], 55, 5),
    // Two steps.
    ([(3_600, 10), (-3_600, 20)], 0, 130), ([(3_600, 10), (-3_600, 20)], 3_705, 25),
    ([(3_600, 10), (-3_600, 20)], 115, 15),
  ]

  @Test(arguments: ages.indices) func `a time of the wall clock has an age, whatever the steps are`(_ index: Int) {
    let row = Self.ages[index]
    var clock = AgingClock(nil, now: .at(0), elapsed: .seconds(5))
    var (now, elapsed) = (Timestamp.at(100_000), Duration.seconds(105))
    clock.read(now: now, elapsed: elapsed)
    for step in row.steps {
      now = now + .seconds(step.by)
      clock.read(now: now, elapsed: elapsed)
      (now, elapsed) = (now + .seconds(step.then), elapsed + .seconds(step.then))
      clock.read(now: now, elapsed: elapsed)
    }
    func hasShown(within age: Duration) -> Bool {
      clock.hasShown(.at(1_000 * row.time), within: age, now: now, elapsed: elapsed)
    }
    let age = row.age.map { Duration.seconds($0) }
    #expect(hasShown(within: (age ?? .seconds(1_000)) + .milliseconds(1)) == (age != nil))
    if let age { #expect(!hasShown(within: age)) }
  }

  @Test func `the clock remembers a limited number of steps`() {
    var clock = AgingClock(nil, now: .at(0), elapsed: .zero)
    // The wall clock is set ahead by two seconds each second.
    for second in 1...1_000 as ClosedRange<Int64> {
      clock.read(now: .at(3_000 * second), elapsed: .seconds(second))
    }
    #expect(clock.newestSteps.count == AgingClock.maxSteps)
    func hasShown(_ second: Int64, within age: Duration) -> Bool {
      clock.hasShown(.at(3_000 * second), within: age, now: .at(3_000_000), elapsed: .seconds(1_000))
    }
    #expect(hasShown(990, within: .seconds(11)))
    #expect(!hasShown(900, within: .seconds(11)))
  }

  @Test func `a start continues the wait and its steps`() {
    var clock = AgingClock(nil, now: .at(0), elapsed: .zero)
    clock.read(now: .at(0) + .seconds(90_000), elapsed: .zero)
    let record = clock.record(now: .at(0) + .seconds(90_000), elapsed: .zero)
    clock = AgingClock(record, now: .at(0) + .seconds(90_100), elapsed: .seconds(7))
    #expect(clock.shift(since: .at(0)) == .seconds(90_000))
    #expect(clock.shift(since: .at(0) + .seconds(90_000)) == .zero)
  }

  @Test func `the sum of the steps continues after a start, whatever the newest key is`() {
    var clock = AgingClock(nil, now: .at(0), elapsed: .zero)
    #expect(clock.totalSteps == .zero)
    clock.read(now: .at(600_000), elapsed: .zero)
    clock.read(now: .at(600_000) - .seconds(90_000), elapsed: .zero)
    #expect(clock.totalSteps == .seconds(-89_400))
    let record = clock.record(now: .at(0), elapsed: .zero)
    clock = AgingClock(record, keyOffset: .seconds(7), newest: .at(0), now: .at(1_000_000), elapsed: .seconds(9))
    #expect(clock.totalSteps == .seconds(-89_400))
    clock.read(now: .at(1_600_000), elapsed: .seconds(9))
    #expect(clock.totalSteps == .seconds(-88_800))
    _ = clock.confirm(clock.wait!)
    #expect(clock.record(now: .at(1_600_000), elapsed: .seconds(9)).totalSteps == .seconds(-88_800))
  }

  @Test func `a confirmation does not end a wait that a later step has begun again`() throws {
    var clock = AgingClock(nil, now: .at(0), elapsed: .zero)
    clock.read(now: .at(0) + .seconds(90_000), elapsed: .zero)
    let wait = try #require(clock.wait)
    clock.read(now: .at(0), elapsed: .zero)
    let hasEnded = clock.confirm(wait)
    #expect(!hasEnded && clock.wait != nil)
  }

  /// The steps of an earlier run, the wall clock at the start minus the time of the newest key, and the clock for keys
  /// minus that time. In seconds.
  @Test(arguments: [(0, 0, 0), (0, 7, 7), (0, -3600, 0), (600, 607, 7), (600, 7, 0), (-3600, -3593, 7)])
  func `at a start the clock for keys continues, and is never before the newest key`(row: (Int, Int, Int)) {
    let key = Timestamp.at(5_000)
    let now = key + .seconds(row.1)
    let clock = AgingClock(nil, keyOffset: .seconds(row.0), newest: key, now: now, elapsed: .seconds(3))
    #expect(now - clock.keyOffset - key == .seconds(row.2))
  }
}

/// The age of an idempotency key after a takeover.
@Suite struct TakenOverClockTests {
  struct Row: CustomTestStringConvertible {
    let testDescription: String
    /// The wall clock of the new leader, minus the one of the old leader.
    let difference: Int
    /// The time from the key to the newest record of the log, by the clock for keys of the old leader.
    let age: Int
    /// The offset of the clock for keys that the file of the new leader has noted when it led before.
    var offset = 0
    let isDuplicate: Bool

    init(_ description: String, difference: Int, age: Int, offset: Int = 0, _ isDuplicate: Bool) {
      testDescription = description
      self.difference = difference
      self.age = age
      self.offset = offset
      self.isDuplicate = isDuplicate
    }
  }

  static let rows = [
    Row("the clocks agree", difference: 0, age: 10, true),
    Row("the new leader is ahead", difference: 600, age: 10, true),
    Row("the new leader is behind", difference: -600, age: 10, true),
    Row("the new leader is far ahead", difference: 40 * 86_400, age: 299, true),
    Row("the key has expired before the takeover", difference: 0, age: 300, false),
    Row("the key has expired, and the new leader is behind", difference: -86_400, age: 300, false),
    Row("the new leader has noted an offset of its own clock", difference: 0, age: 299, offset: 7_000, true),
    Row("the same with an expired key", difference: 0, age: 300, offset: -7_000, false),
  ]

  @Test(arguments: rows) func `an age counts from the newest record of the log`(row: Row) async throws {
    let (folder, clocks) = (temporaryPath(), TestClocks())
    defer { try? FileManager.default.removeItem(atPath: folder) }
    func send(_ keyTime: Timestamp) async throws -> Bool {
      let journal = MemoryJournal(keyTime: keyTime)
      let store = try Store(folder: folder, journal: journal, clock: clocks.store) {
        for completion in $0 { completion() }
      }
      defer { store.close() }
      return try await store.write { transaction in
        try Installation.save(keyOffset: .seconds(row.offset), transaction.db)
        if try transaction.db.first("SELECT 1 FROM rooms") == nil { try transaction.prepareRoom() }
        return try transaction.messages.append(draft(key: "k")).isDuplicate
      }
    }
    try followLog(folder)
    let first = try await send(clocks.now)
    #expect(!first)
    let newest = clocks.now + .seconds(row.age)
    clocks.set(by: .seconds(row.difference))
    // The time without a leader does not count.
    clocks.pass(.seconds(1_000))
    let isDuplicate = try await send(newest)
    #expect(isDuplicate == row.isDuplicate)
  }

  @Test func `the clock for keys is never before a key, although the newest record is older`() async throws {
    let folder = temporaryPath()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try followLog(folder)
    let test = TestClocks()
    for (keyTime, expected) in [(100, 100), (40, 100), (101, 101)] {
      let journal = MemoryJournal(keyTime: TestStore.time + .seconds(keyTime))
      let store = try Store(folder: folder, journal: journal, clock: test.store) {
        for completion in $0 { completion() }
      }
      defer { store.close() }
      let steady = try await store.write { transaction in
        if try transaction.db.first("SELECT 1 FROM rooms") == nil {
          try transaction.prepareRoom()
          _ = try transaction.messages.append(draft(key: "k"))
        }
        return transaction.steadyNow
      }
      #expect(steady == TestStore.time + .seconds(expected))
    }
  }
}

/// A store whose wall clock is set.
@Suite struct SetClockTests {
  let clocks = TestClocks()
  let folder = temporaryPath()

  private func withStore(_ use: (Store) async throws -> Void) async throws {
    let store = try Store(folder: folder, clock: clocks.store) { for completion in $0 { completion() } }
    defer { store.close() }
    try await use(store)
  }

  /// Something whose time the store notes by the clock for keys.
  enum Noted: CaseIterable { case key, forgotten, silenced, notified, reported }

  /// A message of Alice that did not disturb Bob.
  private static var silencedMessage: MessageDraft {
    var message = draft()
    message.silenced = [bob.id]
    return message
  }

  private static func note(_ noted: Noted, _ transaction: Transaction) throws {
    switch noted {
    case .key: _ = try transaction.messages.append(draft(key: "k"))
    case .forgotten: _ = try transaction.devices.forget(token: phone().token, platform: phone().platform)
    case .silenced: _ = try transaction.messages.append(silencedMessage)
    case .notified: _ = try transaction.silenced.notify(room, 1, by: alice.id)
    case .reported: _ = try transaction.reports.add("spam", about: MessageReference(room: room, seq: 1), by: bob.id)
    }
  }

  @Test(arguments: Noted.allCases)
  func `the clock for keys is not set back while the relay is stopped`(noted: Noted) async throws {
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try await withStore { store in
      try await store.write { transaction in
        try transaction.prepareRoom()
        _ = try transaction.messages.append(Self.silencedMessage)
      }
      clocks.pass(.seconds(60))
      try await store.write { try Self.note(noted, $0) }
    }
    let time = clocks.now
    clocks.set(by: .seconds(-86_000))
    try await withStore { store in
      let steady = try await store.write { $0.steadyNow }
      #expect(steady == time)
    }
  }

  private func send(_ key: String, _ store: Store, hasPhones: Bool = false) async throws -> Appended {
    var message = draft("hi")
    message.key = key
    message.time = clocks.now
    message.hasPhones = hasPhones
    return try await withCheckedThrowingContinuation { continuation in
      store.append(message) { continuation.resume(with: $0) }
    }
  }

  @Test(arguments: [true, false], [-3600, 600, 40 * 86_400])
  func `a key keeps its remaining time when the wall clock is set`(hasPhones: Bool, step: Int) async throws {
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try await withStore { store in
      try await store.write { try $0.prepareRoom() }
      let first = try await send("k", store, hasPhones: hasPhones)
      clocks.set(by: .seconds(step))
      let again = try await send("k", store, hasPhones: hasPhones)
      #expect(again.isDuplicate)
      clocks.pass(.seconds(299))
      let second = try await send("k", store, hasPhones: hasPhones)
      #expect(second.isDuplicate && second.seq == first.seq)
      try await store.write { try $0.noteClock() }
    }
    try await withStore { store in
      let late = try await send("k", store, hasPhones: hasPhones)
      #expect(late.isDuplicate)
      clocks.pass(.seconds(1))
      let expired = try await send("k", store, hasPhones: hasPhones)
      #expect(!expired.isDuplicate)
    }
  }

  /// The remaining times of the reports of Bob's phone, and the badge that depends on its filter.
  private struct Reports: Equatable {
    var focus, filter: Duration?
    var badge: Int
  }

  private func reports(_ store: Store) async throws -> Reports {
    let moment = store.readClock().moment
    let record = try #require(try await store.read { try $0.people.user(bob.id) })
    let recipient = Recipient(record, now: moment)
    let badge = try await store.write { transaction in
      var shared = Shared(transaction, now: transaction.now)
      return try shared.badge(of: transaction.needRow(of: bob.id), on: phone())
    }
    return Reports(
      focus: recipient.focus.focusedUntil(phone().id).map { $0 - moment.now },
      filter: recipient.filters.filter(of: phone().id).map { $0.until - moment.now }, badge: badge)
  }

  @Test(arguments: [-40 * 86_400, -600, 600, 40 * 86_400])
  func `a report ends at its age, although the wall clock is set`(step: Int) async throws {
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let half = Duration.seconds(6 * 3600)
    try await withStore { store in
      let (now, steps) = (store.readClock().moment.now, store.readClock().moment.steps)
      try await store.write { transaction in
        try transaction.prepareRoom()
        _ = try transaction.messages.append(draft())
        var preferences = Preferences()
        preferences[room].criteria = "work"
        try transaction.people.save(preferences, of: bob.id)
        try transaction.people.save(
          FocusRecord(
            device: phone().id, isFocused: true, authorization: .authorized, at: now, number: nil, source: nil,
            received: now, steps: steps), of: bob.id)
        try transaction.people.save(
          FilterRecord(
            device: phone().id, isActive: true, allow: [], at: now, number: nil, received: now, steps: steps),
          of: bob.id)
      }
      clocks.set(by: .seconds(step))
      let before = try await reports(store)
      #expect(before == Reports(focus: half * 2, filter: half * 2, badge: 0))
      // A write after the step stores it, without the event of the hub.
      try await store.write { try $0.people.rename(alice) }
      clocks.pass(half)
    }
    try await withStore { store in
      let after = try await reports(store)
      #expect(after == Reports(focus: half, filter: half, badge: 0))
      clocks.pass(half)
      let end = try await reports(store)
      #expect(end == Reports(badge: 1))
    }
  }

  @Test(arguments: [-40 * 86_400, -600, 600, 40 * 86_400])
  func `the time of a held message moves with the wall clock, also over a start`(step: Int) async throws {
    defer { try? FileManager.default.removeItem(atPath: folder) }
    func held(_ store: Store) async throws -> [OpenPush] {
      try await store.read { try $0.queue.openJobs(of: bob.id).jobs }
    }
    func shifts(_ store: Store) async throws -> [Duration] {
      let clock = store.readClock()
      return try await held(store).map { clock.shift(since: $0.message.time, steps: $0.steps) }
    }
    func send(_ store: Store) async throws {
      try await store.write { transaction in
        var hold = job(due: transaction.now + .seconds(3600))
        hold.isHeld = true
        _ = try transaction.messages.append(draft(at: transaction.now, jobs: [hold]))
      }
    }
    let moved = Duration.seconds(step)
    try await withStore { store in
      try await store.write { try $0.prepareRoom() }
      try await send(store)
      #expect(try await shifts(store) == [.zero])
      clocks.set(by: moved)
      #expect(try await shifts(store) == [moved])
      try await send(store)
    }
    try await withStore { (store: Store) async throws in
      // The newest job is the first.
      #expect(try await shifts(store) == [.zero, moved])
      clocks.set(by: .zero - moved)
      #expect(try await shifts(store) == [.zero - moved, .zero])
    }
  }

  @Test(arguments: [-40 * 86_400, 600, 40 * 86_400])
  func `the limit of a hold moves with the wall clock`(step: Int) async throws {
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try await withStore { store in
      let id = try await store.write { transaction in
        try transaction.prepareRoom()
        var hold = job(due: transaction.now + .seconds(3600))
        hold.isHeld = true
        _ = try transaction.messages.append(draft(at: transaction.now, jobs: [hold]))
        return try #require(try transaction.reader.queue.openJobs(of: bob.id).jobs.first).id
      }
      clocks.pass(PlannedPush.maxHold - .seconds(3600))
      clocks.set(by: .seconds(step))
      for (wanted, due) in [(1800, 1800), (7200, 3600)] {
        let now = clocks.now
        _ = try await store.write { try $0.queue.decide(id, .hold(until: now + .seconds(wanted))) }
        #expect(try await store.read { try $0.queue.openJobs(of: bob.id).jobs.map(\.due) } == [now + .seconds(due)])
      }
    }
  }

  @Test(arguments: [-3600, 600, 40 * 86_400])
  func `the end of a push moves with the wall clock`(step: Int) async throws {
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try await withStore { store in
      let id = try await store.write { transaction in
        try transaction.prepareRoom()
        var push = job(due: transaction.now)
        push.explanation.facts.message.expires = transaction.now + .seconds(45)
        return try transaction.messages.append(draft(at: transaction.now, jobs: [push])).jobs[0]
      }
      func fail() async throws {
        let now = clocks.now
        _ = try await store.write { transaction in
          _ = try transaction.queue.decide(id, .push(.active))
          _ = try transaction.queue.claim(limit: 1, now: now, leaseUntil: now + .seconds(60))
          try transaction.queue.finish(id, state: .dead, now: now)
        }
      }
      func revival() async throws -> Revival? { try await store.write { try $0.queue.revive(id)?.revival } }
      try await fail()
      clocks.set(by: .seconds(step))
      clocks.pass(.seconds(44))
      #expect(try await revival() == .begun)
      try await fail()
      clocks.pass(.seconds(1))
      #expect(try await revival() == .refused(.expired))
    }
  }

  @Test(arguments: [-40 * 86_400, -600, 600, 40 * 86_400])
  func `the age of the oldest push does not follow the wall clock, also over a start`(step: Int) async throws {
    defer { try? FileManager.default.removeItem(atPath: folder) }
    func age(_ store: Store) async throws -> Duration? {
      let moment = store.readClock().moment
      return try await store.read { try $0.queue.unfinishedJobs(at: moment).oldestAge }
    }
    func send(_ store: Store) async throws {
      try await store.write { transaction in
        _ = try transaction.messages.append(draft(at: transaction.now, jobs: [job(due: transaction.now)]))
      }
    }
    try await withStore { store in
      try await store.write { try $0.prepareRoom() }
      let none = try await age(store)
      #expect(none == nil)
      try await send(store)
      clocks.pass(.seconds(5))
      clocks.set(by: .seconds(step))
      clocks.pass(.seconds(2))
      let first = try await age(store)
      #expect(first == .seconds(7))
      try await send(store)
    }
    try await withStore { store in
      clocks.pass(.seconds(1))
      let both = try await age(store)
      #expect(both == .seconds(8))
    }
  }

  @Test func `a message that is older than its push moves with a large step forward`() async throws {
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try await withStore { store in
      let sent = clocks.now
      clocks.set(by: .seconds(600))
      #expect(store.readClock().shift(since: sent, steps: store.readClock().moment.steps) == .zero)
      clocks.set(by: .seconds(40 * 86_400))
      let steps = store.readClock().moment.steps
      #expect(steps == .seconds(40 * 86_400 + 600))
      #expect(store.readClock().shift(since: sent, steps: steps) == .seconds(40 * 86_400))
    }
  }

  @Test func `nothing is deleted by its age after a large step, until the clock was steady for a day`() async throws {
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let retention = Retention(count: .max, age: .seconds(86_400))
    func trimmed(_ store: Store) async throws -> Int? {
      try await store.write { try $0.messages.trim(room, to: retention, maxDeleted: 9)?.deleted }
    }
    try await withStore { store in
      try await store.write { transaction in
        try transaction.prepareRoom()
        var message = draft("hi", at: transaction.now, cursorFollows: true)
        message.retention = retention
        for _ in 1...3 { _ = try transaction.messages.append(message) }
        try transaction.noteClock()
      }
      let atOnce = try await trimmed(store)
      #expect(atOnce == 0)
      clocks.set(by: .seconds(40 * 86_400))
      let ahead = try await trimmed(store)
      #expect(ahead == 0)
      #expect(store.readClock().cause == .step)
      #expect(store.readClock().remaining == .seconds(86_400))
      clocks.pass(.seconds(100))
      clocks.set(by: .seconds(-40 * 86_400))
      let corrected = try await trimmed(store)
      #expect(corrected == 0)
      try await store.write { try $0.noteClock() }
    }
    // A start continues the wait.
    try await withStore { store in
      clocks.pass(.seconds(86_399))
      let almost = try await trimmed(store)
      #expect(almost == 0)
      #expect(store.readClock().cause == .step)
      clocks.pass(.seconds(1))
      #expect(store.readClock().cause == nil)
      let afterADay = try await trimmed(store)
      #expect(afterADay == 3)
      try await store.write { try $0.noteClock() }
    }
    // The hardware clock is wrong at the start.
    clocks.set(by: .seconds(40 * 86_400))
    try await withStore { store in
      #expect(store.readClock().cause == .stop)
      let confirmed = try await store.confirmClock()
      #expect(confirmed)
      #expect(store.readClock().cause == nil)
      let twice = try await store.confirmClock()
      #expect(!twice)
    }
  }

  @Test func `a large step deletes no finished push, ban or audit entry`() async throws {
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try await withStore { store in
      let ends = clocks.now.rawValue + 1
      try await store.write { transaction in
        try transaction.prepareRoom()
        for id in try transaction.messages.append(draft(jobs: [job()])).jobs {
          _ = try transaction.queue.finish(id, state: .expired, now: transaction.now)
        }
        try transaction.addAudit("setRole", [alice.id])
        for table in ["bans", "restrictions"] {
          try transaction.db.run(
            "INSERT INTO \(table) (room, user, until) SELECT rooms.id, users.id, ? FROM rooms, users LIMIT 1", [ends])
        }
      }
      func left() async throws -> [Int] {
        try await store.write { transaction in
          _ = try transaction.queue.purge(finishedBefore: transaction.now)
          _ = try transaction.audit.purge(olderThan: .seconds(3600), max: 9)
          // A ban and a restriction delete those that are over.
          let later = transaction.now + .seconds(3600)
          let eve = UserID(unchecked: "eve")
          _ = try transaction.rooms.remove(eve, from: room, by: .backend, ban: RoomBan(until: later))
          try transaction.rooms.restrict(bob.id, in: room, by: .backend, until: later)
          let old = ["bans", "restrictions"].map { "\($0) WHERE until = \(ends)" }
          return try (["jobs", "audit"] + old).map { try transaction.db.first("SELECT count(*) FROM \($0)")?[0] ?? -1 }
        }
      }
      clocks.set(by: .seconds(40 * 86_400))
      let waiting = try await left()
      #expect(waiting == [1, 1, 1, 1])
      let confirmed = try await store.confirmClock()
      #expect(confirmed)
      let after = try await left()
      #expect(after == [0, 0, 0, 0])
    }
  }
}
