// SPDX-License-Identifier: Apache-2.0
import RelayProtocol

/// The cached tokens of one key: one for each origin, renewed after an hour, or when the wall clock was set.
struct VAPIDTokens {
  private struct Token {
    let text: String
    let made: ContinuousClock.Instant
    let issued: Timestamp
  }

  private let key: VAPIDKey
  private var tokens = RecentlyUsed<String, Token>(capacity: Self.maxOrigins)

  static let renewal = Duration.seconds(3600)
  /// Half of the lifetime that RFC 8292, section 2, allows, because the service's clock may differ from the relay's.
  static let lifetime = Duration.seconds(12 * 3600)
  static let maxOrigins = 256

  init(key: VAPIDKey) { self.key = key }

  /// Returns the header `Authorization` of a request to an origin (section 3).
  mutating func authorization(
    for origin: String, at now: ContinuousClock.Instant, wall: Timestamp
  ) throws -> String {
    let known = tokens.use(origin) { $0 }
    if let known, now - known.made < Self.renewal,
      !TokenClock.wasSet(since: known.made, issued: known.issued, at: now, wall: wall)
    {
      return known.text
    }
    let token = try key.token(audience: origin, expires: wall + Self.lifetime)
    let made = Token(text: "vapid t=\(token), k=\(key.publicKey)", made: now, issued: wall)
    if tokens.use(origin, { $0 = made }) == nil { _ = tokens.insert(made, for: origin) }
    return made.text
  }
}
