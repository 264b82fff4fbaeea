// SPDX-License-Identifier: Apache-2.0
// The pool of HTTP/2 connections to Apple's service, its requests and their answers.
import Logging
import NIOCore
import NIOHTTP2
import RelayProtocol

/// The connections to one host for one key.
///
/// A general HTTP client cannot replace it, because retries depend on details that such clients hide:
/// - the streams that a GOAWAY leaves unprocessed
/// - Apple's limit on streams before the first accepted token
/// - the connection on which a token was refused
typealias AppleConnectionPool = ConnectionPool<AppleConnection>

extension AppleConnectionPool {
  /// - Parameter authorize: Returns the token for the next request. The pool calls it on the loop.
  convenience init(
    settings: PoolSettings, authorize: @escaping @Sendable () throws -> ProviderTokens.Token, log: Logger
  ) {
    self.init(
      settings,
      fill: { pipeline, pool, number, destination in
        try pipeline.addTLSClient(settings.tls, host: destination.host)
        try pipeline.addHandlers([
          NIOHTTP2Handler(mode: .client, initialSettings: [HTTP2Setting(parameter: .enablePush, value: 0)]),
          AppleConnection(number: number, destination: destination, pool: pool, authorize: authorize, log: log),
        ])
      })
  }
}

/// One attempt at a push to Apple's service.
struct AppleRequest: PooledRequest {
  var deviceToken: String
  /// The headers under Apple's names.
  var fields: [(name: String, value: String)]
  var payload: [UInt8]
  var expires: Timestamp?
}

/// The answer to an attempt.
struct AppleReply: Sendable {
  var answer: AppleAnswer
  /// The token that was sent.
  var token: ProviderTokens.Token
  /// The number of the connection.
  var connection: Int
  /// The time from sending to the answer.
  var took: Duration
}
