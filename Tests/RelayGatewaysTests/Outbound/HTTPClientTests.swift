// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import RelayGateways

@Suite struct HTTPClientTests {
  private func client(_ service: TestService) throws -> HTTPClient {
    try #require(HTTPClient(url: "http://127.0.0.1:\(service.port)/relay/"))
  }

  @Test(arguments: ["GET", "POST"])
  func `the client returns status and body as they are`(_ method: String) async throws {
    let service = try await TestService.start(isSecure: false) { _ in
      HTTPAnswer(status: 404, body: Array("gone".utf8))
    }
    let answer = try await client(service).send(
      method, "/v1/pushes?limit=1", fields: [(name: "Authorization", value: "Bearer key")])
    #expect(answer.status == 404 && answer.body == Array("gone".utf8))
    let request = try #require(service.requests.first)
    #expect(request.path == "/relay/v1/pushes?limit=1")
    #expect(request.headers["authorization"] == "Bearer key")
    #expect(request.headers["content-length"] == (method == "POST" ? "0" : nil))
  }

  @Test func `an answer may be larger than the limit for push services`() async throws {
    let body = [UInt8](repeating: 0x20, count: 1 << 20)
    let service = try await TestService.start(isSecure: false) { _ in HTTPAnswer(status: 200, body: body) }
    #expect(try await client(service).send("GET", "/").body == body)
  }

  @Test func `an answer above the limit is an error`() async throws {
    let body = [UInt8](repeating: 0x20, count: HTTPClient.maxAnswer + 1)
    let service = try await TestService.start(isSecure: false) { _ in HTTPAnswer(status: 200, body: body) }
    let failure = await #expect(throws: HTTPClient.Failure.self) { try await client(service).send("GET", "/") }
    #expect(failure?.description.contains("more than 16777216 bytes") == true)
  }

  @Test func `a server that does not answer is an error after the timeout`() async throws {
    let service = try await TestService.start(isSecure: false) { _ in nil }
    let failure = await #expect(throws: HTTPClient.Failure.self) {
      try await client(service).send("GET", "/", timeout: .milliseconds(200))
    }
    #expect(failure?.description == "no answer in time")
  }

  @Test func `connections stay open between requests`() async throws {
    let service = try await TestService.start(isSecure: false) { HTTPAnswer(status: 200, body: $0.body) }
    let connections = try client(service).connections(atMost: 2, timeout: .seconds(30))
    defer { connections.close() }
    for round in 0..<10 {
      let body = Array("round \(round)".utf8)
      let answer = try await connections.send("POST", "/v1/decisions", body: body)
      #expect(answer.status == 200 && answer.body == body)
    }
    #expect(service.requests.map(\.path) == Array(repeating: "/relay/v1/decisions", count: 10))
    // A request may begin before the pool has the connection of the last one back.
    #expect(Set(service.requests.map(\.clientPort)).count <= 2)
  }

  @Test func `no more connections open than the maximum`() async throws {
    let service = try await TestService.start(isSecure: false) { _ in HTTPAnswer(status: 200) }
    var settings = try HTTPClient.settings(atMost: 2, timeout: .seconds(3600))
    // On a busy machine, a connection may be idle for long, and would be replaced.
    settings.idle = .seconds(3600)
    let base = try #require(HTTPEndpoint("http://127.0.0.1:\(service.port)"))
    let connections = HTTPClient.Connections(to: base, settings)
    defer { connections.close() }
    try await withThrowingTaskGroup { group in
      for _ in 0..<2 { group.addTask { for _ in 0..<50 { _ = try await connections.send("GET", "/") } } }
      try await group.waitForAll()
    }
    #expect(service.requests.count == 100)
    #expect(Set(service.requests.map(\.clientPort)).count <= 2)
  }

  @Test func `a failed connection gives its reason`() async throws {
    let client = try #require(HTTPClient(url: "http://127.0.0.1:9"))
    let failure = await #expect(throws: HTTPClient.Failure.self) { try await client.send("GET", "/") }
    #expect(failure?.description == "connection refused")
  }

  @Test func `an untrusted certificate gives its reason`() async throws {
    let service = try await TestService.start(isSecure: true) { _ in HTTPAnswer(status: 200) }
    let client = try #require(HTTPClient(url: "https://localhost:\(service.port)"))
    let failure = await #expect(throws: HTTPClient.Failure.self) { try await client.send("GET", "/") }
    #expect(
      failure?.description == "this machine does not trust the certificate of the server (CERTIFICATE_VERIFY_FAILED)")
    #expect(service.requests.isEmpty)
  }

  @Test func `an unknown host and a server without TLS give their reasons`() async throws {
    let unknown = try #require(HTTPClient(url: "http://host.invalid"))
    let lookup = await #expect(throws: HTTPClient.Failure.self) { try await unknown.send("GET", "/") }
    #expect(lookup?.description.hasPrefix("the host host.invalid is not known: ") == true)
    #expect(lookup?.description.contains("Error") == false)
    let service = try await TestService.start(isSecure: false) { _ in HTTPAnswer(status: 200) }
    let secure = try #require(HTTPClient(url: "https://127.0.0.1:\(service.port)"))
    let handshake = await #expect(throws: HTTPClient.Failure.self) { try await secure.send("GET", "/") }
    #expect(handshake?.description.hasPrefix("the server does not use TLS (") == true)
  }

  @Test(arguments: ["", "127.0.0.1:80", "ftp://a", "http://a/?b", "http://a/#b", "http://u:p@a"])
  func `a text that is not the URL of a server is refused`(_ url: String) {
    #expect(HTTPClient(url: url) == nil)
  }
}
