// SPDX-License-Identifier: Apache-2.0
// The requests of `AppleConnectionPool` and their results.
import NIOCore
import NIOHPACK
import RelayProtocol

/// One attempt at a push to Apple's service.
struct AppleRequest: Sendable {
  var deviceToken: String
  /// The headers under Apple's names.
  var fields: [(name: String, value: String)]
  var payload: [UInt8]
  /// The pool does not send the request at this time or later. Is `nil` when the request does not expire.
  var expires: Timestamp?
}

/// The result of an attempt.
enum AppleResult: Sendable {
  /// - Parameters:
  ///   - token: The token that was sent.
  ///   - connection: The number of the connection.
  ///   - took: The time from sending to the answer.
  case answered(AppleAnswer, token: ProviderTokens.Token, connection: Int, took: Duration)
  /// The push certainly did not reach a device.
  case unprocessed(GatewayReason)
  /// The push may have reached a device.
  case unknown(GatewayReason)
}

/// A request that waits for a stream or an answer. Use it on the pool's event loop only.
final class AppleExchange {
  let id: Int
  let request: AppleRequest
  private let promise: EventLoopPromise<AppleResult>
  var deadline: Scheduled<Void>?

  /// The connection and the stream on which the request was sent.
  var assignment: (connection: AppleConnection, stream: Int)?
  var token: ProviderTokens.Token?
  var left: ContinuousClock.Instant?

  var head: HPACKHeaders?
  var body: [UInt8] = []

  init(id: Int, request: AppleRequest, promise: EventLoopPromise<AppleResult>) {
    self.id = id
    self.request = request
    self.promise = promise
  }

  func end(_ result: AppleResult) {
    deadline?.cancel()
    promise.succeed(result)
  }
}
