// SPDX-License-Identifier: Apache-2.0

import RelayJSON
import RelayProtocol

/// What the machine wants done, in this order.
enum Action: Equatable, Sendable {
  /// Ask who the app acts for, and open a socket.
  case open(attempt: Int, isExpired: Bool)
  /// Ask for a newer token than the one that this attempt has led to a session with.
  case renew(attempt: Int)
  case write([UInt8])
  /// Say goodbye with a code; nothing of this socket is heard any more.
  case close(code: UInt16)
  /// Let the socket, or the attempt at one, go without a word.
  case drop
  case tell(Event)
  /// Somebody's request is over.
  case finish(Ticket, Result<JSON, StillwireError>)
}

/// Who waits for the end of a request: given by the edge.
package typealias Ticket = UInt64
