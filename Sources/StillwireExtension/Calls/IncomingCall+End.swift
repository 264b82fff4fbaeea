// SPDX-License-Identifier: Apache-2.0
// The decisions to end a call on a phone: after an event of the relay, and after a read of the call. Has no dependency on
// CallKit.
public import RelayProtocol

extension IncomingCall {
  /// The reason for which a call ends on this phone, as CallKit names it.
  public enum End: Equatable, Sendable, CaseIterable {
    case answeredElsewhere, declinedElsewhere, unanswered, remoteEnded
    /// The answer did not reach the relay, or the relay refused it.
    case failed
  }

  /// Returns the end of this call after an event. Returns `nil` if the call continues, or if the event is about another
  /// call.
  /// - Parameters:
  ///   - event: A change of a call.
  ///   - user: The user of this app, for a call that does not name its recipient.
  ///   - isAccepted: True if the person has accepted the call on this phone.
  public func end(after event: CallEvent, of user: UserID, isAccepted: Bool) -> End? {
    guard let message = payload.message, event.call.message == message else { return nil }
    let user = payload.recipient ?? user
    // The relay names one device of the user as the one that has answered. It refuses the answer of a second one.
    if event.user == user, !isAccepted {
      if event.cause == .answer { return .answeredElsewhere }
      if event.cause == .decline { return .declinedElsewhere }
    }
    if let end = Self.end(in: event.call.state, isDeclined: event.user == user) { return end }
    return event.user == user && event.cause == .hangUp ? .remoteEnded : nil
  }

  /// Returns the end of this call, as the relay has stored it: events of the call may be lost. Returns `nil` if the call
  /// continues, or if the record is that of another call.
  /// - Parameters:
  ///   - record: The call, from a reply. Do not pass the record of an event, because it lacks the users.
  ///   - user: The user of this app, for a call that does not name its recipient. If it is `nil`, only the state of the
  ///     call counts.
  ///   - isAccepted: True if the person has accepted the call on this phone.
  public func end(in record: CallRecord, of user: UserID?, isAccepted: Bool) -> End? {
    guard let message = payload.message, record.message == message else { return nil }
    let user = payload.recipient ?? user
    let party = user.flatMap { record.parties[$0]?.state }
    // All members decline before the call is declined.
    if let end = Self.end(in: record.state, isDeclined: user == nil || party == .declined) { return end }
    guard !isAccepted else { return nil }
    switch party {
    case .answered: return .answeredElsewhere
    case .declined: return .declinedElsewhere
    case .left: return .remoteEnded
    case nil: return nil
    }
  }

  private static func end(in state: Call.State, isDeclined: Bool) -> End? {
    switch state {
    case .ringing, .answered: nil
    case .missed: .unanswered
    case .declined: isDeclined ? .declinedElsewhere : .remoteEnded
    case .cancelled, .ended: .remoteEnded
    }
  }
}
