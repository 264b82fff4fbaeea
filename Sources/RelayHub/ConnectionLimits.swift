// SPDX-License-Identifier: Apache-2.0
import CRelay

/// The limits of connections, and of the HTTP requests in progress on them. For `Hub.init` only: `setLimits` does not
/// change these limits.
public struct ConnectionLimits: Equatable, Sendable {
  /// The maximum number of connections, at most ``possible``. Above it, a new connection gets 503.
  public var max = Self.possible
  /// The maximum number of connections from one IPv4 address or IPv6 /64; 0 means no limit. Above it, a new connection
  /// gets 429.
  public var perAddress = 0
  /// The time after which the hub closes an HTTP connection that waits for its next request. A proxy must close such a
  /// connection first: otherwise it may send a request while the hub closes the connection.
  public var idleTimeout = Duration.seconds(150)
  /// The maximum number of HTTP requests in progress of one user; 0 means no limit. Above it, a request gets 429. An
  /// address may have 16 times as many requests whose caller is not authenticated yet. Requests with an API key do not
  /// count.
  public var requestsPerUser = 64
  /// The maximum number of bytes in the bodies and unread answers of one user's requests; 0 means no limit. Above it, a
  /// request gets 429.
  public var unsentPerUser = 4 << 20
  /// The same for all requests together; 0 means no limit. Above it, a request gets 503.
  public var unsent = 128 << 20
  /// The networks (`10.0.0.0/8`) of trusted proxies. The relay takes the client's address from their `X-Forwarded-For`.
  /// Each must satisfy ``isNetwork(_:)``.
  public var trustedProxies: [String] = []

  public init() {}

  /// The number of connections that the process's limit of open files permits.
  public static var possible: Int { Int(relay_connections_possible()) }

  /// True if the text is valid as one of ``trustedProxies``.
  public static func isNetwork(_ text: String) -> Bool { relay_network_is_valid(text) }
}
