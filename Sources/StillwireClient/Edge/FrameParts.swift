// SPDX-License-Identifier: Apache-2.0
// Notices the parts of long frames. NIO's decoder passes on only complete ones.
import NIOCore
import NIOWebSocket

/// Follows the frames in the bytes of a WebSocket connection (RFC 6455, section 5.2), without their contents.
struct FrameParts {
  private enum Step {
    /// The next byte has the opcode of a frame.
    case opcode
    /// The next byte has the flag of the mask, and the length or its size.
    case length
    /// The next bytes have the rest of the length.
    case extendedLength(bytes: Int)
    case payload
  }

  private var step = Step.opcode
  private var isData = false
  private var isMasked = false
  /// The length of the rest of the payload.
  private var rest: UInt64 = 0

  /// Reads all bytes. Returns true if they end within a data frame. Control frames do not count, because a proxy may
  /// send them.
  mutating func read(_ bytes: ByteBuffer) -> Bool {
    var bytes = bytes
    while bytes.readableBytes > 0 { advance(&bytes) }
    if case .opcode = step { return false }
    return isData
  }

  private mutating func advance(_ bytes: inout ByteBuffer) {
    if case .payload = step {
      let count = min(Int(clamping: rest), bytes.readableBytes)
      bytes.moveReaderIndex(forwardBy: count)
      rest -= UInt64(count)
      if rest == 0 { step = .opcode }
      return
    }
    guard let byte = bytes.readInteger(as: UInt8.self) else { return }
    switch step {
    case .opcode:
      // The opcodes of control frames begin with 8.
      isData = byte & 0x08 == 0
      step = .length
    case .length:
      isMasked = byte & 0x80 != 0
      switch byte & 0x7F {
      case 126: beginLength(bytes: 2)
      case 127: beginLength(bytes: 8)
      case let length: beginPayload(UInt64(length))
      }
    case .extendedLength(let count):
      rest = rest << 8 | UInt64(byte)
      if count > 1 { step = .extendedLength(bytes: count - 1) } else { beginPayload(rest) }
    case .payload: break
    }
  }

  private mutating func beginLength(bytes: Int) {
    rest = 0
    step = .extendedLength(bytes: bytes)
  }

  private mutating func beginPayload(_ length: UInt64) {
    // The mask is before the payload. The decoder rejects a length that overflows here.
    rest = length &+ (isMasked ? 4 : 0)
    step = rest == 0 ? .opcode : .payload
  }
}

/// Calls a closure for each read that ends within a data frame. It is before the decoder in the pipeline.
final class PartReader: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer
  typealias InboundOut = ByteBuffer

  private let noted: () -> Void
  private var parts = FrameParts()

  init(noted: @escaping () -> Void) { self.noted = noted }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    if parts.read(unwrapInboundIn(data)) { noted() }
    context.fireChannelRead(data)
  }
}
