// SPDX-License-Identifier: Apache-2.0
import RelayProtocol
import Testing

@testable import RelayStore

/// Lanes: the groups of jobs that wait for different services.
@Suite struct LaneTests {
  private let test: TestStore
  init() throws { test = try TestStore() }

  private func device(
    _ id: String, _ platform: Platform, app: String? = nil, environment: PushEnvironment? = nil
  ) -> Device {
    Device(
      id: DeviceID(unchecked: id), app: app, platform: platform, token: "token of \(id)", environment: environment)
  }

  /// Makes a job for each device, in their order.
  private func prepare(_ devices: Device..., due: Int64 = 0) async throws {
    try await test.write { transaction in
      try transaction.prepareRoom()
      for device in devices { try transaction.devices.register(device, of: bob.id, now: .at(0)) }
      let jobs = devices.enumerated().map { job(to: bob, $1, due: .at(due + Int64($0))) }
      _ = try transaction.messages.append(draft(jobs: jobs))
    }
  }

  private func subscription(_ id: String, _ endpoint: String) -> Device {
    var device = device(id, .webpush)
    device.token = #"{"endpoint":"\#(endpoint)","keys":{"p256dh":"","auth":""}}"#
    return device
  }

  private func claimed(except busy: Lane...) async throws -> [DeviceID] {
    let capacity = Dictionary(uniqueKeysWithValues: busy.map { ($0, 0) })
    return try await test.write {
      try $0.queue.claim(limit: 1, now: .at(99), leaseUntil: .at(999), capacity: capacity).map(\.device.id)
    }
  }

  @Test func `a lane belongs to a gateway, or to an app of Apple's service`() {
    #expect(Lane(of: device("a", .simulator, app: "x")) == Lane(of: device("b", .simulator, app: "y")))
    #expect(Lane(of: device("a", .apns, app: "x")) != Lane(of: device("b", .apns, app: "y")))
    #expect(Lane(of: device("a", .apns, app: "x")) == Lane(of: device("b", .apns, app: "x")))
  }

  @Test func `the sandbox and production of one app have different lanes`() async throws {
    let sandbox = device("a", .apns, app: "x", environment: .sandbox)
    let production = device("b", .apns, app: "x", environment: .production)
    #expect(Lane(of: sandbox) != Lane(of: production))
    try await prepare(sandbox, production)
    // The lane of the sandbox is full. Its jobs do not delay those of production.
    #expect(try await claimed(except: Lane(of: sandbox)) == [production.id])
  }

  @Test func `each push service of Web Push belongs to a lane`() {
    let lanes = ["https://fcm.googleapis.com/a", "https://fcm.googleapis.com/b", "https://web.push.apple.com/a"].map {
      Lane(of: subscription("a", $0))
    }
    #expect(lanes[0] == lanes[1] && lanes[0] != lanes[2])
    #expect(Set((0..<1_000).map { Lane(of: subscription("a", "https://s\($0).notify.windows.com/")) }).count <= 64)
    #expect(Lane(of: device("a", .webpush)) == Lane(of: device("b", .webpush)))
  }

  @Test func `the query finds the lanes of jobs and of updates`() async throws {
    let devices = [
      device("a", .apns, app: "x"), device("b", .apns, app: "y", environment: .sandbox), device("c", .simulator),
      device("d", .simulator),
    ]
    for device in devices { try await prepare(device) }
    let lanes = Set(devices.map { Lane(of: $0) })
    #expect(lanes.count == 3)
    #expect(try await self.lanes() == lanes)
    try await test.write { transaction in
      for claim in try transaction.queue.claim(limit: 9, now: .at(99), leaseUntil: .at(999)) {
        try transaction.queue.finish(claim.id, state: .sent, now: .at(99))
      }
      for seq in 1...4 { _ = try transaction.messages.edit(room, Int64(seq), body: []) }
    }
    #expect(try await self.lanes() == Set(lanes.map(\.forUpdates)))
  }

  /// Returns the lanes with jobs.
  private func lanes() async throws -> Set<Lane> {
    let lanes = try await test.read { try $0.queue.lanes() }
    #expect(Set(lanes).count == lanes.count)
    return Set(lanes)
  }

  @Test func `each lane of pushes has a lane of updates`() {
    let lane = Lane(of: device("a", .apns, app: "x"))
    #expect(!lane.isForUpdates && lane.forPushes == lane)
    #expect(lane.forUpdates.isForUpdates && lane.forUpdates != lane)
    #expect(lane.forUpdates.forPushes == lane && lane.forUpdates.forUpdates == lane.forUpdates)
  }

  @Test func `the updates of a lane share the capacity of its pushes`() async throws {
    let devices = (1...4).map { device("\($0)", .apns, app: "x") }
    for device in devices { try await prepare(device) }
    let lane = Lane(of: devices[0])
    let claims = try await test.write { transaction in
      for claim in try transaction.queue.claim(limit: 2, now: .at(99), leaseUntil: .at(999)) {
        try transaction.queue.finish(claim.id, state: .sent, now: .at(99))
        _ = try transaction.messages.edit(room, try #require(claim.shown).message.seq, body: [])
      }
      return try transaction.queue.claimDue(
        limit: 9, now: .at(99), leaseUntil: .at(999), capacity: [lane: 3, lane.forUpdates: 2])
    }
    #expect(claims.map(\.lane) == [lane, lane, lane.forUpdates])
  }

  @Test func `the job with the earliest due time is the first, whatever its lane`() async throws {
    let devices = [
      device("a", .apns, app: "y"), device("b", .simulator), device("c", .apns, app: "x"), device("d", .apns, app: "y"),
    ]
    for (index, device) in devices.enumerated() { try await prepare(device, due: Int64(index)) }
    for device in devices { #expect(try await claimed() == [device.id]) }
    #expect(try await claimed() == [])
  }

  @Test func `waiting jobs change their lane with their device`() async throws {
    var phone = device("phone", .apns, app: "x")
    try await prepare(phone)
    let former = Lane(of: phone)
    phone.app = "y"
    try await test.write { [phone] in _ = try $0.devices.register(phone, of: bob.id, now: .at(1)) }
    #expect(try await claimed(except: Lane(of: phone)) == [])
    #expect(try await test.read { try $0.queue.nextDue(capacity: [former: 0]) } == .at(0))
    #expect(try await claimed(except: former) == [phone.id])
  }

  @Test func `a full lane does not delay other lanes`() async throws {
    let (slow, other) = (device("slow", .apns, app: "x"), device("other", .apns, app: "y"))
    try await prepare(slow, other)
    #expect(try await claimed(except: Lane(of: slow)) == [other.id])
    #expect(try await claimed(except: Lane(of: slow), Lane(of: other)) == [])
    #expect(try await claimed() == [slow.id])
  }

  @Test func `a claim takes at most the capacity of a lane`() async throws {
    let (one, two, other) = (device("1", .apns, app: "x"), device("2", .apns, app: "x"), device("3", .apns, app: "y"))
    try await prepare(one, two, device("4", .apns, app: "x"), other)
    let claimed = try await test.write {
      try $0.queue.claim(limit: 9, now: .at(99), leaseUntil: .at(999), capacity: [Lane(of: one): 2]).map(\.device.id)
    }
    #expect(claimed == [one.id, two.id, other.id])
  }

  @Test func `the next due time leaves out lanes without capacity`() async throws {
    let (slow, other) = (device("slow", .apns, app: "x"), device("other", .simulator))
    try await prepare(slow, other)
    try await test.write { try $0.digests.endWaits(now: .at(9)) }
    let due = try await test.read { reader in
      (
        try reader.queue.nextDue(capacity: [Lane(of: slow): 1]),
        try reader.queue.nextDue(capacity: [Lane(of: slow): 0]),
        try reader.queue.nextDue(capacity: [Lane(of: slow): 0, Lane(of: other): 0])
      )
    }
    #expect(due.0 == .at(0))
    #expect(due.1 == .at(1))
    #expect(due.2 == nil)
  }

  @Test func `a job that the gateway did not get uses no attempt`() async throws {
    let phone = device("phone", .apns, app: "x")
    try await prepare(phone)
    for wasTried in [false, true, false] {
      try await test.write { transaction in
        let claim = try #require(try transaction.queue.claim(limit: 1, now: .at(99), leaseUntil: .at(999)).first)
        try transaction.queue.retry(claim.id, due: .at(0), wasTried: wasTried)
      }
    }
    #expect(try await test.read { try $0.queue.jobs(limit: 1).first?.attempts } == 1)
  }

  @Test func `the environment and topic of a token are stored`() async throws {
    var phone = device("phone", .apns, app: "x")
    phone.environment = .sandbox
    phone.topic = "x.y"
    try await prepare(phone)
    #expect(try await test.read { try $0.people.user(bob.id)?.devices } == [phone.registered()])
  }
}
