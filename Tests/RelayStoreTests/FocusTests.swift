// SPDX-License-Identifier: Apache-2.0
import RelayProtocol
import Testing

@testable import RelayStore

@Suite struct FocusTests {
  let test: TestStore
  init() throws { test = try TestStore() }

  private static func record(
    _ device: String, _ isFocused: Bool?, _ authorization: FocusAuthorization = .authorized, number: Int64? = nil,
    source: FocusSource? = nil
  ) -> FocusRecord {
    FocusRecord(
      device: DeviceID(unchecked: device), isFocused: isFocused, authorization: authorization, at: .at(-5),
      number: number, source: source, heard: .at(3))
  }

  @Test(arguments: [true, false, nil], FocusAuthorization.allCases)
  func `a device's state comes back as it was saved`(
    isFocused: Bool?, authorization: FocusAuthorization
  ) async throws {
    let records = [
      Self.record("a", isFocused, authorization),
      Self.record("b", isFocused, authorization, number: 1 << 53, source: .center),
    ]
    try await test.write { transaction in
      for record in records { try transaction.save(record, of: alice.id) }
    }
    #expect(try await test.read { try $0.user(alice.id)?.focus } == records)
  }

  @Test func `a device has one state, the last one saved`() async throws {
    try await test.write { try $0.save(Self.record("a", true, number: 9, source: .manual), of: alice.id) }
    try await test.write { try $0.save(Self.record("a", nil, .denied), of: alice.id) }
    #expect(try await test.read { try $0.user(alice.id)?.focus } == [Self.record("a", nil, .denied)])
  }

  @Test func `registering a device forgets the number of its reports and nothing else`() async throws {
    try await test.write { transaction in
      try transaction.save(Self.record("phone", true, number: 9, source: .intent), of: bob.id)
      try transaction.save(Self.record("tablet", false, number: 5), of: bob.id)
      try transaction.register(phone("phone"), of: bob.id, now: .at(0))
    }
    #expect(
      try await test.read { try $0.user(bob.id)?.focus } == [
        Self.record("phone", true, source: .intent), Self.record("tablet", false, number: 5),
      ])
  }
}
