// SPDX-License-Identifier: Apache-2.0
import NIOCore
import NIOHPACK
import NIOHTTP2
import NIOSSL
import RelayProtocol

extension AppleSimulator {
  /// One HTTP/2 connection. One handler serves all its streams, so that a request needs no channel of its own.
  ///
  /// Use it on the thread of its ``Loop`` only.
  final class Connection: ChannelInboundHandler, NIOHTTP2FrameDelegate {
    typealias InboundIn = HTTP2Frame
    typealias OutboundOut = HTTP2Frame

    /// A request without an answer.
    private struct Stream {
      var headers: HPACKHeaders
      var head: Head
      var body: [UInt8] = []
      var length = 0
      /// True after the decision about the request. Later frames of the stream are ignored.
      var isDecided = false
      /// True after the client ended its side of the stream.
      var hasEnded = false
    }

    /// The size in bytes above which a request is refused before its end.
    static let maxBody = 65_536
    static let maxHeaders = 8192

    let number: Int
    private let loop: Loop
    private var context: ChannelHandlerContext?
    private var credential = Credential()
    private var streams: [HTTP2StreamID: Stream] = [:]
    private var isAuthenticated = false
    private var requests = 0
    private var newestStream = HTTP2StreamID.rootStream
    /// Received bytes that a WINDOW_UPDATE has not returned to the client yet.
    private var unacknowledged = 0
    private var needsFlush = false
    private var hasSentGoAway = false
    /// The last stream that a GOAWAY fault reports as processed. Later requests are ignored.
    private var lastSeen: HTTP2StreamID?
    /// The newest stream whose request was processed.
    private var newestTaken = HTTP2StreamID.rootStream
    private var lastRequest = NIODeadline.now()
    private var idleCheck: Scheduled<Void>?

    init(number: Int, loop: Loop) {
      self.number = number
      self.loop = loop
    }

    func handlerAdded(context: ChannelHandlerContext) {
      self.context = context
      loop.add(self)
      checkIdleness(in: loop.idleTime)
    }

    func channelInactive(context: ChannelHandlerContext) {
      end()
      context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) { end() }

    private func end() {
      idleCheck?.cancel()
      streams.removeAll()
      loop.remove(self)
      context = nil
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      let frame = unwrapInboundIn(data)
      switch frame.payload {
      case .headers(let headers): received(headers, on: frame.streamID)
      case .data(let data): received(data, on: frame.streamID)
      case .rstStream: streams[frame.streamID] = nil
      default: break
      }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
      if needsFlush { flush() }
      context.fireChannelReadComplete()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
      if let closed = event as? StreamClosedEvent {
        streams[closed.streamID] = nil
        closeIfDone()
      }
      context.fireUserInboundEventTriggered(event)
    }

    /// Ignores errors of a stream, which NIO answered with RST_STREAM. Closes after errors of the connection, which NIO
    /// answered with GOAWAY.
    func errorCaught(context: ChannelHandlerContext, error: any Error) {
      if error is any NIOHTTP2Error, !hasSentGoAway { return }
      context.close(promise: nil)
    }

    func wroteFrame(_ frame: HTTP2Frame) {
      if case .goAway = frame.payload { hasSentGoAway = true }
    }

    private func received(_ headers: HTTP2Frame.FramePayload.Headers, on id: HTTP2StreamID) {
      if streams[id] != nil {
        // A second HEADERS frame contains trailers, which are ignored.
        if headers.endStream { end(id) }
        return
      }
      newestStream = max(newestStream, id)
      // A client that has not received the limit yet may open more than one stream.
      guard isAuthenticated || streams.isEmpty else { return write(.rstStream(.refusedStream), on: id) }
      var head = Head()
      for (name, value, _) in headers.headers { head.note(name, value) }
      streams[id] = Stream(headers: headers.headers, head: head)
      if headers.endStream { end(id) }
    }

    private func end(_ id: HTTP2StreamID) {
      streams[id]?.hasEnded = true
      decide(id)
    }

    private func received(_ data: HTTP2Frame.FramePayload.Data, on id: HTTP2StreamID) {
      let padding = data.paddingBytes.map { $0 + 1 } ?? 0
      acknowledge(data.data.readableBytes + padding, on: data.endStream ? nil : id)
      if data.endStream { streams[id]?.hasEnded = true }
      guard case .byteBuffer(let bytes) = data.data, let length = streams[id]?.length, streams[id]?.isDecided == false
      else { return }
      let wanted = Checks.maxPayload + 1 - length
      if wanted > 0 { streams[id]?.body.append(contentsOf: bytes.readableBytesView.prefix(wanted)) }
      streams[id]?.length += bytes.readableBytes
      if data.endStream || length + bytes.readableBytes > Self.maxBody { decide(id) }
    }

    private func decide(_ id: HTTP2StreamID) {
      guard let stream = streams[id], !stream.isDecided else { return }
      // A GOAWAY follows that reports this request as unprocessed.
      if let lastSeen, id > lastSeen { return }
      streams[id]?.isDecided = true
      loop.refreshSettings()
      requests += 1
      lastRequest = .now()
      let now = loop.service.now(loop.settings)
      let verified = credential.verifications
      let decision = loop.service.decide(
        stream.head, body: stream.body, credential: &credential, settings: loop.settings, now: now,
        newID: loop.newID)
      loop.note(
        decision, of: stream.head, headers: stream.headers, payload: stream.body, connection: number,
        stream: Int(id), verifications: credential.verifications - verified, now: now)
      if case .goAway = decision.fault {
        lastSeen = max(id.before, newestTaken)
      } else {
        newestTaken = max(newestTaken, id)
      }
      let latency = loop.latency()
      guard latency > .zero else { return act(on: decision, id) }
      loop.eventLoop.assumeIsolated().scheduleTask(in: latency) { [weak self] in
        guard let self, streams[id] != nil else { return }
        act(on: decision, id)
        flush()
      }
    }

    private func act(on decision: Decision, _ id: HTTP2StreamID) {
      switch decision.fault {
      case nil, .answer:
        if !isAuthenticated, decision.keyID != nil {
          isAuthenticated = true
          sendSettings()
        }
        answer(decision, on: id)
      case .hang: return
      case .resetStream(let code): write(.rstStream(HTTP2ErrorCode(networkCode: code)), on: id)
      case .resetConnection: return abort()
      case .goAway: return goAway(.shutdown, lastStream: lastSeen ?? id.before)
      }
      if let max = loop.settings.requestsPerConnection, requests >= max, !hasSentGoAway {
        goAway(.shutdown, lastStream: newestStream)
      }
    }

    private func answer(_ decision: Decision, on id: HTTP2StreamID) {
      var headers = HPACKHeaders()
      var body: [UInt8] = []
      if case .refused(let refusal) = decision.outcome {
        headers.add(name: ":status", value: String(refusal.status))
        if let seconds = refusal.retryAfter { headers.add(name: "retry-after", value: String(seconds)) }
        body = refusal.json
      } else {
        headers.add(name: ":status", value: "200")
      }
      headers.add(name: "apns-id", value: decision.id, indexing: .nonIndexable)
      if loop.settings.environment == .sandbox {
        headers.add(name: "apns-unique-id", value: loop.newID(), indexing: .nonIndexable)
      }
      write(.headers(.init(headers: headers, endStream: body.isEmpty)), on: id)
      if !body.isEmpty { write(.data(.init(data: .byteBuffer(ByteBuffer(bytes: body)), endStream: true)), on: id) }
      guard streams.removeValue(forKey: id)?.hasEnded == false else { return }
      // RFC 9113, section 8.1: send the answer first, then reset the stream, because the rest of the request is not
      // read.
      flush()
      write(.rstStream(.noError), on: id)
    }

    private func write(_ payload: HTTP2Frame.FramePayload, on id: HTTP2StreamID) {
      guard let context else { return }
      needsFlush = true
      context.write(wrapOutboundOut(HTTP2Frame(streamID: id, payload: payload)), promise: nil)
    }

    private func flush() {
      needsFlush = false
      context?.flush()
    }
  }
}

extension AppleSimulator.Connection {
  /// Applies changed settings.
  func settingsChanged() {
    credential.forgetVerified()
    guard isAuthenticated else { return }
    sendSettings()
    flush()
  }

  private func sendSettings() {
    let settings = loop.settings
    write(
      .settings(
        .settings([
          HTTP2Setting(parameter: .maxConcurrentStreams, value: settings.streams),
          HTTP2Setting(parameter: .initialWindowSize, value: settings.window),
        ])), on: .rootStream)
  }

  /// Returns the flow-control credit of received bytes to the client, at once or after `readDelay`.
  private func acknowledge(_ bytes: Int, on stream: HTTP2StreamID?) {
    let delay = loop.settings.readDelay
    guard delay == .zero else {
      loop.eventLoop.assumeIsolated().scheduleTask(in: .nanoseconds(delay.nanoseconds)) { [weak self] in
        self?.open(bytes, of: .rootStream)
        if let stream, self?.streams[stream] != nil { self?.open(bytes, of: stream) }
        self?.flush()
      }
      return
    }
    unacknowledged += bytes
    if unacknowledged >= 16_384 {
      open(unacknowledged, of: .rootStream)
      unacknowledged = 0
    }
    if let stream, streams[stream] != nil { open(bytes, of: stream) }
  }

  private func open(_ bytes: Int, of stream: HTTP2StreamID) {
    if bytes > 0 { write(.windowUpdate(windowSizeIncrement: bytes), on: stream) }
  }

  /// Sends GOAWAY: answers no stream after `lastStream`, and closes when the others are answered.
  private func goAway(_ reason: AppleSimulator.Reason, lastStream: HTTP2StreamID) {
    let why = ByteBuffer(bytes: AppleSimulator.Refusal(reason).json)
    write(.goAway(lastStreamID: lastStream, errorCode: .noError, opaqueData: why), on: .rootStream)
    flush()
    closeIfDone()
  }

  /// Sends GOAWAY, and leaves the newest `leaving` unanswered requests without an answer.
  func goAway(_ reason: AppleSimulator.Reason, leaving: Int) {
    let left = streams.keys.sorted().suffix(leaving).first
    goAway(reason, lastStream: left.map { $0.before } ?? newestStream)
  }

  /// Closes the connection without a TLS close_notify and without a GOAWAY.
  func abort() {
    guard let context else { return }
    let lowest = try? context.pipeline.syncOperations.context(handlerType: NIOSSLServerHandler.self)
    (lowest ?? context).close(promise: nil)
  }

  private func closeIfDone() {
    guard hasSentGoAway, streams.isEmpty, let context else { return }
    flush()
    context.close(promise: nil)
  }

  private func checkIdleness(in time: TimeAmount) {
    idleCheck = loop.eventLoop.assumeIsolated().scheduleTask(in: time) { [weak self] in
      guard let self, context != nil else { return }
      let due = lastRequest + loop.idleTime
      guard NIODeadline.now() >= due, !streams.values.contains(where: \.isDecided) else {
        return checkIdleness(in: max(due - .now(), .seconds(1)))
      }
      // Discard requests that never became complete.
      streams.removeAll()
      goAway(.idleTimeout, lastStream: newestStream)
    }
  }
}

extension HTTP2StreamID {
  /// The id of the stream that the client opened before, or 0.
  fileprivate var before: HTTP2StreamID { HTTP2StreamID(max(0, Int(self) - 2)) }
}
