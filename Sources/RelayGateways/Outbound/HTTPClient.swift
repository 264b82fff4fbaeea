// SPDX-License-Identifier: Apache-2.0
import NIOHTTP1
import NIOSSL
import RelayProtocol
import Synchronization

/// Sends single requests of a command-line tool to the server that its operator names.
///
/// It uses the connection pool of the gateways, without their address policy: the operator chooses the address.
public struct HTTPClient: Sendable {
  /// The largest body of an answer in bytes. A larger answer is an error.
  public static let maxAnswer = 16 * 1024 * 1024

  private let base: HTTPGatewayApp.Endpoint

  /// Returns `nil` unless the URL is an `http` or `https` URL with a host, and without a user, a query or a fragment.
  public init?(url: String) {
    guard let base = HTTPGatewayApp.Endpoint(url), !base.path.contains("?") else { return nil }
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
    _ method: String, _ path: String, fields: [(name: String, value: String)] = [], timeout: Duration = .seconds(30)
  ) async throws -> (status: Int, body: [UInt8]) {
    var settings = HTTPPoolSettings(tls: try .client(trusting: nil), clock: .system)
    settings.timeout = timeout
    settings.maxAnswer = Self.maxAnswer
    let lastError = Mutex<String?>(nil)
    let pool = HTTPPool(settings: settings) { _, error in lastError.withLock { $0 = "\(error)" } }
    defer { pool.close() }
    let below = base.path.hasSuffix("/") ? String(base.path.dropLast()) : base.path
    let result = await pool.send(
      OutboundRequest(
        method: HTTPMethod(rawValue: method), destination: base.destination, path: below + path,
        fields: [("Connection", "close")] + fields, body: []))
    switch result {
    case .answered(let answer):
      guard let body = answer.body else {
        throw Failure(description: "the answer is incomplete, or has more than \(Self.maxAnswer) bytes")
      }
      return (answer.status, body)
    case .unprocessed(.timeout), .unknown(.timeout): throw Failure(description: "no answer in time")
    case .unprocessed(let reason), .unknown(let reason):
      throw Failure(description: lastError.withLock { $0 } ?? reason.rawValue)
    }
  }
}
