// SPDX-License-Identifier: Apache-2.0
import Logging
import NIOCore
import NIOHPACK
import NIOHTTP2
import NIOTLS
import RelayProtocol

/// One HTTP/2 connection. It converts requests to frames, and frames to results, with `AppleConnectionState`.
///
/// The handler follows `NIOHTTP2Handler` directly, without a multiplexer, because only frames show the effect of a
/// GOAWAY or a reset on each request. Use it on the pool's event loop only.
final class AppleConnection: PooledConnection {
  typealias Request = AppleRequest
  typealias Answer = AppleReply
  typealias InboundIn = HTTP2Frame
  typealias OutboundOut = HTTP2Frame

  /// A request on a stream.
  private struct Attempt {
    let exchange: Exchange<AppleConnection>
    let token: ProviderTokens.Token
    let left = ContinuousClock.now
    var head: HPACKHeaders?
    var body: [UInt8] = []
  }

  let number: Int
  private(set) var isProven = false
  var isReady: Bool { state.phase != .connecting }
  var isEnding: Bool { state.phase == .draining || state.phase == .closed }
  var capacity: Int { state.room }
  var load: Int { state.requests.count }

  private var state: AppleConnectionState<Attempt>
  private let destination: HTTPDestination
  private let authorize: @Sendable () throws -> ProviderTokens.Token
  private let log: Logger
  /// Sends requests on this connection, and is notified when capacity becomes available and when the connection closes.
  /// The reference is strong: the pool must live until the channel closes, even if nothing else refers to it.
  private let pool: AppleConnectionPool
  private var context: ChannelHandlerContext?
  private var lastReceived = ContinuousClock.now
  private var nextPing: Scheduled<Void>?
  /// Received bytes that a WINDOW_UPDATE has not returned to the service yet.
  private var credit = 0

  private static let creditStep = 16 * 1024

  init(
    number: Int, destination: HTTPDestination, pool: AppleConnectionPool,
    authorize: @escaping @Sendable () throws -> ProviderTokens.Token, log: Logger
  ) {
    self.number = number
    self.destination = destination
    self.pool = pool
    self.authorize = authorize
    self.log = log
    state = AppleConnectionState(maxStreams: pool.settings.streams)
  }

  private var settings: PoolSettings { pool.settings }

  func handlerAdded(context: ChannelHandlerContext) { self.context = context }
  func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

  // MARK: Requests

  func connected() {}

  func send(_ exchange: Exchange<AppleConnection>) throws {
    guard let context else { preconditionFailure("a connection without a pipeline has no capacity") }
    let token = try authorize()
    let stream = state.begin(Attempt(exchange: exchange, token: token))
    var headers: HPACKHeaders = [":method": "POST", ":scheme": "https", ":authority": destination.host]
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

  /// The connection takes no more requests. If no frame has arrived since the request was sent, the connection closes
  /// with all its requests.
  func giveUp(_ exchange: Exchange<AppleConnection>, _ reason: GatewayReason) {
    exchange.end(.unknown(reason))
    guard let (stream, attempt) = state.requests.first(where: { $0.value.exchange === exchange }) else { return }
    guard let context, state.ended(stream) != nil else { return }
    state.retire()
    if lastReceived < attempt.left {
      context.close(promise: nil)
    } else {
      write(.rstStream(.cancel), on: HTTP2StreamID(stream), context)
      context.flush()
    }
    endIfSpent()
  }

  func retire() {
    state.retire()
    endIfSpent()
  }

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
      state.ended(stream)?.exchange.end(
        code == .refusedStream ? .unprocessed(.connectionLost) : .unknown(.connectionLost))
    case .goAway(let last, _, let words):
      logGoAway(words.map { Array(buffer: $0) } ?? [])
      for attempt in state.goAwayArrived(last: Int(last)) { attempt.exchange.end(.unprocessed(.connectionLost)) }
    default: break
    }
    endIfSpent()
  }

  func channelReadComplete(context: ChannelHandlerContext) {
    context.fireChannelReadComplete()
    pool.capacityChanged(at: destination)
  }

  /// - Parameter words: The debug data of the frame: JSON with a reason, or empty.
  private func logGoAway(_ words: [UInt8]) {
    let reason = AppleAnswer(status: 0, body: words, retryAfter: nil, date: nil, now: settings.clock.wall()).reason
    log.info(
      "Apple's service closes a connection",
      metadata: ["host": "\(destination.host)", "reason": "\(GatewayReason(words: reason).rawValue)"])
  }

  private func headersArrived(_ headers: HTTP2Frame.FramePayload.Headers, on stream: Int) {
    guard let attempt = state.requests[stream] else { return }
    // Ignore interim answers (1xx) and trailers.
    if attempt.head == nil, headers.headers.first(name: ":status")?.first != "1" {
      state.requests[stream]?.head = headers.headers
    }
    if headers.endStream { answered(stream) }
  }

  private func dataArrived(_ data: HTTP2Frame.FramePayload.Data, on stream: Int, _ context: ChannelHandlerContext) {
    guard case .byteBuffer(let bytes) = data.data else { preconditionFailure("received data is never a file") }
    credit += bytes.readableBytes + (data.paddingBytes ?? 0)
    if credit >= Self.creditStep {
      write(.windowUpdate(windowSizeIncrement: credit), on: .rootStream, context)
      context.flush()
      credit = 0
    }
    guard let attempt = state.requests[stream] else { return }
    guard attempt.body.count + bytes.readableBytes <= settings.maxAnswer else {
      write(.rstStream(.cancel), on: HTTP2StreamID(stream), context)
      context.flush()
      state.ended(stream)?.exchange.end(.unknown(.connectionLost))
      return
    }
    state.requests[stream]?.body += Array(buffer: bytes)
    if data.endStream { answered(stream) }
  }

  private func answered(_ stream: Int) {
    guard let attempt = state.requests[stream], let head = attempt.head,
      let status = head.first(name: ":status").flatMap({ Int($0) })
    else {
      state.ended(stream)?.exchange.end(.unknown(.connectionLost))
      return
    }
    let answer = AppleAnswer(
      status: status, body: attempt.body, retryAfter: head.first(name: "retry-after"),
      date: head.first(name: "date"), now: settings.clock.wall())
    // Status 403 refuses the relay's credential. Every other status shows that the service accepted it.
    let proves = status != 403
    isProven = isProven || proves
    _ = state.answered(stream, proves: proves)
    attempt.exchange.end(
      .answered(AppleReply(answer: answer, token: attempt.token, connection: number, took: .now - attempt.left)))
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
      state.ended(Int(error.streamID))?.exchange.end(.unknown(.connectionLost))
      endIfSpent()
    } else {
      pool.hasFailed(error, at: destination)
      close()
    }
  }

  func channelInactive(context: ChannelHandlerContext) {
    nextPing?.cancel()
    for attempt in state.closed() { attempt.exchange.end(.unknown(.connectionLost)) }
    pool.hasClosed(self, at: destination)
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
