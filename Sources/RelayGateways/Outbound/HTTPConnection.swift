// SPDX-License-Identifier: Apache-2.0
import NIOCore
import NIOHTTP1
import NIOSSL
import NIOTLS
import RelayProtocol

/// A request on its way. Belongs to the pool's event loop.
final class HTTPExchange {
  let id: Int
  let post: HTTPPost
  private let promise: EventLoopPromise<HTTPFate>
  var deadline: Scheduled<Void>?
  /// Where it is, once it has left.
  var connection: HTTPConnection?

  init(id: Int, post: HTTPPost, promise: EventLoopPromise<HTTPFate>) {
    self.id = id
    self.post = post
    self.promise = promise
  }

  func end(_ fate: HTTPFate) {
    deadline?.cancel()
    promise.succeed(fate)
  }
}

/// One connection of HTTP/1.1, for one request after the other. Belongs to the pool's event loop.
final class HTTPConnection: ChannelInboundHandler {
  typealias InboundIn = HTTPClientResponsePart
  typealias OutboundOut = HTTPClientRequestPart

  let number: Int
  let destination: HTTPDestination
  /// Whether requests can be sent: over TLS once it is known whom they reach.
  private(set) var isReady = false
  var isIdle: Bool { isReady && exchange == nil && !isEnding }
  var expiry: Scheduled<Void>?

  private let pool: HTTPPool
  private let now: @Sendable () -> Timestamp
  private var context: ChannelHandlerContext?
  private var exchange: HTTPExchange?
  private var head: HTTPResponseHead?
  private var body: [UInt8] = []
  private var isEnding = false

  /// An answer has a few words.
  static let largestAnswer = 16 * 1024

  init(number: Int, destination: HTTPDestination, pool: HTTPPool, now: @escaping @Sendable () -> Timestamp) {
    self.number = number
    self.destination = destination
    self.pool = pool
    self.now = now
  }

  func handlerAdded(context: ChannelHandlerContext) { self.context = context }
  func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

  /// The connection stands; over TLS it is not ready yet.
  func connected() {
    if !destination.isSecure { isReady = true }
  }

  /// Sends a request; it must be idle.
  func send(_ exchange: HTTPExchange) {
    guard let context, isIdle else { preconditionFailure("one request at a time") }
    self.exchange = exchange
    exchange.connection = self
    let post = exchange.post
    var headers: HTTPHeaders = ["Host": destination.authority, "Content-Length": String(post.body.count)]
    for field in post.fields { headers.add(name: field.name, value: field.value) }
    let head = HTTPRequestHead(version: .http1_1, method: .POST, uri: post.path, headers: headers)
    context.write(wrapOutboundOut(.head(head)), promise: nil)
    context.write(
      wrapOutboundOut(.body(.byteBuffer(context.channel.allocator.buffer(bytes: post.body)))), promise: nil)
    context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
  }

  /// Nobody waits any longer: what has arrived of the answer counts.
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
      guard body.count + bytes.readableBytes <= Self.largestAnswer else {
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
      let told = head.headers.first(name: "retry-after")
      exchange.end(
        .answered(
          HTTPAnswer(
            status: Int(head.status.code), retryAfter: told.flatMap { Duration(retryAfter: $0, now: now()) },
            body: isWhole ? body : nil)))
    } else {
      exchange.end(.unknown(reason))
    }
    pool.roomChanged(at: destination)
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if case .handshakeCompleted = event as? TLSUserEvent {
      isReady = true
      pool.roomChanged(at: destination)
    }
    context.fireUserInboundEventTriggered(event)
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    // Who closes without saying so has answered all the same, or is found out by the length.
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
