// SPDX-License-Identifier: Apache-2.0
// The life of an incoming call on a phone, as a pure state machine. `CallReceiver` of StillwireApple performs its effects
// with CallKit and the relay.
public import RelayProtocol

/// An incoming call on this phone, from its push to its end.
public struct PhoneCall: Equatable, Sendable {
  public enum Phase: Equatable, Sendable, CaseIterable {
    case ringing
    /// The person has accepted, and the relay has not replied to the answer.
    case answering
    /// The relay has refused the answer as a conflict, and the phone reads the reason.
    case conflicted
    /// The relay has accepted the answer.
    case answered
    /// The call is over on this phone, and the relay has not replied to the answer.
    case leaving
    /// The phone has not shown the call, for example in a Focus. It shows a notification about it.
    case silenced
    case over
  }

  /// An event of the phone or of the relay.
  public enum Input: Equatable, Sendable {
    /// The person accepts the call.
    case accepted
    /// The person declines the call or hangs up.
    case ended
    /// CallKit has discarded the call.
    case discarded
    /// CallKit does not show the call.
    case notShown(NotShown)
    /// The app has ended the call, and reports the end to CallKit itself.
    case dismissed
    /// The time of the ringing is over.
    case timedOut
    /// The relay replies to the answer.
    case replied(Reply)
    /// The relay sends an event. The user is that of this app.
    case changed(CallEvent, UserID)
    /// The call was read. The user is that of this app, if the app has named one.
    case read(CallRecord, UserID?)
    /// The call could not be read.
    case readFailed(ReadFailure)
  }

  /// The reason for which CallKit does not show a call.
  public enum NotShown: Equatable, Sendable, CaseIterable {
    /// A Focus is on, and the caller is not one of its Allowed People.
    case focus
    /// The person has blocked the caller on the phone.
    case blocked
    /// CallKit knows a call with this id.
    case duplicate
    /// Another error, for example a missing entitlement.
    case failed

    /// True if the person learns of the call by a notification.
    var hasNotification: Bool { self == .focus || self == .failed }
  }

  /// The result of the answer at the relay.
  public enum Reply: Equatable, Sendable, CaseIterable {
    case accepted
    /// Another device of the user has answered, or the call is over.
    case conflict
    /// The relay does not accept the answer, for example because the user has left the room.
    case refused
    /// No reply has arrived. The answer may have taken effect.
    case lost

    /// The result of a request that has thrown an error.
    public init(_ error: any Error) {
      guard case .refused(let code) = (error as? StillwireError)?.code else {
        self = .lost
        return
      }
      switch code {
      case .conflict: self = .conflict
      // The relay may have stored the answer.
      case .unavailable, .internal: self = .lost
      default: self = .refused
      }
    }
  }

  /// The reason for which a call could not be read.
  public enum ReadFailure: Equatable, Sendable, CaseIterable {
    /// The relay has no such call, or the user is not a member of its room any more.
    case gone
    /// The state of the call is unknown.
    case unknown

    /// The reason of a request that has thrown an error.
    public init(_ error: any Error) {
      switch (error as? StillwireError)?.code {
      case .refused(.notFound), .refused(.notJoined): self = .gone
      default: self = .unknown
      }
    }
  }

  /// The work of the phone after an input, in this order.
  public enum Effect: Equatable, Sendable {
    /// Report the end of the call to CallKit.
    case report(IncomingCall.End)
    /// Pass the call to the app: its audio or video begins.
    case begin
    /// Pass the end of the call to the app.
    case finish
    /// Send a request about the call to the relay. ``Input/replied(_:)`` follows `answer`.
    case send(Call.Action)
    /// Read the call. ``Input/read(_:_:)`` or ``Input/readFailed(_:)`` follows.
    case read
    /// Show a notification that somebody has called.
    case showMissed
    /// Remove this notification: the person has answered or declined the call on another device.
    case removeMissed
  }

  public let call: IncomingCall
  public private(set) var phase = Phase.ringing

  /// A call that begins to ring.
  public init(_ call: IncomingCall) { self.call = call }

  /// True if the call rings or is in progress on this phone.
  public var isActive: Bool { phase != .leaving && phase != .silenced && phase != .over }

  /// The delays before each attempt to send `decline` or `hangup`. The relay ends the ringing by its own time if all
  /// attempts fail.
  public static let attempts: [Duration] = [.zero, .seconds(1), .seconds(2), .seconds(4), .seconds(8), .seconds(16)]

  // MARK: Inputs

  /// Applies an input, and returns the work that follows from it.
  public mutating func apply(_ input: Input) -> [Effect] {
    switch input {
    case .accepted:
      guard phase == .ringing else { return [] }
      phase = .answering
      return [.send(.answer)]
    case .ended: return leave(ringing: [.finish, .send(.decline)], answered: [.finish, .send(.hangUp)])
    case .discarded: return leave(ringing: [.finish], answered: [.finish, .send(.hangUp)])
    case .notShown(let reason):
      guard phase == .ringing, reason.hasNotification else {
        return leave(ringing: [.finish], answered: [.finish])
      }
      phase = .silenced
      return [.finish, .showMissed]
    case .dismissed:
      // If the relay has not replied to the answer, the hang-up follows the reply.
      if isActive { phase = phase == .answering ? .leaving : .over }
      return []
    case .timedOut:
      if phase == .silenced { phase = .over }
      return phase == .ringing ? end(.unanswered) : []
    case .replied(let reply): return replied(reply)
    case .changed(let event, let user):
      if phase == .silenced { return resolve(call.end(after: event, of: user, isAccepted: false)) }
      guard isActive else { return [] }
      return call.end(after: event, of: user, isAccepted: isAccepted).map { end($0) } ?? []
    case .read(let record, let user):
      if phase == .silenced { return resolve(call.end(in: record, of: user, isAccepted: false)) }
      guard isActive else { return [] }
      if let end = call.end(in: record, of: user, isAccepted: isAccepted) { return self.end(end) }
      // The user was in the call and is not any more, for example after a removal from the room.
      if phase == .answered, record.message == call.payload.message, let user = call.payload.recipient ?? user,
        record.parties[user]?.state == .left
      {
        return end(.remoteEnded)
      }
      // The relay has refused the answer and the call continues, so another device has answered.
      return phase == .conflicted ? end(.answeredElsewhere) : []
    case .readFailed(let failure):
      guard isActive else { return [] }
      return failure == .gone ? end(.remoteEnded) : phase == .conflicted ? end(.failed) : []
    }
  }

  /// True if the answer of this phone may be that of the user.
  private var isAccepted: Bool { phase == .answering || phase == .answered }

  private mutating func replied(_ reply: Reply) -> [Effect] {
    switch (phase, reply) {
    case (.answering, .accepted):
      phase = .answered
      return [.begin]
    case (.answering, .conflict):
      phase = .conflicted
      return [.read]
    case (.answering, .refused): return end(.failed)
    // The caller must not wait for a phone that has no call. If another device has answered, the relay refuses this
    // hang-up, and the call continues there.
    case (.answering, .lost): return end(.failed) + [.send(.hangUp)]
    case (.leaving, .accepted), (.leaving, .lost):
      phase = .over
      return [.send(.hangUp)]
    case (.leaving, .conflict), (.leaving, .refused):
      phase = .over
      return []
    case (.ringing, _), (.conflicted, _), (.answered, _), (.silenced, _), (.over, _): return []
    }
  }

  /// Ends a call that the phone has not shown. Its notification stays, unless another device of the user has it.
  private mutating func resolve(_ end: IncomingCall.End?) -> [Effect] {
    guard let end else { return [] }
    phase = .over
    return end == .answeredElsewhere || end == .declinedElsewhere ? [.removeMissed] : []
  }

  /// Ends the call by a decision of the relay or of the clock.
  private mutating func end(_ end: IncomingCall.End) -> [Effect] {
    phase = phase == .answering && end != .failed ? .leaving : .over
    return [.report(end), .finish]
  }

  /// Ends the call on the phone. The hang-up waits for the reply to the answer, because it would otherwise decline.
  private mutating func leave(ringing: [Effect], answered: [Effect]) -> [Effect] {
    switch phase {
    case .ringing:
      phase = .over
      return ringing
    case .answering:
      phase = .leaving
      return [.finish]
    case .conflicted:
      phase = .over
      return [.finish]
    case .answered:
      phase = .over
      return answered
    case .leaving, .silenced, .over: return []
    }
  }
}
