// SPDX-License-Identifier: Apache-2.0
// The decision to end the ringing of a phone after an event of the relay. Has no dependency on CallKit.
public import RelayProtocol

extension IncomingCall {
  /// The reason for which a call ends on this phone, as CallKit names it.
  public enum End: Equatable, Sendable, CaseIterable {
    case answeredElsewhere, declinedElsewhere, unanswered, remoteEnded
  }

  /// Returns the end of this call after an event. Returns `nil` if the call continues, or if the event is about another
  /// call.
  /// - Parameters:
  ///   - event: A change of a call.
  ///   - user: The user of this app.
  ///   - isAccepted: True if the person has accepted the call on this phone.
  public func end(after event: CallEvent, of user: UserID, isAccepted: Bool) -> End? {
    guard let message = payload.message, event.call.message == message else { return nil }
    // The relay names one device of the user as the one that has answered. It refuses the answer of a second one.
    if event.user == user, !isAccepted {
      if event.cause == .answer { return .answeredElsewhere }
      if event.cause == .decline { return .declinedElsewhere }
    }
    switch event.call.state {
    case .ringing, .answered:
      return event.user == user && event.cause == .hangUp ? .remoteEnded : nil
    case .missed: return .unanswered
    case .declined: return event.user == user ? .declinedElsewhere : .remoteEnded
    case .cancelled, .ended: return .remoteEnded
    }
  }
}
