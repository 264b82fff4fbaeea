// SPDX-License-Identifier: Apache-2.0
import Foundation
import GRDB
import RelayProtocol
import Synchronization
import Testing

@testable import RelayStore

/// The deletion of tokens that gateways refuse, and its limit.
@Suite final class ForgettingTests {
  private let folder = temporaryPath()
  private let clock: Clock
  private let store: Store

  private final class Clock: Sendable {
    let time = Mutex(Timestamp.at(0))
    var now: Timestamp { time.withLock { $0 } }
  }

  init() throws {
    let clock = Clock()
    self.clock = clock
    store = try Store(folder: folder, clock: StoreClock(now: { clock.now })) { for completion in $0 { completion() } }
  }

  deinit {
    store.close()
    try? FileManager.default.removeItem(atPath: folder)
  }

  private func pass(_ duration: Duration) { clock.time.withLock { $0 = $0 + duration } }

  /// Registers devices of an app, each with a token for calls.
  private func register(_ count: Int, of app: String? = "app") async throws {
    try await store.write { transaction in
      for number in 0..<count {
        let name = "\(app ?? "")-\(number)"
        try transaction.devices.register(
          Device(
            id: DeviceID(unchecked: name), app: app, platform: .apns, token: name, voipToken: "calls-\(name)"),
          of: bob.id, now: .at(-1))
      }
    }
  }

  /// Deletes tokens as if the gateway had refused them. Returns the number of deleted ones.
  private func forget(
    _ numbers: Range<Int>, of app: String? = "app", in scope: ForgettingScope = .app
  ) async throws -> Int {
    try await store.write { transaction in
      try numbers.count { number in
        try transaction.devices.forget(
          token: "\(app ?? "")-\(number)", platform: .apns, registeredBefore: .at(0), in: scope)
          == .forgotten(of: [bob.id])
      }
    }
  }

  private func pause(of app: String? = "app") async throws -> Duration? {
    try await store.write { try $0.devices.forgettingPause(of: app ?? "") }
  }

  @Test(arguments: [(30, 20), (399, 20), (420, 21), (1_000, 50)])
  func `the hourly limit is a twentieth of an app's devices, but at least 20`(devices: Int, max: Int) async throws {
    try await register(devices)
    #expect(try await forget(0..<max - 1) == max - 1)
    #expect(try await pause() == nil)
    #expect(try await forget(max - 1..<max + 9) == 1)
    #expect(try await pause() == .seconds(3_600))
    #expect(try await store.read { try $0.people.user(bob.id)?.devices.count } == devices - max)
  }

  @Test(arguments: [nil, "other"]) func `each app has its own limit`(other: String?) async throws {
    try await register(30)
    try await register(30, of: other)
    #expect(try await forget(0..<30) == 20)
    #expect(try await pause(of: other) == nil)
    #expect(try await forget(0..<30, of: other) == 20)
  }

  @Test func `without configured apps, many app names do not raise the limit`() async throws {
    for app in ["a", "b", "c"] { try await register(200, of: app) }
    try await register(1, of: nil)
    #expect(try await forget(0..<20, of: "a", in: .everything) == 20)
    #expect(try await forget(0..<20, of: "b", in: .everything) == 10)
    #expect(try await forget(0..<1, of: nil, in: .everything) == 0)
    // As soon as apps are configured, each app has its own limit.
    #expect(try await forget(0..<1, of: nil) == 1)
    #expect(try await forget(30..<50, of: "b") == 10)
  }

  @Test func `a kept token has the remaining time of the pause, and a known pause is not counted`() async throws {
    try await register(30)
    #expect(try await forget(0..<20) == 20)
    func refuse(_ token: String, pausedFor pause: Duration? = nil) async throws -> Forgetting {
      try await store.write { try $0.devices.forget(token: token, platform: .apns, pausedFor: pause) }
    }
    #expect(try await refuse("app-25") == .kept(for: .seconds(3_600)))
    #expect(try await refuse("app-25", pausedFor: .seconds(7)) == .kept(for: .seconds(7)))
    // A token that was deleted has no pause.
    #expect(try await refuse("app-0") == .none)
    #expect(try await refuse("app-0", pausedFor: .seconds(7)) == .none)
  }

  @Test func `the counts of the last hour are kept for all apps`() async throws {
    func rows() async throws -> Int? {
      try await store.write { transaction in
        try transaction.devices.purgeForgotten()
        return try transaction.db.first("SELECT count(*) FROM forgotten")?[0]
      }
    }
    for app in ["a", "b"] {
      try await register(3, of: app)
      #expect(try await forget(0..<3, of: app) == 3)
      pass(.seconds(1800))
    }
    #expect(try await rows() == 3)
    pass(.seconds(1800))
    #expect(try await rows() == 0)
  }

  @Test func `the hour is a sliding window`() async throws {
    try await register(50)
    #expect(try await forget(0..<10) == 10)
    pass(.seconds(1800))
    #expect(try await forget(10..<30) == 10)
    #expect(try await pause() == .seconds(1_800))
    pass(.seconds(1800))
    #expect(try await pause() == nil)
    #expect(try await forget(20..<40) == 10)
    #expect(try await pause() == .seconds(1_800))
  }

  @Test func `tokens for calls count as well`() async throws {
    try await register(30)
    #expect(try await forget(0..<20) == 20)
    let forgotten = try await store.write {
      try $0.devices.forget(voipToken: "calls-app-25", platform: .apns, registeredBefore: .at(0))
    }
    #expect(forgotten == .kept(for: .seconds(3_600)))
  }

  @Test func `a deletion by the user does not count`() async throws {
    try await register(30)
    try await store.write { transaction in
      for number in 0..<25 { try transaction.devices.forget(DeviceID(unchecked: "app-\(number)"), of: bob.id) }
    }
    #expect(try await pause() == nil)
  }

  @Test func `an unknown token does not count`() async throws {
    #expect(try await forget(0..<30) == 0)
    #expect(try await pause() == nil)
  }
}
