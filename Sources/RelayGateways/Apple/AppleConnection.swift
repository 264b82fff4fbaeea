// SPDX-License-Identifier: Apache-2.0
import NIOCore
import NIOHPACK
import NIOHTTP2
import NIOTLS
import RelayProtocol

/// One HTTP/2 connection. It converts requests to frames, and frames to results, with `AppleConnectionState`.
///
/// The handler follows `NIOHTTP2Handler` directly, without a multiplexer, because only frames show the effect of a
/// GOAWAY or a reset on each request. Use it on the pool's event loop only.
final class AppleConnection: ChannelInboundHandler {
  typealias InboundIn = HTTP2Frame
  typealias OutboundOut = HTTP2Frame

  let number: Int
  private(set) var state: AppleConnectionState<AppleExchange>
  private let settings: ApplePoolSettings
  /// Sends requests on this connection, and is notified when capacity becomes available and when the connection closes.
  /// The reference is strong: the pool must live until the channel closes, even if nothing else refers to it.
  private let pool: AppleConnectionPool
  private var context: ChannelHandlerContext?
  private var lastReceived = ContinuousClock.now
  private var nextPing: Scheduled<Void>?
  /// Received bytes that a WINDOW_UPDATE has not returned to the service yet.
  private var credit = 0
  private(set) var wasProven = false

  /// The largest body of an answer in bytes. Apple's answers have a few words.
  static let maxAnswer = 16 * 1024
  private static let creditStep = 16 * 1024

  init(number: Int, settings: ApplePoolSettings, pool: AppleConnectionPool) {
    self.number = number
    self.settings = settings
    self.pool = pool
    state = AppleConnectionState(maxStreams: settings.streams)
  }

  func handlerAdded(context: ChannelHandlerContext) { self.context = context }
  func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

  // MARK: Requests

  /// Sends a request. The connection must have capacity for it.
  func send(_ exchange: AppleExchange, authorizedBy token: ProviderTokens.Token) {
    guard let context else { preconditionFailure("a connection without a pipeline has no capacity") }
    let stream = state.begin(exchange)
    exchange.assignment = (self, stream)
    exchange.token = token
    exchange.left = .now
    var headers: HPACKHeaders = [":method": "POST", ":scheme": "https", ":authority": settings.host]
    // Values that differ in each push are useless in the compression table.
    headers.add(name: ":path", value: "/3/device/\(exchange.request.deviceToken)", indexing: .nonIndexable)
    headers.add(name: "authorization", value: "bearer \(token.text)")
    for field in exchange.request.fields {
      let isCommon = ["apns-push-type", "apns-priority", "apns-topic"].contains(field.name)
      headers.add(name: field.name, value: field.value, indexing: isCommon ? .indexable : .nonIndexable)
    }
    let id = HTTP2StreamID(stream)
    let body = context.channel.allocator.buffer(bytes: exchange.request.payload)
    write(.headers(.init(headers: headers, endStream: false)), on: id, context)
    write(.data(.init(data: .byteBuffer(body), endStream: true)), on: id, context)
    context.flush()
    schedulePing()
  }

  /// Gives up the request on a stream, for example after its timeout. The connection takes no more requests.
  /// - Parameter left: The time at which the request was sent. If no frame has arrived since then, the connection
  ///   closes with all its requests.
  func abandon(_ stream: Int, sentAt left: ContinuousClock.Instant) {
    guard let context, state.ended(stream) != nil else { return }
    state.retire()
    if lastReceived < left {
      context.close(promise: nil)
    } else {
      write(.rstStream(.cancel), on: HTTP2StreamID(stream), context)
      context.flush()
    }
    endIfSpent()
  }

  /// Takes no more requests, and closes when the current requests are answered.
  func retire() {
    state.retire()
    endIfSpent()
  }

  /// Closes at once, even with unanswered requests.
  func close() {
    state.retire()
    context?.close(promise: nil)
  }

  private func write(_ payload: HTTP2Frame.FramePayload, on stream: HTTP2StreamID, _ context: ChannelHandlerContext) {
    context.write(wrapOutboundOut(HTTP2Frame(streamID: stream, payload: payload)), promise: nil)
  }

  private func endIfSpent() {
    if state.isSpent { context?.close(promise: nil) }
  }

  // MARK: Frames

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    let frame = unwrapInboundIn(data)
    let stream = Int(frame.streamID)
    lastReceived = .now
    switch frame.payload {
    case .settings(.settings(let settings)):
      state.settingsArrived(streams: settings.last { $0.parameter == .maxConcurrentStreams }?.value)
      schedulePing()
    case .headers(let headers): headersArrived(headers, on: stream)
    case .data(let data): dataArrived(data, on: stream, context)
    case .rstStream(let code):
      // RFC 9113, section 8.7: a refused stream was not processed at all.
      state.ended(stream)?.end(code == .refusedStream ? .unprocessed(.connectionLost) : .unknown(.connectionLost))
    case .goAway(let last, _, let words):
      pool.logGoAway(words.map { Array(buffer: $0) } ?? [])
      for exchange in state.goAwayArrived(last: Int(last)) { exchange.end(.unprocessed(.connectionLost)) }
    default: break
    }
    endIfSpent()
  }

  func channelReadComplete(context: ChannelHandlerContext) {
    context.fireChannelReadComplete()
    pool.capacityChanged()
  }

  private func headersArrived(_ headers: HTTP2Frame.FramePayload.Headers, on stream: Int) {
    guard let exchange = state.requests[stream] else { return }
    // Ignore interim answers (1xx) and trailers.
    if exchange.head == nil, headers.headers.first(name: ":status")?.first != "1" { exchange.head = headers.headers }
    if headers.endStream { answered(exchange, on: stream) }
  }

  private func dataArrived(_ data: HTTP2Frame.FramePayload.Data, on stream: Int, _ context: ChannelHandlerContext) {
    guard case .byteBuffer(let bytes) = data.data else { preconditionFailure("received data is never a file") }
    credit += bytes.readableBytes + (data.paddingBytes ?? 0)
    if credit >= Self.creditStep {
      write(.windowUpdate(windowSizeIncrement: credit), on: .rootStream, context)
      context.flush()
      credit = 0
    }
    guard let exchange = state.requests[stream] else { return }
    guard exchange.body.count + bytes.readableBytes <= Self.maxAnswer else {
      write(.rstStream(.cancel), on: HTTP2StreamID(stream), context)
      context.flush()
      state.ended(stream)?.end(.unknown(.connectionLost))
      return
    }
    exchange.body += Array(buffer: bytes)
    if data.endStream { answered(exchange, on: stream) }
  }

  private func answered(_ exchange: AppleExchange, on stream: Int) {
    guard let head = exchange.head, let token = exchange.token, let left = exchange.left,
      let status = head.first(name: ":status").flatMap({ Int($0) })
    else {
      state.ended(stream)?.end(.unknown(.connectionLost))
      return
    }
    let answer = AppleAnswer(
      status: status, body: exchange.body, retryAfter: head.first(name: "retry-after"),
      date: head.first(name: "date"), now: settings.clock.wall())
    // Status 403 refuses the relay's credential. Every other status shows that the service accepted it.
    let proves = status != 403
    wasProven = wasProven || proves
    _ = state.answered(stream, proves: proves)
    exchange.end(.answered(answer, token: token, connection: number, took: .now - left))
  }

  // MARK: Life

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if case .handshakeCompleted(let negotiated) = event as? TLSUserEvent, negotiated != "h2" {
      context.close(promise: nil)
    }
    context.fireUserInboundEventTriggered(event)
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    if let error = error as? NIOHTTP2Errors.StreamError {
      state.ended(Int(error.streamID))?.end(.unknown(.connectionLost))
      endIfSpent()
    } else {
      pool.hasFailed(error)
      close()
    }
  }

  func channelInactive(context: ChannelHandlerContext) {
    nextPing?.cancel()
    for exchange in state.closed() { exchange.end(.unknown(.connectionLost)) }
    pool.hasClosed(number)
    context.fireChannelInactive()
  }

  /// Sends a PING after an hour without requests, so that a broken connection is detected before it is needed.
  private func schedulePing() {
    guard let context else { return }
    nextPing?.cancel()
    let loopBound = NIOLoopBound(self, eventLoop: context.eventLoop)
    nextPing = context.eventLoop.scheduleTask(in: TimeAmount(settings.idle)) { loopBound.value.ping() }
  }

  private func ping() {
    guard let context, state.phase == .open || state.phase == .unproven else { return }
    write(.ping(HTTP2PingData(withInteger: 0), ack: false), on: .rootStream, context)
    context.flush()
    let sent = ContinuousClock.now
    let loopBound = NIOLoopBound(self, eventLoop: context.eventLoop)
    nextPing = context.eventLoop.scheduleTask(in: TimeAmount(settings.timeout)) {
      let connection = loopBound.value
      if connection.lastReceived < sent { connection.close() } else { connection.schedulePing() }
    }
  }
}
