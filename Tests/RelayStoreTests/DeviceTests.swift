// SPDX-License-Identifier: Apache-2.0
import RelayProtocol
import Testing

@testable import RelayStore

/// Devices and their tokens.
@Suite struct DeviceTests {
  let test: TestStore
  init() throws { test = try TestStore() }

  /// The devices without the times of their registrations.
  private func devices(of user: User) async throws -> [Device]? {
    try await test.read { reader in
      try reader.people.user(user.id)?.devices.map {
        var device = $0
        device.registered = nil
        return device
      }
    }
  }

  private func register(_ device: Device, of user: User, now: Timestamp = .at(0)) async throws -> [[String]] {
    try await test.write { transaction in
      try transaction.devices.register(device, of: user.id, now: now).ended.map {
        [$0.user.rawValue, $0.device.rawValue]
      }
    }
  }

  @Test func `a device registers and can renew its token`() async throws {
    #expect(try await register(phone(), of: bob) == [])
    #expect(try await register(phone(token: "new"), of: bob) == [])
    #expect(try await devices(of: bob) == [phone(token: "new")])
  }

  @Test func `a token of another app ends the former device`() async throws {
    try await test.write { try $0.prepareRoom() }
    try await test.write { _ = try $0.messages.append(draft(jobs: [job()])) }
    var other = phone("alices")
    other.app = "other"
    #expect(try await register(other, of: alice) == [["bob", "phone"]])
    #expect(try await devices(of: bob) == [])
    #expect(try await devices(of: alice) == [other])
    let jobs = try await test.read { try $0.queue.jobs(of: bob.id, limit: 9) }
    #expect(jobs.map(\.state) == [.cancelled])
    #expect(jobs.map(\.note) == ["no device"])
  }

  @Test func `a token moves between devices of one user, too`() async throws {
    _ = try await register(phone("old"), of: bob)
    #expect(try await register(phone("new"), of: bob) == [["bob", "old"]])
    #expect(try await devices(of: bob) == [phone("new")])
  }

  @Test func `the same token of another platform is another token`() async throws {
    _ = try await register(phone(), of: bob)
    var other = phone()
    other.platform = .apns
    #expect(try await register(other, of: alice) == [])
    #expect(try await devices(of: bob) == [phone()])
  }

  @Test func `a repeated registration keeps the jobs`() async throws {
    try await test.write { try $0.prepareRoom() }
    try await test.write { _ = try $0.messages.append(draft(jobs: [job()])) }
    #expect(try await register(phone(), of: bob, now: .at(9)) == [])
    #expect(try await test.read { try $0.queue.jobCounts() } == [.ready: 1])
  }

  @Test func `deleting a device cancels only its unfinished jobs`() async throws {
    try await test.write { transaction in
      try transaction.prepareRoom()
      try transaction.devices.register(phone("tablet", token: "other"), of: bob.id, now: .at(0))
      let tablet = job(phone("tablet", token: "other"))
      _ = try transaction.messages.append(draft(jobs: [job(), tablet]))
      _ = try transaction.messages.append(draft(jobs: [job(due: .at(9))]))
      // One job of the phone is being sent.
      #expect(try transaction.queue.claim(limit: 1, now: .at(0), leaseUntil: .at(60)).map(\.device.id) == [phone().id])
      #expect(try transaction.devices.forget(phone().id, of: bob.id))
    }
    let jobs = try await test.read { try $0.queue.jobs(limit: 9) }
    #expect(jobs.map(\.device.rawValue) == ["phone", "tablet", "phone"])
    #expect(jobs.map(\.state) == [.cancelled, .ready, .cancelled])
    #expect(jobs.map(\.note) == ["no device", nil, "no device"])
    #expect(try await test.write { try $0.queue.retry(jobs[2].id, due: .at(0)) } == false)
  }

  @Test func `deleting an unknown device has no effect`() async throws {
    _ = try await register(phone(), of: bob)
    let forgotten = try await test.write { transaction in
      try [bob.id, bob.id, UserID(unchecked: "nobody")].map { try transaction.devices.forget(phone().id, of: $0) }
    }
    #expect(forgotten == [true, false, false])
  }

  @Test func `a token is deleted only if it was registered before the given time`() async throws {
    _ = try await register(phone(), of: bob, now: .at(100))
    func forget(_ token: String, _ platform: Platform, before time: Timestamp?) async throws -> Forgetting {
      try await test.write { try $0.devices.forget(token: token, platform: platform, registeredBefore: time) }
    }
    #expect(try await forget("token", .simulator, before: .at(100)) == .none)
    #expect(try await forget("token", .apns, before: .at(101)) == .none)
    #expect(try await forget("other", .simulator, before: .at(101)) == .none)
    // The registration was renewed meanwhile.
    _ = try await register(phone(), of: bob, now: .at(200))
    #expect(try await forget("token", .simulator, before: .at(101)) == .none)
    #expect(try await forget("token", .simulator, before: .at(201)) == .forgotten(of: [bob.id]))
    #expect(try await devices(of: bob) == [])

    _ = try await register(phone(), of: bob, now: .at(300))
    #expect(try await forget("token", .simulator, before: nil) == .forgotten(of: [bob.id]))
  }

  @Test func `a registration is stored completely, and replaced by the next one`() async throws {
    var device = phone()
    device.voipToken = "voip"
    device.criteria = "work"
    device.allowsAlerts = false
    device.allowsTimeSensitive = false
    device.locale = "de_AT"
    device.timeZone = "Europe/Vienna"
    _ = try await register(device, of: bob)
    #expect(try await devices(of: bob) == [device])
    _ = try await register(phone(), of: bob)
    #expect(try await devices(of: bob) == [phone()])
  }

  @Test func `a token for calls moves between devices of one user, too`() async throws {
    var former = phone()
    former.voipToken = "voip"
    var next = phone("next", token: "next")
    next.voipToken = "voip"
    _ = try await register(former, of: bob)
    #expect(try await register(former, of: bob) == [])
    #expect(try await register(next, of: bob) == [["bob", "phone"]])
    #expect(try await devices(of: bob) == [next])
  }

  @Test func `several devices may have no token for calls`() async throws {
    _ = try await register(phone(), of: bob)
    #expect(try await register(phone("next", token: "next"), of: alice) == [])
  }
}
