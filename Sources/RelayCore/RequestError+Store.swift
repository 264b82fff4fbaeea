// SPDX-License-Identifier: Apache-2.0
import RelayProtocol
package import RelayStore

extension RequestError {
  /// The error that a client receives when the store has failed.
  package init(_ error: StoreError) {
    self =
      switch error {
      case .tooMany(let limit): RequestError(.tooLarge, "one past the limit `\(limit.rawValue)`")
      case .noRoom: RequestError(.notFound, "there is no such room")
      case .answered: RequestError(.conflict, "the message was answered in another way before")
      case .noNotification: RequestError(.notFound, "there is no such notification, or not any more")
      case .notMember: RequestError(.notJoined, "you are no longer a member of the room")
      // Waiting mends neither.
      case .failed, .damaged: RequestError(.internal, "something went wrong here")
      case .unavailable, .closed, .unusable, .newerSchema, .inUse:
        RequestError(.unavailable, "the store cannot be reached", retryAfter: .seconds(1))
      }
  }
}
