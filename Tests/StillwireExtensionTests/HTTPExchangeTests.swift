// SPDX-License-Identifier: Apache-2.0
// Tests the limits of HTTP answers, redirects, and the requests of reporters with a report key.
import Foundation
import RelayProtocol
import Testing

@testable import StillwireExtension

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

@Suite(.timeLimit(.minutes(15))) struct HTTPExchangeTests {
  private func answer(
    of server: TestServer, maxSize: Int = 100_000, redirects: HTTPRedirects = .none
  ) async throws -> HTTPAnswer {
    let request = URLRequest(url: try #require(URL(string: "http://127.0.0.1:\(server.port)/picture")))
    return try await HTTPExchange.answer(
      to: request, patience: .seconds(60), maxSize: maxSize, redirects: redirects)
  }

  @Test func `an answer that states a size above the limit is refused before its body arrives`() async throws {
    // The body never arrives, so that only the stated size can end the request.
    let server = try TestServer("HTTP/1.1 200 OK\r\nContent-Length: 10000000\r\n\r\n", body: Data(count: 10))
    let error = await #expect(throws: StillwireError.self) { try await answer(of: server) }
    #expect(error?.code == .refused(.tooLarge))
  }

  @Test func `an answer of unknown size is refused when it exceeds the limit`() async throws {
    let server = try TestServer(
      "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n", body: Data(count: 100_000), repeats: 100)
    let error = await #expect(throws: StillwireError.self) { try await answer(of: server) }
    #expect(error?.code == .refused(.tooLarge))
  }

  @Test func `an answer of exactly the limit is accepted`() async throws {
    let server = try TestServer("HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n", body: Data(count: 100_000))
    #expect(try await answer(of: server).body.count == 100_000)
  }

  @Test(arguments: [HTTPRedirects.none, .secure]) func `a redirect without TLS is not followed`(
    _ redirects: HTTPRedirects
  ) async throws {
    let target = try TestServer("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
    let server = try TestServer(
      "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:\(target.port)/\r\nContent-Length: 0\r\n\r\n")
    #expect(try await answer(of: server, redirects: redirects).status == 302)
    #expect(target.received.isEmpty)
  }

  @Test func `reports, receipts and responses authenticate with the report key`() async throws {
    let server = try TestServer(
      "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 16\r\nConnection: close\r\n\r\n",
      body: Data(#"{"applied":true}"#.utf8))
    let address = try #require(RelayAddress("http://127.0.0.1:\(server.port)"))
    let file = FileManager.default.temporaryDirectory.appending(path: "number-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: file) }
    let key: @Sendable () async throws -> Identity = { .reportKey("swr_key") }
    let filter = FilterReporter(address, device: "phone", numberFile: file, patience: .seconds(60), as: key)
    try await filter.report(allowing: ["work", "home", "work"])
    try await filter.report(allowing: nil)
    let focus = FocusReporter(address, device: "phone", numberFile: file, patience: .seconds(60), as: key)
    try await focus.report(isFocused: true)
    let api = RelayAPI(address, patience: .seconds(60), as: key)
    let id = "dd03c85b-fe98-48f9-98b0-2da51fbeeed8"
    try await api.received(id)
    try await api.respond(NotificationResponse(notification: id, action: "reply", text: "Yes", key: "k"))

    let requests = server.received
    #expect(
      requests.map { $0.prefix { $0 != "\r\n" } } == [
        "PUT /v1/users/me/filter HTTP/1.1", "PUT /v1/users/me/filter HTTP/1.1", "PUT /v1/users/me/focus HTTP/1.1",
        "POST /v1/notifications/\(id)/received HTTP/1.1", "POST /v1/notifications/\(id)/responses HTTP/1.1",
      ])
    #expect(requests.allSatisfy { $0.contains("Authorization: Bearer swr_key\r\n") })
    #expect(requests[0].contains(#"{"active":true,"allow":["home","work"],"device":"phone","number":"#))
    #expect(requests[1].contains(#"{"active":false,"device":"phone","number":"#))
    #expect(requests[4].hasSuffix(#"{"action":"reply","text":"Yes","key":"k"}"#))
  }

  @Test func `a request begins with the node that has answered the last one`() async throws {
    let standby = try TestServer(
      "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
    let leader = try TestServer("HTTP/1.1 204 No Content\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
    let nodes = try [standby, leader].map { try #require(RelayAddress("http://127.0.0.1:\($0.port)")) }
    let api = RelayAPI(nodes, patience: .seconds(60)) { .reportKey("swr_key") }
    for _ in 1...3 { try await api.received("dd03c85b-fe98-48f9-98b0-2da51fbeeed8") }
    #expect(standby.received.count == 1)
    #expect(leader.received.count == 3)
  }

  @Test func `a report is sent with the time as its number while the file is locked`() async throws {
    let server = try TestServer(
      "HTTP/1.1 200 OK\r\nContent-Length: 16\r\nConnection: close\r\n\r\n", body: Data(#"{"applied":true}"#.utf8))
    let address = try #require(RelayAddress("http://127.0.0.1:\(server.port)"))
    let file = FileManager.default.temporaryDirectory.appending(path: "number-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: file) }
    // Another process holds the lock.
    let descriptor = open(file.path, O_RDWR | O_CREAT, 0o600)
    #expect(flock(descriptor, LOCK_EX) == 0)
    defer { close(descriptor) }
    let before = Int64(Date().timeIntervalSince1970 * 1_000)
    let focus = FocusReporter(address, numberFile: file, patience: .seconds(60)) { .reportKey("swr_key") }
    _ = try await focus.report(isFocused: true)
    let text = try #require(server.received.first?.firstMatch(of: /"number":(\d+)/)?.1)
    #expect(try #require(Int64(text)) >= before)
  }

  @Test func `a filter has a bounded number of bounded labels`() async throws {
    let address = try #require(RelayAddress("http://127.0.0.1:1"))
    let reporter = FilterReporter(address, numberFile: URL(filePath: "/nowhere/number")) { .reportKey("swr_key") }
    for labels in [(0...64).map(String.init), [String(repeating: "x", count: 129)]] {
      let error = await #expect(throws: StillwireError.self) { try await reporter.report(allowing: labels) }
      #expect(error?.code == .refused(.badRequest))
    }
    // The largest allowed report reaches the network, where no relay answers.
    let largest = (0..<64).map { String($0) + String(repeating: "x", count: 126) }
    let error = await #expect(throws: StillwireError.self) { try await reporter.report(allowing: largest) }
    #expect(error?.code == .unreachable)
  }
}
