// SPDX-License-Identifier: Apache-2.0
import GRDB
import RelayProtocol
import Testing

@testable import RelayStore

/// Several users of one app whose devices share a token: the accounts of one phone.
@Suite struct PhoneAccountTests {
  let test: TestStore
  init() throws { test = try TestStore() }

  private static let carol = User(id: UserID(unchecked: "carol"))

  private func record(of user: User) async throws -> UserRecord? { try await test.read { try $0.people.user(user.id) } }

  /// The devices of a user, without the times of their registrations.
  private func devices(of user: User) async throws -> [Device]? {
    try await record(of: user)?.devices.map { device in
      var device = device
      device.registered = nil
      return device
    }
  }

  @discardableResult
  private func register(
    _ device: Device = phone(), of user: User, now: Timestamp = .at(0)
  ) async throws -> DeviceWriter.Registration {
    try await test.write { try $0.devices.register(device, of: user.id, now: now) }
  }

  private func accounts(beside user: User) async throws -> [String] {
    try await test.read { try $0.people.accounts(beside: phone().id, of: user.id).map(\.user.rawValue) }
  }

  @Test func `users of one app share a token`() async throws {
    try await register(of: bob)
    #expect(try await register(of: alice) == DeviceWriter.Registration())
    #expect(try await devices(of: bob) == [phone()])
    #expect(try await devices(of: alice) == [phone()])
    #expect(try await accounts(beside: bob) == ["alice"])
    #expect(try await accounts(beside: alice) == ["bob"])
    #expect(try await accounts(beside: Self.carol) == [])
  }

  @Test func `users of one app share a token for calls`() async throws {
    var (first, second) = (phone(token: "a"), phone(token: "b"))
    (first.voipToken, second.voipToken) = ("calls", "calls")
    try await register(first, of: bob)
    #expect(try await register(second, of: alice) == DeviceWriter.Registration())
    #expect(try await devices(of: bob) == [first])
    #expect(try await accounts(beside: alice) == ["bob"])
    // A token for calls is another token than the same text for alerts.
    try await register(phone(token: "calls"), of: Self.carol)
    #expect(try await accounts(beside: Self.carol) == [])
  }

  @Test(arguments: [nil, "org.example.other"]) func `a token belongs to one app`(app: String?) async throws {
    var other = phone()
    other.app = app
    try await register(of: bob)
    let registration = try await register(other, of: alice)
    #expect(registration.ended == [DeviceName(user: bob.id, device: phone().id)])
    #expect(try await devices(of: bob) == [])
  }

  @Test func `a user has one device with a token, also beside other accounts`() async throws {
    try await register(of: bob)
    try await register(of: alice)
    let registration = try await register(phone("next"), of: bob)
    #expect(registration.ended == [DeviceName(user: bob.id, device: phone().id)])
    #expect(try await devices(of: bob) == [phone("next")])
    #expect(try await devices(of: alice) == [phone()])
  }

  @Test(arguments: [false, true])
  func `the account that registered longest ago ends beyond the limit`(isForCalls: Bool) async throws {
    func user(_ number: Int) -> User { User(id: UserID(unchecked: "user-\(number)")) }
    func device(_ number: Int) -> Device {
      var device = phone(token: isForCalls ? "token-\(number)" : "token")
      if isForCalls { device.voipToken = "calls" }
      return device
    }
    for number in 0..<Device.maxAccounts {
      #expect(try await register(device(number), of: user(number), now: .at(Int64(number))).ended == [])
    }
    // A renewal ends no account.
    #expect(try await register(device(0), of: user(0), now: .at(100)).ended == [])
    let registration = try await register(device(100), of: user(100), now: .at(101))
    #expect(registration.ended == [DeviceName(user: user(1).id, device: phone().id)])
    #expect(try await devices(of: user(1)) == [])
    #expect(try await accounts(beside: user(100)).count == Device.maxAccounts - 1)
  }

  @Test(arguments: [-3_600, 40 * 86_400] as [Int64])
  func `the account that registered longest ago ends, also if the clock was set`(step: Int64) async throws {
    func user(_ number: Int) -> User { User(id: UserID(unchecked: "user-\(number)")) }
    // The clock is set after the first account, and set right before the last one.
    for number in 0...Device.maxAccounts {
      if number == 1 { test.clocks.set(by: .seconds(step)) }
      if number == Device.maxAccounts { test.clocks.set(by: .seconds(-step)) }
      let registration = try await register(of: user(number), now: test.clocks.now)
      #expect(registration.ended.map(\.user) == (number == Device.maxAccounts ? [user(0).id] : []))
      test.clocks.pass(.seconds(1))
    }
    let next = try await register(of: user(100), now: test.clocks.now)
    #expect(next.ended.map(\.user) == [user(1).id])
  }

  @Test func `a refused token ends for all accounts, and counts once`() async throws {
    try await register(of: bob, now: .at(100))
    try await register(of: alice, now: .at(200))
    try await register(phone(token: "other"), of: Self.carol)
    func forget(before time: Timestamp) async throws -> Forgetting {
      try await test.write { try $0.devices.forget(token: "token", platform: .simulator, registeredBefore: time) }
    }
    // Alice registered after the refusal, so the token is valid, for Bob too.
    #expect(try await forget(before: .at(150)) == .none)
    #expect(try await devices(of: bob) == [phone()])
    #expect(try await forget(before: .at(201)) == .forgotten(of: [alice.id, bob.id]))
    for user in [alice, bob] { #expect(try await devices(of: user) == []) }
    #expect(try await devices(of: Self.carol)?.count == 1)
    let count = try await test.write { try $0.db.first("SELECT count(*) FROM forgotten")?[0] as Int? }
    #expect(count == 1)
  }

  @Test func `a refused token for calls ends for all accounts`() async throws {
    var device = phone()
    device.voipToken = "calls"
    try await register(device, of: bob)
    try await register(device, of: alice)
    let forgotten = try await test.write {
      try $0.devices.forget(voipToken: "calls", platform: .simulator, registeredBefore: .at(1))
    }
    #expect(forgotten == .forgotten(of: [alice.id, bob.id]))
    for user in [alice, bob] { #expect(try await devices(of: user) == [phone()]) }
  }

  @Test func `a deleted device ends only its own account and its jobs`() async throws {
    try await test.write { transaction in
      try transaction.prepareRoom()
      _ = try transaction.rooms.join(Self.carol, room: room, epoch: "epoch", now: .at(0))
      try transaction.devices.register(phone(), of: Self.carol.id, now: .at(0))
      _ = try transaction.messages.append(draft(jobs: [job(), job(to: Self.carol)]))
      try transaction.devices.forget(phone().id, of: bob.id)
    }
    #expect(try await devices(of: Self.carol) == [phone()])
    let states = try await test.read { reader in
      try [bob, Self.carol].map { try reader.queue.jobs(of: $0.id, limit: 9).map(\.state) }
    }
    #expect(states == [[.cancelled], [.ready]])
    let claims = try await test.write { try $0.queue.claim(limit: 9, now: .at(0), leaseUntil: .at(60)) }
    #expect(claims.map(\.recipient) == [Self.carol.id])
  }

  @Test func `a registration gives the other accounts its permissions`() async throws {
    try await register(of: bob)
    var device = phone()
    device.allowsAlerts = false
    #expect(try await register(device, of: alice).changed == [bob.id])
    #expect(try await devices(of: bob) == [device])
    // The permissions have not changed.
    #expect(try await register(device, of: alice).changed == [])
    device.allowsAlerts = true
    device.allowsTimeSensitive = false
    device.criteria = "alice"
    #expect(try await register(device, of: alice).changed == [bob.id])
    device.criteria = nil
    #expect(try await devices(of: bob) == [device])
  }

  private static func focus(_ isFocused: Bool, at: Int64, number: Int64? = nil) -> FocusRecord {
    FocusRecord(
      device: phone().id, isFocused: isFocused, authorization: .authorized, at: .at(at), number: number,
      source: .intent, received: .at(at + 1), since: isFocused ? .at(at) : nil)
  }

  private static func filter(_ allow: [String], at: Int64, number: Int64? = nil) -> FilterRecord {
    FilterRecord(
      device: phone().id, isActive: true, allow: allow, at: .at(at), number: number, received: .at(at + 1))
  }

  @Test func `a later account gets the newest reports of the phone, without their numbers`() async throws {
    try await register(of: bob)
    try await register(of: alice)
    try await test.write { transaction in
      try transaction.people.save(Self.focus(false, at: 1, number: 5), of: bob.id)
      try transaction.people.save(Self.focus(true, at: 2, number: 6), of: alice.id)
      try transaction.people.save(Self.filter(["work"], at: 4, number: 7), of: bob.id)
      try transaction.people.save(Self.filter(["home"], at: 3, number: 8), of: alice.id)
    }
    try await register(of: Self.carol)
    #expect(try await record(of: Self.carol)?.focus == [Self.focus(true, at: 2)])
    #expect(try await record(of: Self.carol)?.filters == [Self.filter(["work"], at: 4)])
  }

  @Test func `the newest report of the phone is the last one, also if the clock was set back before it`() async throws {
    try await register(of: bob)
    try await register(of: alice)
    var (focus, filter) = (Self.focus(false, at: 1), Self.filter(["work"], at: 1))
    (focus.steps, filter.steps) = (.seconds(-3_600), .seconds(-3_600))
    try await test.write { [focus, filter] transaction in
      try transaction.people.save(Self.focus(true, at: 3_000_000), of: bob.id)
      try transaction.people.save(Self.filter(["home"], at: 3_000_000), of: bob.id)
      try transaction.people.save(focus, of: alice.id)
      try transaction.people.save(filter, of: alice.id)
    }
    // Bob's own report is older than that of Alice.
    for user in [Self.carol, bob] {
      try await register(of: user)
      #expect(try await record(of: user)?.focus == [focus])
      #expect(try await record(of: user)?.filters == [filter])
    }
  }

  @Test func `an account keeps its own report if none of the phone is newer`() async throws {
    try await register(of: bob)
    try await test.write { transaction in
      try transaction.people.save(Self.focus(true, at: 2), of: bob.id)
      try transaction.people.save(Self.filter(["work"], at: 2), of: bob.id)
      try transaction.people.save(Self.focus(false, at: 2), of: alice.id)
      try transaction.people.save(Self.filter(["home"], at: 1, number: 9), of: alice.id)
    }
    try await register(of: alice)
    #expect(try await record(of: alice)?.focus == [Self.focus(false, at: 2)])
    #expect(try await record(of: alice)?.filters == [Self.filter(["work"], at: 2)])
  }
}
