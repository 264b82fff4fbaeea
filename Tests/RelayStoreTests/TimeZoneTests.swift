// SPDX-License-Identifier: Apache-2.0
import RelayProtocol
import Testing

@testable import RelayStore

/// The stored zone files, and the registrations that decide about the zone of a user.
@Suite struct TimeZoneTests {
  let test: TestStore
  init() throws { test = try TestStore() }

  @Test func `the newest file of each zone is stored`() async throws {
    #expect(try await test.read { try $0.timeZones.files() } == [:])
    try await test.write { transaction in
      try transaction.timeZones.save([1], of: "Europe/Berlin")
      try transaction.timeZones.save([2], of: "Asia/Tokyo")
      try transaction.timeZones.save([], of: "Etc/UTC")
      try transaction.timeZones.save([3, 0], of: "Europe/Berlin")
    }
    let files = try await test.read { try $0.timeZones.files() }
    #expect(files == ["Europe/Berlin": [3, 0], "Asia/Tokyo": [2], "Etc/UTC": []])
  }

  @Test func `a user's devices have the times of their newest registrations`() async throws {
    try await test.write { transaction in
      try transaction.devices.register(phone(), of: bob.id, now: .at(1))
      try transaction.devices.register(phone("tablet", token: "other"), of: bob.id, now: .at(2))
      try transaction.devices.register(phone(), of: bob.id, now: .at(3))
    }
    let devices = try await test.read { try $0.people.user(bob.id)?.devices }
    #expect(devices?.map(\.registered) == [.at(3), .at(2)])
  }
}
