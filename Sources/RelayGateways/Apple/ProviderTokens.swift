// SPDX-License-Identifier: Apache-2.0
import RelayProtocol

/// The current provider token of one key, for all connections.
///
/// Apple's service requires a token to be between 20 and 60 minutes old when it is renewed. Ages use the monotonic
/// clock. A token has the time of the wall clock, so that a step of this clock ends it, unless tokens change too often.
struct ProviderTokens {
  struct Token: Equatable {
    let text: String
    let made: ContinuousClock.Instant
    /// The time in the token.
    let issued: Timestamp
  }

  private let key: ProviderKey
  private(set) var token: Token?
  /// Set after the service complained that tokens change too often. The token is kept until this time, but not longer
  /// than ``maxLife``.
  private var keepUntil: ContinuousClock.Instant?

  static let renewal = Duration.seconds(40 * 60)
  static let minLife = Duration.seconds(20 * 60)
  /// Less than the allowed hour, because a request may wait before it is sent.
  static let maxLife = Duration.seconds(58 * 60)

  init(key: ProviderKey) { self.key = key }

  /// Returns the token to send now. Creates one if necessary.
  /// - Parameter wall: The time of the wall clock, to write into a new token.
  mutating func current(at now: ContinuousClock.Instant, wall: Timestamp) throws -> Token {
    if let token, now - token.made < life(of: token) {
      let wasSet = TokenClock.wasSet(since: token.made, issued: token.issued, at: now, wall: wall)
      // The service would refuse another new token, whatever its time is.
      let mustKeep = keepUntil.map { now < $0 } ?? false
      if mustKeep || !wasSet { return token }
    }
    let made = Token(text: try key.token(issued: wall), made: now, issued: wall)
    token = made
    keepUntil = nil
    return made
  }

  /// Records that the service refused a token as expired.
  /// - Returns: True if another token is available: a newer one exists or may be created.
  mutating func expired(_ refused: Token, at now: ContinuousClock.Instant) -> Bool {
    guard token == refused else { return true }
    guard now - refused.made >= Self.minLife else { return false }
    token = nil
    return true
  }

  /// Records that the service complained that tokens change too often.
  mutating func changedTooOften(at now: ContinuousClock.Instant) { keepUntil = now + Self.minLife }

  private func life(of token: Token) -> Duration {
    guard let keepUntil else { return Self.renewal }
    return min(max(Self.renewal, keepUntil - token.made), Self.maxLife)
  }
}
