// SPDX-License-Identifier: Apache-2.0

import RelayJSON
import RelayProtocol

/// An effect that `ClientMachine` requests. `Engine` performs the actions in their order.
enum Action: Equatable, Sendable {
  /// Get the identity from the app, and open a socket to the address.
  case open(attempt: Int, RelayAddress, isExpired: Bool)
  /// Get a newer token from the app for the session of this attempt.
  case renew(attempt: Int)
  case write([UInt8])
  /// Start the close handshake with a code, and ignore all that this socket receives from now on.
  case close(code: UInt16)
  /// Close the socket, or end the attempt to open it, without a close handshake.
  case drop
  /// Notify the app.
  case emit(Event)
  /// Finish a request with its result.
  case finish(Ticket, Result<JSON, StillwireError>)
}

/// Identifies a caller that waits for a result. `Engine` assigns the numbers.
package typealias Ticket = UInt64
