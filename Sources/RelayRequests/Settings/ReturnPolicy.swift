// SPDX-License-Identifier: Apache-2.0

/// The time for which the relay awaits the users who were online when an earlier run ended.
package struct ReturnPolicy: Equatable {
  /// The time that a user has to reconnect after the connection is lost.
  package let grace: Duration
  /// The maximum pause between two attempts of a client to reconnect.
  package let reconnect: Duration

  /// A graceful shutdown spreads the clients so that about 1,000 reconnect each second, within a minute at most.
  static let spread = Duration.milliseconds(1)
  static let maxSpread = Duration.seconds(60)

  /// Returns the time from the start of service, or `nil` if no user was online.
  /// - Parameter users: The number of users who were online.
  package func time(awaiting users: Int) -> Duration? {
    guard users > 0 else { return nil }
    return grace + reconnect + min(Self.spread * users, Self.maxSpread)
  }
}
