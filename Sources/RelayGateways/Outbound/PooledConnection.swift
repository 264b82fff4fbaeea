// SPDX-License-Identifier: Apache-2.0
// A connection of `ConnectionPool`, and the requests that the pool gives to it.
import NIOCore
import RelayProtocol

/// One attempt at a request.
protocol PooledRequest: Sendable {
  /// The pool does not send the request at this time or later. Is `nil` when the request does not expire.
  var expires: Timestamp? { get }
}

/// The result of a request.
enum PoolResult<Answer: Sendable>: Sendable {
  case answered(Answer)
  /// The request certainly did not reach the service. `cause`: the last error of a connection, in an operator's words.
  case unprocessed(GatewayReason, cause: String? = nil)
  /// The request may have reached the service.
  case unknown(GatewayReason)
}

extension PoolResult: Equatable where Answer: Equatable {}

/// A NIO channel handler that sends requests. Use it on the pool's event loop only.
protocol PooledConnection: ChannelInboundHandler, SendableMetatype {
  associatedtype Request: PooledRequest
  associatedtype Answer: Sendable

  var number: Int { get }
  /// The number of requests that can be sent now.
  var capacity: Int { get }
  /// The number of unanswered requests.
  var load: Int { get }
  /// True if the connection is established, with TLS and the protocol.
  var isReady: Bool { get }
  /// True if the service has accepted the connection, so that its end is not a failure to connect.
  var isProven: Bool { get }
  /// True if the connection takes no more requests.
  var isEnding: Bool { get }

  /// Notes that the TCP connection is open.
  func connected()
  /// Sends a request. The connection must have capacity for it. Throws an error if there is no credential for it.
  func send(_ exchange: Exchange<Self>) throws
  /// Stops waiting for the answer, and ends the exchange.
  func giveUp(_ exchange: Exchange<Self>, _ reason: GatewayReason)
  /// Takes no more requests, and closes when the current requests are answered.
  func retire()
  /// Closes at once, even with unanswered requests.
  func close()
}

extension PooledConnection {
  /// True if the connection may soon have more capacity.
  var isComing: Bool { !isProven && !isEnding }
}

/// A request that waits for a connection or an answer. Use it on the pool's event loop only.
final class Exchange<Connection: PooledConnection> {
  let request: Connection.Request
  let destination: HTTPDestination
  private let promise: EventLoopPromise<PoolResult<Connection.Answer>>
  var deadline: Scheduled<Void>?
  /// The connection on which the request was sent.
  var connection: Connection?

  init(
    _ request: Connection.Request, to destination: HTTPDestination,
    promise: EventLoopPromise<PoolResult<Connection.Answer>>
  ) {
    self.request = request
    self.destination = destination
    self.promise = promise
  }

  func end(_ result: PoolResult<Connection.Answer>) {
    deadline?.cancel()
    connection = nil
    promise.succeed(result)
  }
}
