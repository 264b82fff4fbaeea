// SPDX-License-Identifier: Apache-2.0
import GRDB
import RelayProtocol
import Testing

@testable import RelayStore

/// Focus reports of devices.
@Suite struct FocusTests {
  let test: TestStore
  init() throws { test = try TestStore() }

  private static func record(
    _ device: String, _ isFocused: Bool?, _ authorization: FocusAuthorization = .authorized, number: Int64? = nil,
    source: FocusSource? = nil
  ) -> FocusRecord {
    FocusRecord(
      device: DeviceID(unchecked: device), isFocused: isFocused, authorization: authorization, at: .at(-5),
      number: number, source: source, received: .at(3))
  }

  @Test(arguments: [true, false, nil], FocusAuthorization.allCases)
  func `a device's report can be stored and read`(
    isFocused: Bool?, authorization: FocusAuthorization
  ) async throws {
    let records = [
      Self.record("a", isFocused, authorization),
      Self.record("b", isFocused, authorization, number: 1 << 53, source: .center),
    ]
    try await test.write { transaction in
      for record in records { try transaction.people.save(record, of: alice.id) }
    }
    #expect(try await test.read { try $0.people.user(alice.id)?.focus } == records)
  }

  @Test func `a device has only its newest report`() async throws {
    try await test.write { try $0.people.save(Self.record("a", true, number: 9, source: .manual), of: alice.id) }
    try await test.write { try $0.people.save(Self.record("a", nil, .denied), of: alice.id) }
    #expect(try await test.read { try $0.people.user(alice.id)?.focus } == [Self.record("a", nil, .denied)])
  }

  @Test func `a registration deletes only the number of the device's reports`() async throws {
    try await test.write { transaction in
      try transaction.people.save(Self.record("phone", true, number: 9, source: .intent), of: bob.id)
      try transaction.people.save(Self.record("tablet", false, number: 5), of: bob.id)
      try transaction.devices.register(phone("phone"), of: bob.id, now: .at(0))
    }
    #expect(
      try await test.read { try $0.people.user(bob.id)?.focus } == [
        Self.record("phone", true, source: .intent), Self.record("tablet", false, number: 5),
      ])
  }

  @Test func `the begin and the settle time of a Focus are stored`() async throws {
    var record = Self.record("a", false)
    record.since = .at(-50)
    record.settles = .at(3)
    var other = Self.record("b", true)
    other.since = .at(-9)
    let records = [record, other]
    try await test.write { try $0.people.save(records, of: alice.id) }
    #expect(try await test.read { try $0.people.user(alice.id)?.focus } == records)
  }
}

/// Filter reports of devices.
@Suite struct FilterTests {
  let test: TestStore
  init() throws { test = try TestStore() }

  private static func record(
    _ device: String, isActive: Bool = true, allow: [String] = [], number: Int64? = nil
  ) -> FilterRecord {
    FilterRecord(
      device: DeviceID(unchecked: device), isActive: isActive, allow: allow, at: .at(-5), number: number,
      received: .at(3))
  }

  @Test func `the store keeps the newest filter of each device`() async throws {
    let max = (0..<FilterReport.maxCriteria).map { "\"\($0)/é\n" }
    let records = [
      Self.record("a", allow: max, number: 1 << 53), Self.record("b", isActive: false), Self.record("c"),
    ]
    try await test.write { transaction in
      try transaction.people.save(Self.record("a", allow: ["old"]), of: alice.id)
      try transaction.people.save(records, of: alice.id)
    }
    #expect(try await test.read { try $0.people.user(alice.id)?.filters } == records)
    #expect(try await test.read { try $0.people.user(alice.id)?.focus } == [])
  }

  @Test func `a registration deletes the number of a filter, and a deletion the filter`() async throws {
    try await test.write { transaction in
      try transaction.people.save([Self.record("phone", allow: ["a"], number: 9), Self.record("tablet")], of: bob.id)
      try transaction.devices.register(phone(), of: bob.id, now: .at(0))
    }
    #expect(
      try await test.read { try $0.people.user(bob.id)?.filters } == [
        Self.record("phone", allow: ["a"]), Self.record("tablet"),
      ])
    try await test.write { try $0.devices.forget(phone().id, of: bob.id) }
    #expect(try await test.read { try $0.people.user(bob.id)?.filters } == [Self.record("tablet")])
  }

  @Test func `the error for a damaged filter does not contain its criteria`() async throws {
    try await test.write { transaction in
      try transaction.people.save(Self.record("a", allow: ["secret"]), of: alice.id)
      try transaction.db.execute(sql: "UPDATE filters SET allow = '[\"secret\"'")
    }
    await #expect(throws: StoreError.invalidRow(reason: "the stored JSON of a filter's criteria cannot be read")) {
      try await test.read { try $0.people.user(alice.id) }
    }
  }
}
