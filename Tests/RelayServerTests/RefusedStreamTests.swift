// SPDX-License-Identifier: Apache-2.0
import Foundation
import Logging
import RelayDelivery
import RelayIdentity
import RelayProtocol
import RelayPush
import RelayStore
import Testing

@testable import RelayGateways
@testable import RelayHub
@testable import RelayServer

@Suite struct RefusedStreamTests {
  @Test func `a stream that the hub refuses leaves nothing behind`() async throws {
    let folder = FileManager.default.temporaryDirectory.path + "/stillwire-relay-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let thread = HubThread()
    let store = try Store(folder: folder) { completions in
      thread.perform { for completion in completions { completion() } }
    }
    let simulator = SimulatedGateway(now: Store.timeOfDay)
    let relay = try relay(thread, store, simulator)
    try await relay.start()
    // The hub refuses an exchange that has gone as it does one that something follows.
    await relay.answer(
      HTTPRequest(
        exchange: ExchangeHandle(rawValue: 1), method: "GET", path: "/v1/simulator/devices/phone/events", query: [],
        authorization: nil, user: nil, idempotencyKey: nil, ifMatch: nil, ifNoneMatch: nil, contentType: nil,
        acceptEncoding: nil, body: []))
    let errors = await relay.tally.errors
    #expect(errors.isEmpty)
    #expect(await relay.streams.isEmpty)
    #expect(simulator.listenerCounts.isEmpty)
    await relay.stopHub()
    store.close()
    thread.end()
  }

  private func relay(_ thread: HubThread, _ store: Store, _ simulator: SimulatedGateway) throws -> Relay {
    let limits = Limits()
    let policy = DeliveryPolicy()
    let log = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    let hub = try Hub(
      HubConfiguration(
        address: "127.0.0.1", port: 0, subprotocol: "stillwire.v1.json", path: "/v1/connect", origins: [],
        requests: Relay.requests, hostRule: .loopback, limits: limits, grace: policy.grace),
      thread: thread
    ) { _, _ in }
    return Relay(
      hub: hub, store: store,
      settings: Relay.Settings(
        authentication: .open, apiKeys: APIKeys(), identityGrace: .zero, limits: limits, policy: policy,
        rooms: RoomPatterns(), isMetricsOpen: false),
      simulator: simulator, site: Site(),
      worker: PushWorker(store: store, gateways: [:], now: Store.timeOfDay, log: log), log: log)
  }
}
