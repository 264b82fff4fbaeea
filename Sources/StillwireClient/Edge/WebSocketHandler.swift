// SPDX-License-Identifier: Apache-2.0
import NIOCore
import NIOWebSocket

/// The last handler of a pipeline. It converts frames to events, answers pings, and performs the close handshake
/// (RFC 6455, section 7). Use it only on the channel's event loop.
final class WebSocketHandler: ChannelInboundHandler {
  typealias InboundIn = WebSocketFrame
  typealias OutboundOut = WebSocketFrame

  private let emit: (SocketEvent) -> Void
  private var context: ChannelHandlerContext?
  private var isClosing = false
  private var closure: (code: UInt16?, reason: String) = (nil, "")
  private var hasEnded = false

  /// Timeout of the close handshake. The client closes the socket then.
  static let closePatience = TimeAmount.seconds(1)

  init(emit: @escaping (SocketEvent) -> Void) { self.emit = emit }

  func handlerAdded(context: ChannelHandlerContext) { self.context = context }

  func handlerRemoved(context: ChannelHandlerContext) {
    self.context = nil
    ended()
  }

  func channelInactive(context: ChannelHandlerContext) {
    ended()
    context.fireChannelInactive()
  }

  /// Closes the socket after invalid bytes, which the decoder and the aggregator report. No frame follows them.
  func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    let frame = unwrapInboundIn(data)
    // A server must not mask (RFC 6455, section 5.1). `unmaskedData` has the right bytes in both cases.
    switch frame.opcode {
    case .text:
      if !isClosing { emit(.textArrived(Array(buffer: frame.unmaskedData))) }
    case .ping:
      if !isClosing { write(.pong, frame.unmaskedData, context) }
    case .pong: break
    case .connectionClose: closeArrived(frame.unmaskedData, context)
    default:
      if !isClosing { emit(.bytesArrived) }
    }
  }

  /// Sends a text message. Does nothing after ``close(code:)``.
  func send(_ text: [UInt8]) {
    guard let context, !isClosing else { return }
    write(.text, context.channel.allocator.buffer(bytes: text), context)
  }

  /// Starts the close handshake. The socket closes after the relay's answer, or after the timeout.
  func close(code: UInt16) {
    guard let context, !isClosing else { return }
    isClosing = true
    var buffer = context.channel.allocator.buffer(capacity: 2)
    buffer.writeInteger(code)
    write(.connectionClose, buffer, context)
    let channel = context.channel
    context.eventLoop.scheduleTask(in: Self.closePatience) { channel.close(promise: nil) }
  }

  private func closeArrived(_ buffer: ByteBuffer, _ context: ChannelHandlerContext) {
    var words = buffer
    let code = words.readInteger(as: UInt16.self)
    if !isClosing {
      isClosing = true
      closure = (code, String(buffer: words))
      var echo = context.channel.allocator.buffer(capacity: 2)
      if let code { echo.writeInteger(code) }
      write(.connectionClose, echo, context)
    }
    context.close(promise: nil)
  }

  private func ended() {
    guard !hasEnded else { return }
    hasEnded = true
    isClosing = true
    emit(.closed(code: closure.code, reason: closure.reason))
  }

  private func write(_ opcode: WebSocketOpcode, _ buffer: ByteBuffer, _ context: ChannelHandlerContext) {
    let frame = WebSocketFrame(fin: true, opcode: opcode, maskKey: .random(), data: buffer)
    context.writeAndFlush(wrapOutboundOut(frame), promise: nil)
  }
}

/// An event of a socket. `WebSocketHandler` delivers the events in their order.
enum SocketEvent: Equatable, Sendable {
  /// Bytes of a message arrived that is not complete yet.
  case partArrived
  /// A complete text message arrived.
  case textArrived([UInt8])
  /// A message arrived that is not text. The protocol has none.
  case bytesArrived
  /// The socket has ended. This is the last event, and occurs once. The code is that of the relay's close frame, or
  /// `nil` without a close frame.
  case closed(code: UInt16?, reason: String)
}
