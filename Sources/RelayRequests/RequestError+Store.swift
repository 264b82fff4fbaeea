// SPDX-License-Identifier: Apache-2.0
import RelayHub
package import RelayProtocol
package import RelayStore

extension RequestError {
  /// The error that a client receives. Is `nil` for an error that the relay does not throw on purpose.
  package init?(known error: any Error) {
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
  package init(_ error: StoreError) {
    self =
      switch error {
      case .tooLarge: RequestError(.tooLarge, "the change is too large")
      case .tooMany(let limit): RequestError(.tooLarge, "the limit `\(limit.rawValue)` is exceeded")
      case .noRoom: RequestError(.notFound, "there is no such room")
      case .answered: RequestError(.conflict, "the message was answered in another way before")
      case .noNotification: RequestError(.notFound, "there is no such notification, or it is no longer kept")
      case .notMember: RequestError(.notJoined, "you are no longer a member of the room")
      case .beingErased: .beingErased
      case .ringing: RequestError(.conflict, "a call rings in the room already", at: "/room")
      case .call(let refusal): RequestError(refusal)
      case .refused(let refusal): RequestError(refusal)
      // A retry would fail, too.
      case .failed, .invalidRow: RequestError(.internal, "something went wrong here")
      // The operator replaces a damaged database, or another node takes over. Then a retry succeeds.
      case .unavailable, .damaged, .ended, .closed, .unusable, .newerSchema, .inUse:
        RequestError(.unavailable, "the store cannot be reached", retryAfter: .seconds(1))
      }
  }

  /// A request with the name of a user who is being erased.
  package static let beingErased = RequestError(.unavailable, "the user is being erased", retryAfter: .seconds(1))

  private init(_ refusal: Call.Refusal) {
    self =
      switch refusal {
      case .ownCall: RequestError(.conflict, "the caller of a call can only hang up", at: "/seq")
      case .answeredOn(let device):
        RequestError(
          .conflict, "you have answered the call on \(device.map { "the device \($0)" } ?? "another session")",
          at: "/seq")
      case .over(let state): RequestError(.conflict, "the call is over: \(state.rawValue)", at: "/seq")
      case .tooManyAnswers:
        RequestError(.conflict, "you have answered the call \(Call.maxAnswers) times, which is the maximum", at: "/seq")
      case .full:
        RequestError(.tooLarge, "the call has \(Call.maxMembers) users, which is the maximum", at: "/seq")
      }
  }

  private init(_ refusal: RoomRefusal) {
    self =
      switch refusal {
      case .exists: RequestError(.conflict, "a room of this name exists", at: "/room")
      case .invited: RequestError(.forbidden, "only a moderator can add users to this room", at: "/room")
      case .banned(let until):
        RequestError(
          .forbidden, "you are banned from this room" + (until.map { " until \($0.rawValue)" } ?? ""), at: "/room")
      case .noMember: RequestError(.notFound, "the user is not a member of the room", at: "/user")
      case .lastOwner:
        RequestError(.conflict, "the room needs an owner: make another member an owner first", at: "/role")
      case .isOwner:
        RequestError(.forbidden, "only a backend may do this with an owner: take the role away first", at: "/user")
      case .noInvitation: RequestError(.notFound, "you have no invitation to this room", at: "/room")
      case .needs(let role): RequestError(.forbidden, "this needs the role \(role.name)")
      case .tooManyReactions:
        RequestError(.tooLarge, "the message has \(Reactions.maxCount) reactions, which is the maximum", at: "/seq")
      case .tooManyReactionKeys:
        RequestError(
          .tooLarge, "the message has reactions with \(Reactions.maxKeys) other keys, which is the maximum", at: "/key")
      case .ownMessage: RequestError(.conflict, "you have sent this message yourself", at: "/seq")
      case .noReport: RequestError(.notFound, "the room has no such report", at: "/report")
      case .tooManyReports(let delay):
        RequestError(
          .rateLimited, "you have reported \(MessageReportWriter.maxOfUser) messages within a day", retryAfter: delay)
      case .tooManyPins:
        RequestError(.tooLarge, "the room has \(Pins.maxCount) pinned messages, which is the maximum", at: "/seq")
      case .isDirect: RequestError(.unsupported, "a direct room does not support this", at: "/room", status: 422)
      case .outdated(let version): RequestError(.conflict, "the room is now at version \(version)", at: "/version")
      }
  }
}
