// SPDX-License-Identifier: Apache-2.0
import Foundation
import Logging
import RelayDelivery
import RelayJSON
import RelayProtocol
import Testing

@testable import RelayGateways

/// Tests the path from a push to the answer of a push gateway.
@Suite struct MatrixGatewaySendTests {
  private let time = SteppedClock()
  private let service: TestService
  private let gateway: MatrixGateway
  private static let taken = HTTPAnswer(status: 200, body: Array(#"{"rejected":[]}"#.utf8))
  private static let signature = MatrixGateway.signatureName.lowercased()
  private static let device = Device(id: .default, app: "app", platform: .http, token: "key")

  init() async throws {
    service = try await TestService.start(isSecure: false) { _ in Self.taken }
    gateway = try MatrixGateway(clock: time.clock, log: Logger(label: "test"))
    gateway.serve([try app()])
  }

  private func app(secret: String? = nil) throws -> MatrixApp {
    let endpoint = try #require(HTTPEndpoint("http://127.0.0.1:\(service.port)/notify?v=1"))
    return MatrixApp(name: "app", topics: ["topic"], endpoint: endpoint, secret: secret.map { Array($0.utf8) })
  }

  private func send(noting log: AttemptLog = AttemptLog()) async -> PushOutcome {
    await gateway.send(PhonePush.message(), to: Self.device, noting: log)
  }

  @Test func `a push is posted to the URL of the app's gateway, and signed`() async throws {
    gateway.serve([try app(secret: "secret")])
    let log = AttemptLog()
    #expect(await send(noting: log) == .sent(.accepted))
    let request = try #require(service.requests.first)
    #expect(request.path == "/notify?v=1" && request.headers["content-type"] == "application/json")
    #expect(request.headers[Self.signature] == (try app(secret: "secret").signature(of: request.body)))
    let json = try #require(JSON(reading: request.body)?["notification"])
    #expect(json["event_id"]?.text == "$tea/1" && json["content"]?["body"]?.text == "hi")
    #expect(log.attempts.map(\.status) == [200])
    #expect(gateway.statistics.pushes.accepted == 1)
  }

  @Test func `without a secret a request has no signature`() async throws {
    #expect(await send() == .sent(.accepted))
    #expect(service.requests.map { $0.headers[Self.signature] } == [nil])
  }

  @Test func `the answer determines the outcome`() async throws {
    service.answer { _ in HTTPAnswer(status: 200, body: Array(#"{"rejected":["key"]}"#.utf8)) }
    #expect(await send() == .forgetDevice(.unregistered))
    service.answer { _ in HTTPAnswer(status: 503, retryAfter: .seconds(7)) }
    #expect(await send() == .retry(after: .seconds(7), .serviceUnavailable))
    #expect(gateway.statistics.pushes.refused == [.unregistered: 1, .serviceUnavailable: 1])
  }

  @Test func `a device whose app has no gateway is not reached`() async throws {
    var other = Self.device
    other.app = "other"
    for device in [other, Device(id: .default, platform: .http, token: "key")] {
      #expect(await gateway.send(PhonePush.message(), to: device) == .dead(.noCredential))
    }
    #expect(service.requests.isEmpty)
  }

  @Test(arguments: [(401, GatewayReason.forbidden), (404, .badPath)])
  func `a gateway that refuses an app is paused, and then tried again`(_ status: Int, _ reason: GatewayReason)
    async throws
  {
    service.answer { _ in HTTPAnswer(status: status) }
    #expect(await send() == .paused(CredentialPause.minLength + CredentialPause.stepBack, reason))
    #expect(await send() == .paused(CredentialPause.minLength, reason))
    #expect(service.requests.count == 1)
    #expect(gateway.statistics.paused == [PausedMatrixApp(app: "app", reason: reason)])
    time.pass(CredentialPause.minLength)
    #expect(await send() == .paused(CredentialPause.minLength * 2 + CredentialPause.stepBack, reason))
    time.pass(CredentialPause.minLength * 2)
    service.answer { _ in Self.taken }
    #expect(await send() == .sent(.accepted))
    #expect(gateway.statistics.paused.isEmpty)
  }

  @Test func `a changed secret ends the pause, and an unchanged secret does not`() async throws {
    service.answer { _ in HTTPAnswer(status: 403) }
    #expect(await send().reason == .forbidden)
    gateway.serve([try app()])
    #expect(gateway.statistics.paused.count == 1)
    gateway.serve([try app(secret: "secret")])
    #expect(gateway.statistics.paused.isEmpty)
    service.answer { _ in Self.taken }
    #expect(await send() == .sent(.accepted))
  }
}
