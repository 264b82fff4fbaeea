// SPDX-License-Identifier: Apache-2.0
import RelayHub
import RelayProtocol
import RelayStore

extension RequestError {
  /// The error that a client receives. Is `nil` for an error that the relay does not throw on purpose.
  init?(known error: any Error) {
    switch error {
    case let error as RequestError: self = error
    case let error as StoreError: self.init(error)
    case let error as HubRefusal: self.init(error)
    default: return nil
    }
  }

  private init(_ refusal: HubRefusal) {
    self =
      switch refusal {
      case .notThere: RequestError(.notJoined, "this session has not joined the room")
      case .tooMany: RequestError(.tooLarge, "the limit `roomsPerSession` is exceeded")
      case .gone: RequestError(.notFound, "the session, the user or the room no longer exists")
      }
  }

  /// The error that a client receives for an error of the store.
  init(_ error: StoreError) {
    self =
      switch error {
      case .tooMany(let limit): RequestError(.tooLarge, "the limit `\(limit.rawValue)` is exceeded")
      case .noRoom: RequestError(.notFound, "there is no such room")
      case .answered: RequestError(.conflict, "the message was answered in another way before")
      case .noNotification: RequestError(.notFound, "there is no such notification, or it is no longer kept")
      case .notMember: RequestError(.notJoined, "you are no longer a member of the room")
      // A retry would fail, too.
      case .failed, .damaged: RequestError(.internal, "something went wrong here")
      case .unavailable, .closed, .unusable, .newerSchema, .inUse:
        RequestError(.unavailable, "the store cannot be reached", retryAfter: .seconds(1))
      }
  }
}
