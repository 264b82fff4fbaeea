// SPDX-License-Identifier: Apache-2.0

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
