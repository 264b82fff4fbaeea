// SPDX-License-Identifier: Apache-2.0
import Foundation
import NIOConcurrencyHelpers
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import RelayProtocol

@testable import AppleSimulator
@testable import RelayGateways

/// An HTTP/1.1 service on the loopback interface, with or without TLS, that records its requests.
final class TestService: Sendable {
  struct Request: Sendable {
    let path: String
    /// The headers by name in lower case.
    let headers: [String: String]
    let body: [UInt8]
    /// The port of the client, which differs between connections.
    let clientPort: Int?
  }

  /// Returns the answer to a request, or `nil` to send none.
  typealias Answering = @Sendable (Request) -> HTTPAnswer?

  private let channel: any Channel
  private let state: NIOLockedValueBox<(requests: [Request], answer: Answering)>
  /// The PEM file with the service's certificate. It exists only with TLS.
  let certificates: String

  private init(
    _ channel: any Channel, _ state: NIOLockedValueBox<(requests: [Request], answer: Answering)>, certificates: String
  ) {
    self.channel = channel
    self.state = state
    self.certificates = certificates
  }

  deinit {
    channel.close(promise: nil)
    try? FileManager.default.removeItem(atPath: certificates)
  }

  /// Starts a service. Its certificate is valid for `localhost` and 127.0.0.1.
  static func start(isSecure: Bool, answer: @escaping Answering) async throws -> TestService {
    let state = NIOLockedValueBox((requests: [Request](), answer: answer))
    let identity = try AppleSimulator.makeIdentity(for: "localhost")
    let certificates = NSTemporaryDirectory() + "stillwire-\(UUID().uuidString).pem"
    if isSecure { try identity.certificates.write(toFile: certificates, atomically: true, encoding: .utf8) }
    let tls = try NIOSSLContext(
      configuration: .makeServerConfiguration(
        certificateChain: NIOSSLCertificate.fromPEMBytes(Array(identity.certificates.utf8)).map { .certificate($0) },
        privateKey: .privateKey(NIOSSLPrivateKey(bytes: Array(identity.key.utf8), format: .pem))))
    let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .childChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          let pipeline = channel.pipeline.syncOperations
          if isSecure { try pipeline.addHandler(NIOSSLServerHandler(context: tls)) }
          try pipeline.configureHTTPServerPipeline()
          try pipeline.addHandler(NIOHTTPServerRequestAggregator(maxContentLength: 1 << 16))
          try pipeline.addHandler(Answerer(state: state))
        }
      }
      .bind(host: "127.0.0.1", port: 0).get()
    return TestService(channel, state, certificates: certificates)
  }

  var port: Int { channel.localAddress?.port ?? 0 }
  var requests: [Request] { state.withLockedValue { $0.requests } }

  /// Changes the answer for later requests.
  func answer(_ answer: @escaping Answering) { state.withLockedValue { $0.answer = answer } }
}

private final class Answerer: ChannelInboundHandler {
  typealias InboundIn = NIOHTTPServerRequestFull
  typealias OutboundOut = HTTPServerResponsePart

  private let state: NIOLockedValueBox<(requests: [TestService.Request], answer: TestService.Answering)>

  init(state: NIOLockedValueBox<(requests: [TestService.Request], answer: TestService.Answering)>) {
    self.state = state
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    let message = unwrapInboundIn(data)
    let request = TestService.Request(
      path: message.head.uri,
      headers: Dictionary(message.head.headers.map { ($0.name.lowercased(), $0.value) }) { "\($0), \($1)" },
      body: message.body.map { Array(buffer: $0) } ?? [], clientPort: context.channel.remoteAddress?.port)
    let answering = state.withLockedValue { state in
      state.requests.append(request)
      return state.answer
    }
    guard let answer = answering(request) else { return }
    let body = answer.body ?? []
    var headers: HTTPHeaders = ["Content-Length": String(body.count)]
    if let wait = answer.retryAfter { headers.add(name: "Retry-After", value: String(wait.components.seconds)) }
    let head = HTTPResponseHead(version: .http1_1, status: .init(statusCode: answer.status), headers: headers)
    context.write(wrapOutboundOut(.head(head)), promise: nil)
    context.write(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(bytes: body)))), promise: nil)
    context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
  }
}

/// A clock for a gateway that a test advances.
final class SteppedClock: Sendable {
  private let start = ContinuousClock.now
  private let passed = NIOLockedValueBox(Duration.zero)

  func pass(_ duration: Duration) { passed.withLockedValue { $0 += duration } }

  var clock: GatewayClock {
    GatewayClock(
      monotonic: { [self] in start + passed.withLockedValue { $0 } }, wall: { .init(rawValue: 1_600_000_000_000) })
  }
}
