// SPDX-License-Identifier: Apache-2.0
// One HTTP/1.1 connection of `HTTPPool`, and the requests that it sends. It is a NIO channel handler.
import NIOCore
import NIOHTTP1
import NIOSSL
import NIOTLS
import RelayProtocol

/// A request that waits for a connection or an answer. Use it on the pool's event loop only.
final class HTTPExchange {
  let id: Int
  let request: OutboundRequest
  private let promise: EventLoopPromise<HTTPResult>
  var deadline: Scheduled<Void>?
  /// The connection on which the request was sent.
  var connection: HTTPConnection?

  init(id: Int, request: OutboundRequest, promise: EventLoopPromise<HTTPResult>) {
    self.id = id
    self.request = request
    self.promise = promise
  }

  func end(_ result: HTTPResult) {
    deadline?.cancel()
    promise.succeed(result)
  }
}

/// One HTTP/1.1 connection, which sends one request at a time. Use it on the pool's event loop only.
final class HTTPConnection: ChannelInboundHandler {
  typealias InboundIn = HTTPClientResponsePart
  typealias OutboundOut = HTTPClientRequestPart

  let number: Int
  let destination: HTTPDestination
  /// True if requests can be sent. With TLS this needs a complete handshake.
  private(set) var isReady = false
  var isIdle: Bool { isReady && exchange == nil && !isEnding }
  var expiry: Scheduled<Void>?

  private let pool: HTTPPool
  /// The largest body of an answer, in bytes.
  private let maxAnswer: Int
  private let now: @Sendable () -> Timestamp
  private var context: ChannelHandlerContext?
  private var exchange: HTTPExchange?
  private var head: HTTPResponseHead?
  private var body: [UInt8] = []
  private var isEnding = false

  init(
    number: Int, destination: HTTPDestination, pool: HTTPPool, maxAnswer: Int, now: @escaping @Sendable () -> Timestamp
  ) {
    self.number = number
    self.destination = destination
    self.pool = pool
    self.maxAnswer = maxAnswer
    self.now = now
  }

  func handlerAdded(context: ChannelHandlerContext) { self.context = context }
  func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

  /// Records that the TCP connection is open. With TLS the connection is not ready yet.
  func connected() {
    if !destination.isSecure { isReady = true }
  }

  /// Sends a request. The connection must be idle.
  func send(_ exchange: HTTPExchange) {
    guard let context, isIdle else { preconditionFailure("the connection must be idle") }
    self.exchange = exchange
    exchange.connection = self
    let request = exchange.request
    var headers: HTTPHeaders = ["Host": destination.authority]
    // RFC 9110, section 8.6: a POST without a body has a Content-Length, too.
    if request.method == .POST || !request.body.isEmpty {
      headers.add(name: "Content-Length", value: String(request.body.count))
    }
    for field in request.fields { headers.add(name: field.name, value: field.value) }
    let head = HTTPRequestHead(version: .http1_1, method: request.method, uri: request.path, headers: headers)
    context.write(wrapOutboundOut(.head(head)), promise: nil)
    if !request.body.isEmpty {
      let body = context.channel.allocator.buffer(bytes: request.body)
      context.write(wrapOutboundOut(.body(.byteBuffer(body))), promise: nil)
    }
    context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
  }

  /// Stops waiting for the answer. If its head has arrived, the status is the result.
  func giveUp(_ reason: GatewayReason) { end(isWhole: false, otherwise: reason) }

  func close() {
    isEnding = true
    context?.close(promise: nil)
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    switch unwrapInboundIn(data) {
    case .head(let head):
      guard exchange != nil else { return close() }
      self.head = head
    case .body(let bytes):
      guard body.count + bytes.readableBytes <= maxAnswer else {
        return end(isWhole: false, otherwise: .connectionLost)
      }
      body += Array(buffer: bytes)
    case .end: end(isWhole: true, otherwise: .connectionLost)
    }
  }

  private func end(isWhole: Bool, otherwise reason: GatewayReason) {
    guard let exchange else { return close() }
    let (head, body) = (head, body)
    self.exchange = nil
    self.head = nil
    self.body = []
    if !isWhole || head?.isKeepAlive != true { close() }
    exchange.connection = nil
    if let head {
      let delay = head.headers.first(name: "retry-after").flatMap { text in
        let date = head.headers.first(name: "date").flatMap(Timestamp.init(httpDate:))
        return Duration(retryAfter: text, now: date ?? now())
      }
      exchange.end(
        .answered(HTTPAnswer(status: Int(head.status.code), retryAfter: delay, body: isWhole ? body : nil)))
    } else {
      exchange.end(.unknown(reason))
    }
    pool.capacityChanged(at: destination)
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if case .handshakeCompleted = event as? TLSUserEvent {
      isReady = true
      pool.capacityChanged(at: destination)
    }
    context.fireUserInboundEventTriggered(event)
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    // A TLS connection that ends without close_notify is not an error: Content-Length reveals an incomplete answer.
    if (error as? NIOSSLError) != .uncleanShutdown { pool.hasFailed(error, at: destination) }
    close()
  }

  func channelInactive(context: ChannelHandlerContext) {
    isEnding = true
    expiry?.cancel()
    if exchange != nil { end(isWhole: false, otherwise: .connectionLost) }
    pool.hasClosed(self)
    context.fireChannelInactive()
  }
}
