// SPDX-License-Identifier: Apache-2.0
import RelayProtocol
import Testing

@testable import RelayStore

/// The report keys of devices.
@Suite struct ReportKeyTests {
  let test: TestStore
  init() throws { test = try TestStore() }

  private func hash(_ number: UInt8) -> [UInt8] { Array(repeating: number, count: 32) }

  private func add(_ number: UInt8, for device: Device = phone(), of user: User = bob) async throws {
    try await test.write { [hash = hash(number)] transaction in
      try transaction.devices.register(device, of: user.id, now: .at(0))
      try transaction.devices.addReportKey(hash: hash, for: device.id, of: user.id)
    }
  }

  private func owner(_ number: UInt8) async throws -> String? {
    try await test.read { [hash = hash(number)] in
      try $0.people.ownerOfReportKey(hash: hash).map { "\($0.user) \($0.device)" }
    }
  }

  @Test func `a key identifies its device until it is revoked`() async throws {
    try await add(1)
    try await add(2, for: phone("tablet", token: "other"))
    #expect(try await owner(1) == "bob phone")
    #expect(try await owner(2) == "bob tablet")
    #expect(try await owner(3) == nil)
    #expect(try await test.write { try $0.devices.revokeReportKeys(of: phone().id, of: bob.id) })
    #expect(try await owner(1) == nil)
    #expect(try await owner(2) == "bob tablet")
    #expect(try await test.write { try $0.devices.revokeReportKeys(of: phone().id, of: bob.id) })
    #expect(try await !test.write { try $0.devices.revokeReportKeys(of: phone().id, of: alice.id) })
  }

  @Test func `all keys of a user are revoked at once`() async throws {
    try await add(1)
    try await add(2, for: phone("tablet", token: "other"))
    try await add(3, for: phone("alices", token: "alices"), of: alice)
    try await test.write { try $0.devices.revokeReportKeys(of: bob.id) }
    #expect(try await owner(1) == nil)
    #expect(try await owner(2) == nil)
    #expect(try await owner(3) == "alice alices")
    try await test.write { try $0.devices.revokeReportKeys(of: UserID(unchecked: "nobody")) }
  }

  @Test func `a key's owner has the claim of the newest token`() async throws {
    try await add(1)
    let grants = { [test, hash = hash(1)] in try await test.read { try $0.people.ownerOfReportKey(hash: hash)?.grants }
    }
    #expect(try await grants() == nil)
    try await test.write { try $0.people.save(grants: [7], of: bob.id) }
    #expect(try await grants() == [7])
    try await test.write { try $0.people.save(grants: nil, of: bob.id) }
    #expect(try await grants() == nil)
  }

  @Test func `only the newest keys of a device are valid`() async throws {
    let max = UInt8(DeviceWriter.maxReportKeys)
    try await add(100, for: phone("tablet", token: "other"))
    for number in 1...max + 1 { try await add(number) }
    #expect(try await owner(1) == nil)
    for number in 2...max + 1 { #expect(try await owner(number) == "bob phone") }
    #expect(try await owner(100) == "bob tablet")
  }

  @Test func `a key is revoked when its device is deleted or its token moves`() async throws {
    try await add(1)
    try await test.write { _ = try $0.devices.forget(phone().id, of: bob.id) }
    #expect(try await owner(1) == nil)
    try await add(2)
    try await test.write { _ = try $0.devices.register(phone("next"), of: bob.id, now: .at(0)) }
    #expect(try await owner(2) == nil)
    try await add(3)
    try await test.write { _ = try $0.devices.forget(token: phone().token, platform: phone().platform) }
    #expect(try await owner(3) == nil)
  }

  @Test func `a push belongs to one device`() async throws {
    try await test.write { try $0.prepareRoom() }
    try await test.write { _ = try $0.messages.append(draft(jobs: [job()])) }
    let id = try #require(try await test.read { try $0.queue.jobs(of: bob.id, limit: 1) }.first?.id)
    let isPush = { [test] (id: String, device: String, user: UserID) in
      try await test.read { try $0.queue.isPush(id, to: DeviceID(unchecked: device), of: user) }
    }
    #expect(try await isPush(id, "phone", bob.id))
    #expect(try await !isPush(id, "tablet", bob.id))
    #expect(try await !isPush(id, "phone", alice.id))
    #expect(try await !isPush("other", "phone", bob.id))
  }
}
