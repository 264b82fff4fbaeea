// SPDX-License-Identifier: Apache-2.0
import NIOCore
import NIOHPACK
import RelayProtocol

/// One attempt at one push.
struct AppleRequest: Sendable {
  var deviceToken: String
  /// Under Apple's names.
  var fields: [(name: String, value: String)]
  var payload: [UInt8]
  /// From when on it does not leave any more; nil: it always may.
  var expires: Timestamp?
}

/// What became of an attempt.
enum AppleFate: Sendable {
  /// - Parameters:
  ///   - token: The one that was sent.
  ///   - connection: On which.
  ///   - took: From its leaving to its answer.
  case answered(AppleAnswer, token: ProviderTokens.Token, connection: Int, took: Duration)
  /// It certainly did not reach a device.
  case unprocessed(GatewayReason)
  /// It may have reached a device.
  case unknown(GatewayReason)
}

/// A request on its way. Belongs to the pool's event loop.
final class AppleExchange {
  let id: Int
  let request: AppleRequest
  private let promise: EventLoopPromise<AppleFate>
  var deadline: Scheduled<Void>?

  /// Where it is, once it has left.
  var place: (connection: AppleConnection, stream: Int)?
  var token: ProviderTokens.Token?
  var left: ContinuousClock.Instant?

  var head: HPACKHeaders?
  var body: [UInt8] = []

  init(id: Int, request: AppleRequest, promise: EventLoopPromise<AppleFate>) {
    self.id = id
    self.request = request
    self.promise = promise
  }

  func end(_ fate: AppleFate) {
    deadline?.cancel()
    promise.succeed(fate)
  }
}
