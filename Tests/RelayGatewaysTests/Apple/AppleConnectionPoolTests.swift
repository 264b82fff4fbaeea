// SPDX-License-Identifier: Apache-2.0
import AppleSimulator
import Logging
import NIOSSL
import RelayProtocol
import Testing

@testable import RelayGateways

/// Tests the pool over sockets with the simulator of Apple's service.
@Suite struct AppleConnectionPoolTests {
  private func makePool(_ simulator: AppleSimulator) throws -> AppleConnectionPool {
    var configuration = TLSConfiguration.makeClientConfiguration()
    configuration.applicationProtocols = ["h2"]
    configuration.trustRoots = .certificates(try NIOSSLCertificate.fromPEMBytes(Array(simulator.certificates.utf8)))
    let clock = GatewayClock(wall: { Timestamp(rawValue: 1_700_000_000_000) })
    var settings = PoolSettings.apple(tls: try NIOSSLContext(configuration: configuration), clock: clock)
    settings.timeout = .seconds(3)
    return AppleConnectionPool(
      settings: settings,
      authorize: { ProviderTokens.Token(text: "none", made: .now, issued: Timestamp(rawValue: 0)) },
      log: Logger(label: "test"))
  }

  private func destination(_ simulator: AppleSimulator) -> HTTPDestination {
    HTTPDestination(isSecure: true, host: "localhost", port: simulator.port)
  }

  private static let request = AppleRequest(
    deviceToken: String(repeating: "ab", count: 32), fields: [], payload: Array("{}".utf8))

  /// `localhost` may have several addresses, and no server listens on some of them.
  @Test func `a closed pool and its connections are freed`() async throws {
    let simulator = try await AppleSimulator.start()
    weak var remembered: AppleConnectionPool?
    do {
      let pool = try makePool(simulator)
      remembered = pool
      for _ in 0..<3 {
        guard case .answered(let reply) = await pool.send(Self.request, to: destination(simulator)) else {
          Issue.record("no answer")
          break
        }
        #expect(reply.answer.status == 403)
      }
      #expect(pool.currentLoad.connections == 1)
      pool.close()
    }
    while remembered != nil { try await Task.sleep(for: .milliseconds(5)) }
    try await simulator.stop()
  }

  @Test(arguments: [(-1, true), (0, true), (1, false)])
  func `an expired request is not sent`(_ milliseconds: Int64, _ isOver: Bool) async throws {
    let simulator = try await AppleSimulator.start()
    let pool = try makePool(simulator)
    var request = Self.request
    request.expires = Timestamp(rawValue: 1_700_000_000_000 + milliseconds)
    switch await pool.send(request, to: destination(simulator)) {
    case .unprocessed(.expired, _): #expect(isOver)
    case .answered: #expect(!isOver)
    case let result: Issue.record("\(result)")
    }
    pool.close()
    try await simulator.stop()
  }

  @Test func `a request fails when no server listens`() async throws {
    let simulator = try await AppleSimulator.start()
    let pool = try makePool(simulator)
    let destination = destination(simulator)
    try await simulator.stop()
    guard case .unprocessed(let reason, let cause) = await pool.send(Self.request, to: destination) else {
      Issue.record("it was sent")
      return
    }
    #expect(reason == .connectFailed && cause == "connection refused")
    pool.close()
  }
}
