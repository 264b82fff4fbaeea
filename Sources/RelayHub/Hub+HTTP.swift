// SPDX-License-Identifier: Apache-2.0
import CRelay
public import HTTPTypes
public import RelayProtocol

// Answers to the HTTP requests that the hub delivers with `HubEvent.http`.

/// The limit of HTTP requests in progress, or of their bytes, that a request exceeds.
public enum BusyReason: Sendable {
  /// The limit of one user: `ConnectionLimits.requestsPerUser` or `unsentPerUser`.
  case user
  /// The limit of all requests together: `ConnectionLimits.unsent`.
  case all
}

extension Hub {
  /// Counts a request for its authenticated caller instead of its address.
  /// - Parameter user: The caller, or `nil` for an API key. Requests with an API key count only against the limit of
  ///   all requests.
  /// - Returns: The limit that the request exceeds. Is `nil` if it exceeds none.
  public func identify(_ exchange: ExchangeHandle, as user: UserID?) -> BusyReason? {
    switch relay_http_identify(hub, exchange.rawValue, user?.rawValue) {
    case 0: nil
    case 429: .user
    default: .all
    }
  }

  /// Sends the answer. If an answer of more than 4 KiB to a GET exceeds a limit of unread answers, sends 429 or 503
  /// instead.
  /// - Returns: The status that was sent.
  @discardableResult
  public func respond(to exchange: ExchangeHandle, with response: HTTPResponse) -> Int {
    response.body.withBytes {
      Int(relay_http_respond(hub, exchange.rawValue, Int32(response.status), Self.lines(response.headers), $0))
    }
  }

  /// Begins a streamed answer (server-sent events). ``write(_:to:)`` sends its parts.
  public func stream(to exchange: ExchangeHandle, headers: HTTPFields) {
    relay_http_stream(hub, exchange.rawValue, Self.lines(headers))
  }

  /// Sends a part of a stream. Returns false if the client has left, or if the hub has closed the connection because
  /// the client did not read.
  public func write(_ bytes: [UInt8], to exchange: ExchangeHandle) -> Bool {
    bytes.withBytes { relay_http_stream_write(hub, exchange.rawValue, $0) }
  }

  /// The bytes of a stream that wait for the client.
  public func unsent(of exchange: ExchangeHandle) -> Int { relay_http_stream_unsent(hub, exchange.rawValue) }

  /// Closes a stream after all its bytes are sent.
  public func finishStream(_ exchange: ExchangeHandle) { relay_http_stream_finish(hub, exchange.rawValue) }

  /// Closes a stream at once.
  public func endStream(_ exchange: ExchangeHandle) { relay_http_stream_end(hub, exchange.rawValue) }

  private static func lines(_ headers: HTTPFields) -> String {
    headers.map { "\($0.name.rawName): \($0.value)\r\n" }.joined()
  }
}
