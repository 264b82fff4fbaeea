// SPDX-License-Identifier: Apache-2.0
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import RelayProtocol

/// One request of a tool to a server that its operator names, on a connection of its own.
public struct HTTPQuestion: Sendable {
  public var method: String
  /// Below the URL, with the query.
  public var path: String
  public var fields: [(name: String, value: String)]
  private let base: HTTPGatewayApp.Place

  /// What the server says at most; a larger answer is an error.
  public static let largestAnswer = 16 * 1024 * 1024

  /// nil: the URL is no `http` or `https` URL with a host, or one with a user, a query or a fragment.
  public init?(method: String, url: String, path: String, fields: [(name: String, value: String)] = []) {
    guard let base = HTTPGatewayApp.Place(url), !base.path.contains("?") else { return nil }
    self.base = base
    self.method = method
    self.path = path
    self.fields = fields
  }

  /// There was no whole answer in time.
  public struct TimedOut: Error, CustomStringConvertible {
    public let description = "no answer in time"
  }

  /// Throws errors of the connection, and ``TimedOut``.
  /// - Parameter timeout: For the connection and the answer together.
  public func ask(timeout: Duration = .seconds(30)) async throws -> (status: Int, body: [UInt8]) {
    let destination = base.destination
    let loop = MultiThreadedEventLoopGroup.singleton.any()
    let promise = loop.makePromise(of: (status: Int, body: [UInt8]).self)
    let tls = destination.isSecure ? try NIOSSLContext.client(trusting: nil) : nil
    let head = head
    let deadline = loop.scheduleTask(in: TimeAmount(timeout)) { promise.fail(TimedOut()) }
    promise.futureResult.whenComplete { _ in deadline.cancel() }
    ClientBootstrap(group: loop)
      .connectTimeout(TimeAmount(timeout))
      .channelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          let pipeline = channel.pipeline.syncOperations
          if let tls { try pipeline.addTLSClient(tls, host: destination.host) }
          try pipeline.addHTTPClientHandlers()
          try pipeline.addHandler(NIOHTTPClientResponseAggregator(maxContentLength: Self.largestAnswer))
          try pipeline.addHandler(Asker(head: head, promise: promise))
        }
      }
      .connect(host: destination.host, port: destination.port)
      .whenComplete { result in
        switch result {
        case .success(let channel): promise.futureResult.whenComplete { _ in channel.close(promise: nil) }
        case .failure(let error): promise.fail(error)
        }
      }
    return try await promise.futureResult.get()
  }

  private var head: HTTPRequestHead {
    var headers: HTTPHeaders = ["Host": base.destination.authority, "Connection": "close"]
    if method == "POST" { headers.add(name: "Content-Length", value: "0") }
    for field in fields { headers.add(name: field.name, value: field.value) }
    let below = base.path.hasSuffix("/") ? String(base.path.dropLast()) : base.path
    return HTTPRequestHead(version: .http1_1, method: HTTPMethod(rawValue: method), uri: below + path, headers: headers)
  }
}

/// Sends the request, and keeps the answer. Belongs to the channel's event loop.
private final class Asker: ChannelInboundHandler {
  typealias InboundIn = NIOHTTPClientResponseFull
  typealias OutboundOut = HTTPClientRequestPart

  private let head: HTTPRequestHead
  private let promise: EventLoopPromise<(status: Int, body: [UInt8])>

  init(head: HTTPRequestHead, promise: EventLoopPromise<(status: Int, body: [UInt8])>) {
    self.head = head
    self.promise = promise
  }

  func channelActive(context: ChannelHandlerContext) {
    context.write(wrapOutboundOut(.head(head)), promise: nil)
    context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    let answer = unwrapInboundIn(data)
    promise.succeed((Int(answer.head.status.code), answer.body.map { Array(buffer: $0) } ?? []))
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    promise.fail(error)
  }

  func channelInactive(context: ChannelHandlerContext) {
    // After an answer, or without one in time, it is fulfilled already.
    promise.fail(ChannelError.eof)
    context.fireChannelInactive()
  }
}
