// SPDX-License-Identifier: Apache-2.0

/// How it stands with the connection to the relay.
public enum ConnectionState: Equatable, Sendable {
  /// Not connected, by the app's own wish.
  case closed
  case connecting
  /// Welcome: requests are answered.
  case open
  /// Lost; the client comes back after this time.
  case waiting(Duration)
  /// Something must change first; only ``Stillwire/connect()`` tries again.
  case refused(Refusal)
}
