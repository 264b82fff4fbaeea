// SPDX-License-Identifier: Apache-2.0
// The requests and answers of `HTTPPool`.
import Foundation
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

/// A URL of a server that receives requests: a Matrix gateway, or the base of an `HTTPClient`.
public struct HTTPEndpoint: Sendable, Equatable {
  let destination: HTTPDestination
  let path: String

  /// Returns `nil` unless the text is an `http` or `https` URL with a host, and without a user or a fragment.
  public init?(_ text: String) {
    guard text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }), let parts = URLComponents(string: text),
      let scheme = parts.scheme?.lowercased(), ["http", "https"].contains(scheme),
      let host = parts.host?.lowercased(), !host.isEmpty, parts.user == nil, parts.password == nil,
      parts.fragment == nil, parts.port.map({ (1...65_535).contains($0) }) ?? true
    else { return nil }
    let isSecure = scheme == "https"
    let query = parts.percentEncodedQuery.map { "?\($0)" } ?? ""
    destination = HTTPDestination(
      isSecure: isSecure, host: host.trimmingCharacters(in: ["[", "]"]), port: parts.port ?? (isSecure ? 443 : 80))
    path = (parts.percentEncodedPath.isEmpty ? "/" : parts.percentEncodedPath) + query
  }
}

/// One attempt at a request.
struct OutboundRequest: PooledRequest {
  var method = HTTPMethod.POST
  var destination: HTTPDestination
  /// The path with the query.
  var path: String
  var fields: [(name: String, value: String)]
  var body: [UInt8]
  var expires: Timestamp?
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
