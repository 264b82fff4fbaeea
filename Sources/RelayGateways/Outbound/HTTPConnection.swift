// SPDX-License-Identifier: Apache-2.0
// The pool of HTTP/1.1 connections, for browsers' push services, Matrix gateways and the command line.
import NIOCore
import NIOHTTP1
import NIOSSL
import NIOTLS
import RelayProtocol

typealias HTTPPool = ConnectionPool<HTTPConnection>
typealias HTTPResult = PoolResult<HTTPAnswer>

extension HTTPPool {
  convenience init(settings: PoolSettings) {
    self.init(
      settings,
      fill: { pipeline, pool, number, destination in
        if destination.isSecure { try pipeline.addTLSClient(settings.tls, host: destination.host) }
        try pipeline.addHTTPClientHandlers()
        try pipeline.addHandler(HTTPConnection(number: number, destination: destination, pool: pool))
      })
  }

  func send(_ request: OutboundRequest) async -> HTTPResult { await send(request, to: request.destination) }
}

/// One HTTP/1.1 connection, which sends one request at a time. Use it on the pool's event loop only.
final class HTTPConnection: PooledConnection {
  typealias Request = OutboundRequest
  typealias Answer = HTTPAnswer
  typealias InboundIn = HTTPClientResponsePart
  typealias OutboundOut = HTTPClientRequestPart

  let number: Int
  let destination: HTTPDestination
  /// True if requests can be sent. With TLS this needs a complete handshake.
  private(set) var isReady = false
  private(set) var isEnding = false
  var isProven: Bool { isReady }
  var capacity: Int { isReady && exchange == nil && !isEnding ? 1 : 0 }
  var load: Int { exchange == nil ? 0 : 1 }

  private let pool: HTTPPool
  private var context: ChannelHandlerContext?
  /// Closes the connection after a time without requests.
  private var expiry: Scheduled<Void>?
  private var exchange: Exchange<HTTPConnection>?
  private var head: HTTPResponseHead?
  private var body: [UInt8] = []

  init(number: Int, destination: HTTPDestination, pool: HTTPPool) {
    self.number = number
    self.destination = destination
    self.pool = pool
  }

  func handlerAdded(context: ChannelHandlerContext) { self.context = context }
  func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

  func connected() {
    if !destination.isSecure { becomeReady() }
  }

  private func becomeReady() {
    isReady = true
    waitForRequest()
  }

  private func waitForRequest() {
    guard let context, !isEnding else { return }
    let loopBound = NIOLoopBound(self, eventLoop: context.eventLoop)
    expiry = context.eventLoop.scheduleTask(in: TimeAmount(pool.settings.idle)) { loopBound.value.close() }
  }

  func send(_ exchange: Exchange<HTTPConnection>) {
    guard let context, capacity > 0 else { preconditionFailure("the connection must be idle") }
    expiry?.cancel()
    self.exchange = exchange
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
  func giveUp(_ exchange: Exchange<HTTPConnection>, _ reason: GatewayReason) { end(isWhole: false, otherwise: reason) }

  func retire() {
    if exchange == nil { close() } else { isEnding = true }
  }

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
      guard body.count + bytes.readableBytes <= pool.settings.maxAnswer else {
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
    if !isWhole || head?.isKeepAlive != true || isEnding { close() } else { waitForRequest() }
    if let head {
      let delay = head.headers.first(name: "retry-after").flatMap { text in
        let date = head.headers.first(name: "date").flatMap(Timestamp.init(httpDate:))
        return Duration(retryAfter: text, now: date ?? pool.settings.clock.wall())
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
      becomeReady()
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
    pool.hasClosed(self, at: destination)
    context.fireChannelInactive()
  }
}
