// SPDX-License-Identifier: Apache-2.0
import NIOCore
import NIOHPACK
import NIOHTTP2
import NIOTLS
import RelayProtocol

/// One connection: it turns requests into frames and frames into what became of them, as its state says.
///
/// It stands at the end of a pipeline behind HTTP/2 alone, not behind a multiplexer: what a GOAWAY and a reset mean for
/// each request can only be told from frames. Belongs to the pool's event loop.
final class AppleConnection: ChannelInboundHandler {
  typealias InboundIn = HTTP2Frame
  typealias OutboundOut = HTTP2Frame

  let number: Int
  private(set) var state: AppleConnectionState<AppleExchange>
  private let settings: ApplePoolSettings
  /// Whoever gives it requests; told when it has room, and when it is gone.
  /// For as long as the channel is there, which may be longer than anybody else has the pool.
  private let pool: AppleConnectionPool
  private var context: ChannelHandlerContext?
  private var lastHeard = ContinuousClock.now
  private var nextPing: Scheduled<Void>?
  /// Bytes that were received, and are not yet allowed again.
  private var credit = 0
  private(set) var wasProven = false

  /// An answer has a few words; what is larger is not from the service.
  static let largestAnswer = 16 * 1024
  private static let creditStep = 16 * 1024

  init(number: Int, settings: ApplePoolSettings, pool: AppleConnectionPool) {
    self.number = number
    self.settings = settings
    self.pool = pool
    state = AppleConnectionState(most: settings.streams)
  }

  func handlerAdded(context: ChannelHandlerContext) { self.context = context }
  func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

  // MARK: Requests

  /// Sends a request, for which it must have room.
  func send(_ exchange: AppleExchange, authorizedBy token: ProviderTokens.Token) {
    guard let context else { preconditionFailure("a connection without a pipeline has room") }
    let stream = state.begin(exchange)
    exchange.place = (self, stream)
    exchange.token = token
    exchange.left = .now
    var headers: HPACKHeaders = [":method": "POST", ":scheme": "https", ":authority": settings.host]
    // What differs from push to push has no use in the table of the compression.
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

  /// Nobody waits for the answer any more, and nothing is sent here that could fare alike.
  /// - Parameter left: When nothing was heard since, the connection is given up with all that is under way.
  func abandon(_ stream: Int, sentAt left: ContinuousClock.Instant) {
    guard let context, state.ended(stream) != nil else { return }
    state.retire()
    if lastHeard < left {
      context.close(promise: nil)
    } else {
      write(.rstStream(.cancel), on: HTTP2StreamID(stream), context)
      context.flush()
    }
    endIfSpent()
  }

  /// Takes no request any more, and closes when those under way are answered.
  func retire() {
    state.retire()
    endIfSpent()
  }

  /// Closes, whatever is under way.
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
    lastHeard = .now
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
      pool.wasToldToGo(words.map { Array(buffer: $0) } ?? [])
      for exchange in state.goAwayArrived(last: Int(last)) { exchange.end(.unprocessed(.connectionLost)) }
    default: break
    }
    endIfSpent()
  }

  func channelReadComplete(context: ChannelHandlerContext) {
    context.fireChannelReadComplete()
    pool.roomChanged()
  }

  private func headersArrived(_ headers: HTTP2Frame.FramePayload.Headers, on stream: Int) {
    guard let exchange = state.requests[stream] else { return }
    // Neither interim answers nor trailers say anything.
    if exchange.head == nil, headers.headers.first(name: ":status")?.first != "1" { exchange.head = headers.headers }
    if headers.endStream { answered(exchange, on: stream) }
  }

  private func dataArrived(_ data: HTTP2Frame.FramePayload.Data, on stream: Int, _ context: ChannelHandlerContext) {
    guard case .byteBuffer(let bytes) = data.data else { preconditionFailure("received data is no file") }
    credit += bytes.readableBytes + (data.paddingBytes ?? 0)
    if credit >= Self.creditStep {
      write(.windowUpdate(windowSizeIncrement: credit), on: .rootStream, context)
      context.flush()
      credit = 0
    }
    guard let exchange = state.requests[stream] else { return }
    guard exchange.body.count + bytes.readableBytes <= Self.largestAnswer else {
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
    // 403 is about who we are; every other answer was given to somebody whom the service knows.
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

  /// After an idle hour: a connection that is gone is found out before it is needed.
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
      if connection.lastHeard < sent { connection.close() } else { connection.schedulePing() }
    }
  }
}
