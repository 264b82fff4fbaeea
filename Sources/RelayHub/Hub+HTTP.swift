// SPDX-License-Identifier: Apache-2.0
import CRelay
public import HTTPTypes
public import RelayProtocol

/// The bound on HTTP requests under way, and on the bytes that they hold, that a request exceeds.
public enum BusyReason: Sendable {
  /// That of one user.
  case user
  /// That of all requests together.
  case all
}

extension Hub {
  /// Counts a request for its caller, no longer for its address.
  /// - Parameter user: `nil` for a backend, whose requests count only against the bound of all requests.
  /// - Returns: The bound that is reached, if one is.
  public func identify(_ exchange: ExchangeHandle, as user: UserID?) -> BusyReason? {
    switch relay_http_identify(hub, exchange.rawValue, user?.rawValue) {
    case 0: nil
    case 429: .user
    default: .all
    }
  }

  /// Sends the answer, or 429 or 503 in place of a large answer to a GET if a bound on unread answers is reached.
  /// - Returns: The status that was sent.
  @discardableResult
  public func respond(to exchange: ExchangeHandle, with response: HTTPResponse) -> Int {
    response.body.withBytes {
      Int(relay_http_respond(hub, exchange.rawValue, Int32(response.status), Self.lines(response.headers), $0))
    }
  }

  /// Begins an answer without an end; its pieces follow with ``write(_:to:)``.
  public func stream(to exchange: ExchangeHandle, headers: HTTPFields) {
    relay_http_stream(hub, exchange.rawValue, Self.lines(headers))
  }

  /// false: the client is gone, or was cut because it did not read.
  public func write(_ bytes: [UInt8], to exchange: ExchangeHandle) -> Bool {
    bytes.withBytes { relay_http_stream_write(hub, exchange.rawValue, $0) }
  }

  public func endStream(_ exchange: ExchangeHandle) { relay_http_stream_end(hub, exchange.rawValue) }

  private static func lines(_ headers: HTTPFields) -> String {
    headers.map { "\($0.name.rawName): \($0.value)\r\n" }.joined()
  }
}
