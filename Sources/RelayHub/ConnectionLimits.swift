// SPDX-License-Identifier: Apache-2.0
import CRelay

/// Bounds on connections and on the HTTP requests that they carry.
public struct ConnectionLimits: Equatable, Sendable {
  /// In all; one more is told 503. At most ``possible``.
  public var most = Self.possible
  /// From an IPv4 address or an IPv6 /64; 0: no limit. One more is told 429.
  public var perAddress = 0
  /// HTTP requests under way of one user; 0: no limit. Past it a request gets 429. An address may have 16 times as
  /// many from callers that are not known yet. Requests with an API key do not count here.
  public var requestsPerUser = 64
  /// Bytes of bodies and unread answers that these requests may hold; 0: no limit. Past it a request gets 429.
  public var unsentPerUser = 4 << 20
  /// The same for all requests together; 0: no limit. Past it a request gets 503.
  public var unsent = 128 << 20
  /// Networks (`10.0.0.0/8`) whose `X-Forwarded-For` says who is behind them; see ``isNetwork(_:)``.
  public var trustedProxies: [String] = []

  public init() {}

  /// What the limit of open files leaves room for.
  public static var possible: Int { Int(relay_connections_possible()) }

  public static func isNetwork(_ text: String) -> Bool { relay_network_is_valid(text) }
}
