// SPDX-License-Identifier: Apache-2.0

/// The state of the connection to the relay.
public enum ConnectionState: Equatable, Sendable {
  /// Not connected: ``Stillwire/run()`` has not started or has ended.
  case closed
  case connecting
  /// The relay has sent `welcome`, and answers requests.
  case open
  /// The connection was lost. The client reconnects after this delay.
  case waiting(Duration)
  /// The relay refused the client. It connects again only after ``Stillwire/connect()``.
  case refused(Refusal)
}
