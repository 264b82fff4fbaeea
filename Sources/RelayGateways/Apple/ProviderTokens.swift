// SPDX-License-Identifier: Apache-2.0
import RelayProtocol

/// The tokens of one key, one at a time, for all connections.
///
/// Apple's service wants a token to be renewed not more often than every 20 minutes and not more seldom than every 60.
/// Ages are measured by a clock that nobody sets.
struct ProviderTokens {
  struct Token: Equatable {
    let text: String
    let made: ContinuousClock.Instant
  }

  private let key: ProviderKey
  private(set) var token: Token?
  /// The service said that tokens changed too often: no sooner than this, unless it grows too old.
  private var keepUntil: ContinuousClock.Instant?

  static let renewal = Duration.seconds(40 * 60)
  static let shortestLife = Duration.seconds(20 * 60)
  /// A little less than the hour that is allowed: a request may wait before it leaves.
  static let longestLife = Duration.seconds(58 * 60)

  init(key: ProviderKey) { self.key = key }

  /// The token to send now.
  /// - Parameter wall: What is written into a new one.
  mutating func current(at now: ContinuousClock.Instant, wall: Timestamp) throws -> Token {
    if let token, now - token.made < life(of: token) { return token }
    let made = Token(text: try key.token(issued: wall), made: now)
    token = made
    keepUntil = nil
    return made
  }

  /// The service calls a token expired.
  /// - Returns: Whether another can be had: a newer one is there already, or may be made.
  mutating func expired(_ refused: Token, at now: ContinuousClock.Instant) -> Bool {
    guard token == refused else { return true }
    guard now - refused.made >= Self.shortestLife else { return false }
    token = nil
    return true
  }

  /// The service says that tokens change too often.
  mutating func changedTooOften(at now: ContinuousClock.Instant) { keepUntil = now + Self.shortestLife }

  private func life(of token: Token) -> Duration {
    guard let keepUntil else { return Self.renewal }
    return min(max(Self.renewal, keepUntil - token.made), Self.longestLife)
  }
}
