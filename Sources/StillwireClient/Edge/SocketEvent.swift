// SPDX-License-Identifier: Apache-2.0

/// What a socket tells, in the order in which it happened.
enum SocketEvent: Equatable, Sendable {
  /// A whole message.
  case textArrived([UInt8])
  /// A message that is no text.
  case bytesArrived
  /// It is over, once. The code is that of the relay's close frame; nil: there was none.
  case closed(code: UInt16?, reason: String)
}
