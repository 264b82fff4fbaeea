// SPDX-License-Identifier: Apache-2.0
import NIOConcurrencyHelpers
import NIOCore
import NIOPosix
import NIOSSL
import RelayProtocol
import Testing

@testable import RelayGateways

@Suite struct HTTPPoolTests {
  private func pool(_ policy: AddressPolicy? = nil, timeout: Duration = .seconds(10)) throws -> HTTPPool {
    var settings = PoolSettings(
      tls: try .client(trusting: nil), clock: GatewayClock(wall: { Timestamp(rawValue: 0) }), policy: policy)
    settings.timeout = timeout
    // On a busy machine, the time between two requests may exceed the default idle time.
    settings.idle = .seconds(3600)
    return HTTPPool(settings: settings)
  }

  private func post(_ port: Int, host: String = "localhost") -> OutboundRequest {
    OutboundRequest(
      destination: HTTPDestination(isSecure: false, host: host, port: port), path: "/", fields: [], body: [1, 2, 3])
  }

  /// Returns the result of a request to a service that answers with `words`.
  private func result(of words: String, timeout: Duration = .seconds(10)) async throws -> HTTPResult {
    let service = try await listen(saying: words)
    let pool = try pool(timeout: timeout)
    let result = await pool.send(post(service.port))
    pool.close()
    try await service.close()
    return result
  }

  @Test func `an answer is parsed`() async throws {
    let result = try await result(of: "HTTP/1.1 503 No\r\nRetry-After: 7\r\nContent-Length: 2\r\n\r\nno")
    #expect(result == .answered(HTTPAnswer(status: 503, retryAfter: .seconds(7), body: [110, 111])))
  }

  /// The relay's clock is at 0.
  @Test(arguments: [("Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n", 60), ("", 784_111_837), ("Date: now\r\n", 784_111_837)])
  func `a date in Retry-After is compared with the date of the answer`(_ date: String, _ seconds: Int) async throws {
    let result = try await result(
      of: "HTTP/1.1 503 No\r\n\(date)Retry-After: Sun, 06 Nov 1994 08:50:37 GMT\r\nContent-Length: 0\r\n\r\n")
    #expect(result == .answered(HTTPAnswer(status: 503, retryAfter: .seconds(seconds))))
  }

  @Test func `a connection serves one request after the other`() async throws {
    let service = try await listen(saying: "HTTP/1.1 201 Made\r\nContent-Length: 0\r\n\r\n")
    let pool = try pool()
    for _ in 0..<3 { #expect(await pool.send(post(service.port)) == .answered(HTTPAnswer(status: 201))) }
    #expect(service.accepted == 1)
    pool.close()
    try await service.close()
  }

  @Test(arguments: [
    (Int64(-1), HTTPResult.unprocessed(.expired)), (0, .unprocessed(.expired)), (1, .answered(HTTPAnswer(status: 201))),
  ])
  func `an expired request is not sent`(_ expires: Int64, _ result: HTTPResult) async throws {
    let service = try await listen(saying: "HTTP/1.1 201 Made\r\nContent-Length: 0\r\n\r\n")
    let pool = try pool()
    var late = post(service.port)
    late.expires = Timestamp(rawValue: expires)
    #expect(await pool.send(late) == result)
    // The next request can use the connection.
    #expect(await pool.send(post(service.port)) == .answered(HTTPAnswer(status: 201)))
    #expect(service.accepted == 1)
    pool.close()
    try await service.close()
  }

  @Test func `a redirect is returned, not followed`() async throws {
    let result = try await result(
      of: "HTTP/1.1 307 There\r\nLocation: http://127.0.0.1:9/\r\nContent-Length: 0\r\n\r\n")
    #expect(result == .answered(HTTPAnswer(status: 307)))
  }

  @Test func `an answer with too large a body has a status and no body`() async throws {
    let words = "HTTP/1.1 201 Made\r\nContent-Length: 99999999\r\n\r\n" + String(repeating: "x", count: 1 << 17)
    #expect(try await result(of: words) == .answered(HTTPAnswer(status: 201, body: nil)))
  }

  @Test func `an answer that does not end in time has a status and no body`() async throws {
    let result = try await result(of: "HTTP/1.1 410 Gone\r\nContent-Length: 5\r\n\r\nx", timeout: .seconds(3))
    #expect(result == .answered(HTTPAnswer(status: 410, body: nil)))
  }

  @Test(arguments: ["", "HTTP/1.1 100 Continue\r\n\r\n"])
  func `a request ends after the timeout without an answer`(_ words: String) async throws {
    #expect(try await result(of: words, timeout: .milliseconds(300)) == .unknown(.timeout))
  }

  @Test(arguments: ["What?\r\n\r\n", "HTTP/1.1 abc\r\n\r\n"])
  func `an invalid answer leaves the result unknown`(_ words: String) async throws {
    #expect(try await result(of: words) == .unknown(.connectionLost))
  }

  @Test func `endless headers leave the result unknown`() async throws {
    let words = "HTTP/1.1 201 Made\r\n" + String(repeating: "X-Y: z\r\n", count: 1 << 15)
    #expect(try await result(of: words) == .unknown(.connectionLost))
  }

  @Test func `a request fails to connect when no server listens`() async throws {
    let service = try await listen(saying: "")
    try await service.close()
    #expect(try await pool().send(post(service.port)) == .unprocessed(.connectFailed, cause: "connection refused"))
  }

  @Test func `a request to an unknown host fails to connect`() async throws {
    guard
      case .unprocessed(.connectFailed, let cause?) = try await pool(AddressPolicy()).send(
        post(443, host: "stillwire.invalid"))
    else {
      Issue.record("it did not fail to connect")
      return
    }
    #expect(cause.contains("stillwire.invalid is not known"))
  }

  /// A server listens at the address, but receives no connection.
  @Test(arguments: ["localhost", "127.0.0.1"])
  func `the pool does not connect to an address that the policy forbids`(_ host: String) async throws {
    let service = try await listen(saying: "HTTP/1.1 201 Made\r\nContent-Length: 0\r\n\r\n")
    guard
      case .unprocessed(.addressRefused, _) = try await pool(AddressPolicy()).send(post(service.port, host: host))
    else {
      Issue.record("it was not refused")
      return
    }
    #expect(service.accepted == 0)
    let loopback = try ["127.0.0.0/8", "::1"].map { try #require(AddressRange($0)) }
    let result = try await pool(AddressPolicy(allowed: loopback)).send(post(service.port, host: host))
    #expect(result == .answered(HTTPAnswer(status: 201)))
    try await service.close()
  }

  @Test func `a pool that is closed sends nothing`() async throws {
    let service = try await listen(saying: "HTTP/1.1 201 Made\r\nContent-Length: 0\r\n\r\n")
    let pool = try pool()
    pool.close()
    #expect(await pool.send(post(service.port)) == .unprocessed(.connectionLost))
    try await service.close()
  }

  @Test func `requests above the limit fail at once`() async throws {
    let service = try await listen(saying: "")
    let pool = try pool(timeout: .seconds(3))
    let results = await withTaskGroup(of: HTTPResult.self) { tasks in
      for _ in 0..<300 { tasks.addTask { await pool.send(post(service.port)) } }
      return await tasks.reduce(into: []) { $0.append($1) }
    }
    #expect(results.count { $0 == .unprocessed(.tooManyWaiting) } >= 300 - 16 - 240)
    #expect(results.contains(.unknown(.timeout)))
    try await service.close()
  }
}

/// A service on 127.0.0.1, without TLS, that gives the same answer to each request.
private struct TestServer: Sendable {
  let channel: any Channel
  let count: NIOLockedValueBox<Int>

  var port: Int { channel.localAddress?.port ?? 0 }
  var accepted: Int { count.withLockedValue { $0 } }
  func close() async throws { try await channel.close() }
}

private func listen(saying words: String) async throws -> TestServer {
  let count = NIOLockedValueBox(0)
  let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
    .childChannelInitializer { channel in
      count.withLockedValue { $0 += 1 }
      return channel.eventLoop.makeCompletedFuture {
        try channel.pipeline.syncOperations.addHandler(SpeakingHandler(words: words))
      }
    }
    .bind(host: "127.0.0.1", port: 0).get()
  return TestServer(channel: channel, count: count)
}

private final class SpeakingHandler: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer
  typealias OutboundOut = ByteBuffer

  private let words: String

  init(words: String) { self.words = words }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    // A request may arrive in pieces. The requests of these tests end with the byte 3.
    guard unwrapInboundIn(data).readableBytesView.last == 3 else { return }
    context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: words)), promise: nil)
  }
}
