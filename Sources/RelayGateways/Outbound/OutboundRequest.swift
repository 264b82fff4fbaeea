// SPDX-License-Identifier: Apache-2.0
// The requests and results of `HTTPPool`.
import NIOHTTP1
import RelayProtocol

/// The server that receives a request.
struct HTTPDestination: Hashable, Sendable {
  var isSecure: Bool
  /// A host name in lower case, or an IP address without brackets.
  var host: String
  var port: Int

  /// Host and port as in the header `Host` and in origins.
  var authority: String {
    let name = host.contains(":") ? "[\(host)]" : host
    return port == (isSecure ? 443 : 80) ? name : "\(name):\(port)"
  }

  var origin: String { "\(isSecure ? "https" : "http")://\(authority)" }
}

/// One attempt at a request.
struct OutboundRequest: Sendable {
  var method = HTTPMethod.POST
  var destination: HTTPDestination
  /// The path with the query.
  var path: String
  var fields: [(name: String, value: String)]
  var body: [UInt8]
  /// The pool does not send the request at this time or later. Is `nil` when the request does not expire.
  var expires: Timestamp?
}

/// The result of a request.
enum HTTPResult: Equatable, Sendable {
  case answered(HTTPAnswer)
  /// The request certainly did not reach the service.
  case unprocessed(GatewayReason)
  /// The request may have reached the service.
  case unknown(GatewayReason)
}

struct HTTPAnswer: Equatable, Sendable {
  var status: Int
  var retryAfter: Duration?
  /// Is `nil` when the answer did not end in time, or is larger than the pool permits.
  var body: [UInt8]? = []
}

extension Duration {
  /// Parses `Retry-After` (RFC 9110, section 10.2.3): seconds or a date.
  /// - Parameter now: The time of the service, which is the `Date` of its answer. Without one, the relay's time.
  init?(retryAfter text: String, now: Timestamp) {
    let maxSeconds: Int64 = 1_000_000_000_000
    if let seconds = Int64(text), (0...maxSeconds).contains(seconds) {
      self = .seconds(seconds)
    } else if let date = Timestamp(httpDate: text) {
      self = max(.zero, date - now)
    } else {
      return nil
    }
  }
}
