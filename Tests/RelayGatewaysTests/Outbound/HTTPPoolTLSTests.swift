// SPDX-License-Identifier: Apache-2.0
import RelayProtocol
import Testing

@testable import RelayGateways

/// Tests requests of a pool over TLS.
@Suite struct HTTPPoolTLSTests {
  private func result(
    at host: String, of service: TestService, trusting file: String?, timeout: Duration = .seconds(10)
  ) async throws -> HTTPResult {
    var settings = PoolSettings(
      tls: try .client(trusting: file), clock: GatewayClock(wall: { Timestamp(rawValue: 0) }))
    settings.timeout = timeout
    let pool = HTTPPool(settings: settings)
    defer { pool.close() }
    return await pool.send(
      OutboundRequest(
        destination: HTTPDestination(isSecure: true, host: host, port: service.port), path: "/a?b", fields: [],
        body: [1, 2]))
  }

  @Test(arguments: ["localhost", "127.0.0.1"])
  func `a request is sent to a server with a trusted certificate`(_ host: String) async throws {
    let service = try await TestService.start(isSecure: true) { _ in HTTPAnswer(status: 201) }
    #expect(
      try await result(at: host, of: service, trusting: service.certificates) == .answered(HTTPAnswer(status: 201)))
    #expect(service.requests.map(\.path) == ["/a?b"] && service.requests.map(\.body) == [[1, 2]])
    #expect(service.requests[0].headers["host"] == "\(host):\(service.port)")
  }

  @Test func `a server without a trusted certificate receives no request`() async throws {
    let service = try await TestService.start(isSecure: true) { _ in HTTPAnswer(status: 201) }
    let untrusted = HTTPResult.unprocessed(
      .connectFailed, cause: "this machine does not trust the certificate of the server (CERTIFICATE_VERIFY_FAILED)")
    #expect(try await result(at: "localhost", of: service, trusting: nil) == untrusted)
    // The trusted certificate belongs to another server.
    let other = try await TestService.start(isSecure: true) { _ in nil }
    #expect(try await result(at: "localhost", of: service, trusting: other.certificates) == untrusted)
    #expect(service.requests.isEmpty)
  }

  @Test func `a server without TLS receives no request`() async throws {
    let service = try await TestService.start(isSecure: false) { _ in HTTPAnswer(status: 201) }
    guard case .unprocessed = try await result(at: "localhost", of: service, trusting: nil, timeout: .seconds(1)) else {
      Issue.record("something was sent")
      return
    }
    #expect(service.requests.isEmpty)
  }
}
