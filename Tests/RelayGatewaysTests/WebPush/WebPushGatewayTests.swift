// SPDX-License-Identifier: Apache-2.0
import Crypto
import Foundation
import Logging
import RelayDelivery
import RelayProtocol
import Testing

@testable import RelayGateways

/// Tests the path from a push to the answer of a push service, over TLS.
@Suite struct WebPushGatewayTests {
  private let time = SteppedClock()
  private let service: TestService
  private let gateway: WebPushGateway
  private let services: PushServices

  init() async throws {
    service = try await TestService.start(isSecure: true) { _ in HTTPAnswer(status: 201) }
    let loopback = try ["127.0.0.0/8", "::1"].map { try #require(AddressRange($0)) }
    gateway = try WebPushGateway(
      WebPushService(allowedAddresses: loopback, caFile: service.certificates), clock: time.clock,
      log: Logger(label: "test"))
    var services = PushServices()
    let isAllowed = services.allow("localhost:\(service.port)")
    #expect(isAllowed)
    self.services = services
    gateway.serve(try Self.key(), to: services)
  }

  private static func key() throws -> VAPIDKey {
    try VAPIDKey(pem: VAPIDKey.makePEM(), subject: "mailto:ops@example.org")
  }

  private func device(_ endpoint: String? = nil) throws -> Device {
    var services = services
    let isAllowed = services.allow("elsewhere.test")
    #expect(isAllowed)
    let subscription = try WebPushSubscription(
      endpoint: endpoint ?? "https://localhost:\(service.port)/push/secret/\(UInt64.random(in: 0...UInt64.max))",
      publicKey: P256.KeyAgreement.PrivateKey().publicKey.x963Representation.base64URL,
      authentication: Data.random(16).base64URL, services: services)
    return Device(id: .default, platform: .webpush, token: subscription.token)
  }

  private func send(_ text: String = "hi", log: AttemptLog = AttemptLog()) async throws -> PushOutcome {
    await send(text, to: try device(), log: log)
  }

  private func send(_ text: String = "hi", to device: Device, log: AttemptLog = AttemptLog()) async -> PushOutcome {
    await gateway.send(push(payload: #"{"aps":{"alert":"\#(text)"}}"#), .normal, to: device, noting: log)
  }

  @Test func `a request has the form of RFC 8030, 8291 and 8292`() async throws {
    let log = AttemptLog()
    #expect(try await send(log: log) == .sent(.accepted))
    let request = try #require(service.requests.first)
    #expect(request.path.hasPrefix("/push/secret/"))
    #expect(request.headers["ttl"] == "2419200")
    #expect(request.headers["urgency"] == "normal" && request.headers["topic"]?.count == 32)
    #expect(request.headers["content-encoding"] == "aes128gcm")
    #expect(request.headers["authorization"]?.hasPrefix("vapid t=") == true)
    // The salt, the record size and the sender's key precede the encrypted text.
    let overhead = 16 + 4 + 1 + SubscriptionKeys.publicKeySize + ContentKey.recordOverhead
    #expect(request.body.count == overhead + #"{"aps":{"alert":"hi"},"tag":"room/1"}"#.utf8.count)
    #expect(log.attempts.map(\.status) == [201])
    #expect(gateway.statistics.pushes.accepted == 1)
  }

  @Test(arguments: [
    (200, PushOutcome.sent(.accepted)), (400, .dead(.other)), (302, .dead(.redirected)),
    (404, .forgetDevice(.unregistered)), (410, .forgetDevice(.unregistered)), (413, .tooLarge(.payloadTooLarge)),
    (429, .retry(after: .seconds(7), .tooManyRequests)), (503, .retry(after: .seconds(7), .serviceUnavailable)),
  ])
  func `each status has one outcome`(_ status: Int, _ outcome: PushOutcome) async throws {
    service.answer { _ in HTTPAnswer(status: status, retryAfter: .seconds(7)) }
    #expect(try await send() == outcome)
    #expect(gateway.statistics.pushes.refused.values.reduce(0, +) == (outcome.reason == nil ? 0 : 1))
  }

  /// Pauses the service: it refuses three devices. `refused` is the number of devices that it refused already.
  private func pause(refused: Int = 0) async throws {
    service.answer { _ in HTTPAnswer(status: 403) }
    for _ in refused + 1..<ServiceStanding.minDevices {
      #expect(try await send() == .retry(after: CredentialPause.minLength, .forbidden))
    }
    #expect(try await send() == .paused(CredentialPause.minLength + CredentialPause.stepBack, .forbidden))
  }

  @Test func `a service that refuses several devices is paused, and then tried again`() async throws {
    let device = try device()
    service.answer { _ in HTTPAnswer(status: 403) }
    #expect(await send(to: device) == .retry(after: CredentialPause.minLength, .forbidden))
    try await pause(refused: 1)
    #expect(await send(to: device) == .paused(CredentialPause.minLength, .forbidden))
    #expect(service.requests.count == ServiceStanding.minDevices)
    let origin = "https://localhost:\(service.port)"
    #expect(gateway.statistics.paused == [PausedService(origin: origin, reason: .forbidden)])
    time.pass(CredentialPause.minLength)
    service.answer { _ in HTTPAnswer(status: 201) }
    #expect(await send(to: device) == .sent(.accepted))
    #expect(gateway.statistics.paused.isEmpty)
  }

  @Test func `one subscription with another key delays no other device`() async throws {
    let strange = try device()
    for _ in 0..<10 {
      service.answer { _ in HTTPAnswer(status: 403) }
      #expect(await send(to: strange) == .retry(after: CredentialPause.minLength, .forbidden))
    }
    #expect(gateway.statistics.paused.isEmpty)
    service.answer { _ in HTTPAnswer(status: 201) }
    #expect(try await send() == .sent(.accepted))
    service.answer { _ in HTTPAnswer(status: 403) }
    #expect(await send(to: strange) == .dead(.forbidden))
  }

  @Test func `several keys for one endpoint count as one device`() async throws {
    service.answer { _ in HTTPAnswer(status: 403) }
    let endpoint = "https://localhost:\(service.port)/push/one"
    for _ in 0..<2 * ServiceStanding.minDevices {
      #expect(await send(to: try device(endpoint)) == .retry(after: CredentialPause.minLength, .forbidden))
    }
    #expect(gateway.statistics.paused.isEmpty)
  }

  @Test func `a changed key ends the pause`() async throws {
    try await pause()
    gateway.serve(try Self.key(), to: services)
    service.answer { _ in HTTPAnswer(status: 201) }
    #expect(try await send() == .sent(.accepted))
  }

  @Test func `a refusal soon after an accepted push concerns one subscription`() async throws {
    #expect(try await send() == .sent(.accepted))
    service.answer { _ in HTTPAnswer(status: 403) }
    #expect(try await send() == .dead(.forbidden))
    #expect(gateway.statistics.paused.isEmpty)
    time.pass(ServiceStanding.trust)
    try await pause()
    #expect(gateway.statistics.paused.count == 1)
  }

  @Test func `invalid pushes are not sent`() async throws {
    let maxSize = WebPushGateway.maxPayload
    #expect(
      try await send(String(repeating: "x", count: maxSize)) == .tooLarge(.payloadTooLarge, maxSize: maxSize))
    let hidden = push(payload: #"{"aps":{"content-available":1}}"#)
    #expect(await gateway.send(hidden, nil, to: try device()) == .dead(.invalidPushType))
    let strange = try device("https://elsewhere.test/a")
    #expect(
      await gateway.send(push(payload: #"{"aps":{"alert":"hi"}}"#), .normal, to: strange) == .dead(.badSubscription))
    gateway.serve(nil, to: services)
    #expect(try await send() == .dead(.noCredential))
    #expect(service.requests.isEmpty)
  }

  @Test func `the largest push fits with its tag`() async throws {
    let frame = #"{"aps":{"alert":""}}"#.utf8.count
    let largest = push(
      collapse: String(repeating: "c", count: PushHeaders.maxCollapseID),
      payload: #"{"aps":{"alert":"\#(String(repeating: "x", count: WebPushGateway.maxPayload - frame))"}}"#)
    #expect(await gateway.send(largest, .normal, to: try device()) == .sent(.accepted))
    #expect(service.requests.map(\.body.count) == [4096])
  }

  @Test func `an endpoint with a private address is not reached`() async throws {
    let walled = try WebPushGateway(
      WebPushService(caFile: service.certificates), clock: time.clock, log: Logger(label: "test"))
    walled.serve(try Self.key(), to: services)
    let outcome = await walled.send(push(payload: #"{"aps":{"alert":"hi"}}"#), .normal, to: try device())
    #expect(outcome == .retry(after: nil, .addressRefused))
    #expect(service.requests.isEmpty)
  }
}
