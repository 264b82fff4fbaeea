// SPDX-License-Identifier: Apache-2.0
import CRelay

/// How many may connect.
public struct ConnectionLimits: Equatable, Sendable {
  /// In all; one more is told 503. At most ``possible``.
  public var most = Self.possible
  /// From an IPv4 address or an IPv6 /64; 0: no limit. One more is told 429.
  public var perAddress = 0
  /// Networks (`10.0.0.0/8`) whose `X-Forwarded-For` says who is behind them; see ``isNetwork(_:)``.
  public var trustedProxies: [String] = []

  public init() {}

  /// What the limit of open files leaves room for.
  public static var possible: Int { Int(relay_connections_possible()) }

  public static func isNetwork(_ text: String) -> Bool { relay_network_is_valid(text) }
}
