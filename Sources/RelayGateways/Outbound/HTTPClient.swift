// SPDX-License-Identifier: Apache-2.0
import NIOHTTP1
import NIOSSL
import RelayProtocol

/// Sends the requests of a command-line tool to the server that its operator names.
///
/// It uses the connection pool of the gateways, without their address policy: the operator chooses the address.
public struct HTTPClient: Sendable {
  /// The largest body of an answer in bytes. A larger answer is an error.
  public static let maxAnswer = 16 * 1024 * 1024

  private let base: HTTPEndpoint

  /// Returns `nil` unless the URL is an `http` or `https` URL with a host, and without a user, a query or a fragment.
  public init?(url: String) {
    guard let base = HTTPEndpoint(url), !base.path.contains("?") else { return nil }
    self.base = base
  }

  /// There is no complete answer. The description is for the operator.
  public struct Failure: Error, CustomStringConvertible {
    public let description: String
  }

  /// Sends a request on a connection of its own.
  /// - Parameters:
  ///   - path: The path below the URL, with the query.
  ///   - timeout: The timeout of the connection and the answer together.
  /// - Throws: ``Failure``.
  public func send(
    _ method: String, _ path: String, fields: [(name: String, value: String)] = [], body: [UInt8] = [],
    timeout: Duration = .seconds(30)
  ) async throws -> (status: Int, body: [UInt8]) {
    let connection = try connections(atMost: 1, timeout: timeout)
    defer { connection.close() }
    return try await connection.send(method, path, fields: [("Connection", "close")] + fields, body: body)
  }

  /// Returns connections that open when requests need them, and stay open between requests.
  /// - Parameters:
  ///   - count: The maximum number of connections. As many requests again may wait for one.
  ///   - timeout: The timeout of a request: for the connection and the answer together.
  public func connections(atMost count: Int, timeout: Duration) throws -> Connections {
    Connections(to: base, try Self.settings(atMost: count, timeout: timeout))
  }

  static func settings(atMost count: Int, timeout: Duration) throws -> PoolSettings {
    var settings = PoolSettings(tls: try .client(trusting: nil), clock: .system)
    settings.timeout = timeout
    settings.maxAnswer = maxAnswer
    settings.connections = count
    settings.queue = count
    return settings
  }

  /// Connections to one server.
  public struct Connections: Sendable {
    private let base: HTTPEndpoint
    private let pool: HTTPPool

    init(to base: HTTPEndpoint, _ settings: PoolSettings) {
      self.base = base
      pool = HTTPPool(settings: settings)
    }

    /// Sends a request once.
    /// - Parameter path: The path below the URL, with the query.
    /// - Throws: ``HTTPClient/Failure``.
    public func send(
      _ method: String, _ path: String, fields: [(name: String, value: String)] = [], body: [UInt8] = []
    ) async throws(Failure) -> (status: Int, body: [UInt8]) {
      let below = base.path.hasSuffix("/") ? String(base.path.dropLast()) : base.path
      let result = await pool.send(
        OutboundRequest(
          method: HTTPMethod(rawValue: method), destination: base.destination, path: below + path, fields: fields,
          body: body))
      switch result {
      case .answered(let answer):
        guard let body = answer.body else {
          throw Failure(description: "the answer is incomplete, or has more than \(HTTPClient.maxAnswer) bytes")
        }
        return (answer.status, body)
      case .unprocessed(.timeout, _), .unknown(.timeout): throw Failure(description: "no answer in time")
      case .unprocessed(_, let cause?): throw Failure(description: cause)
      case .unprocessed(.connectionLost, nil), .unknown(.connectionLost):
        throw Failure(description: "the connection ended before the answer")
      case .unprocessed(let reason, nil), .unknown(let reason): throw Failure(description: reason.rawValue)
      }
    }

    /// Closes the connections. Requests that were sent may still be answered.
    public func close() { pool.close() }
  }
}
