// SPDX-License-Identifier: Apache-2.0

/// A call in a room, as a pure state machine. The seq of the message that rings identifies it in its room.
///
/// A call rings for each member of its room except the caller, until the member answers or declines, until the time of
/// the ringing is over, or until the call is over. The first answer makes it ``State/answered``; it still rings for the
/// other members of a group. An answered call ends when fewer than two users are left in it.
public struct Call: Equatable, Sendable {
  public var message: MessageReference
  public var caller: UserID
  public var media: Media
  public var began: Timestamp
  /// The end of the ringing.
  public var ringUntil: Timestamp
  public var state: State
  /// The time at which ``expire(at:)`` changes the call. Is `nil` when the call is over.
  public var due: Timestamp?
  /// The time at which the call was over. Is `nil` before.
  public var ended: Timestamp?
  /// The users who have answered or declined, and a caller who has hung up.
  public var parties: [UserID: Party]

  public enum Media: String, Sendable, CaseIterable {
    case audio, video
  }

  public enum State: String, Sendable, CaseIterable {
    case ringing
    /// At least one member has answered.
    case answered
    /// All members have declined.
    case declined
    /// Nobody has answered in time.
    case missed
    /// The caller has hung up before anybody answered.
    case cancelled
    /// The call was answered and is over.
    case ended

    /// True if the state changes no more.
    public var isOver: Bool { self != .ringing && self != .answered }
  }

  /// A user's part in a call.
  public struct Party: Equatable, Sendable {
    public var state: State
    /// The device that has answered or declined. Is `nil` for a session without a device, and for a backend.
    public var device: DeviceID?
    /// The number of times that the user has answered. Clients do not get it.
    package var answers = 0
    /// True if the user has answered with a session, and not over HTTP. Clients do not get it.
    package var hasSession = false

    public enum State: String, Sendable, CaseIterable {
      case answered, declined
      /// The user was in the call and has hung up.
      case left
    }

    public init(_ state: State, on device: DeviceID? = nil) {
      self.state = state
      self.device = device
    }

    package init(_ state: State, on device: DeviceID?, answers: Int, hasSession: Bool = false) {
      self.init(state, on: device)
      self.answers = answers
      self.hasSession = hasSession
    }
  }

  /// The kind of the sender of a request. It decides about a `hangup` of a user who has answered on another device.
  public enum Sender: Equatable, Sendable {
    /// A session of the user. `open` has the devices of all open sessions of the user. It contains `nil` if one of them
    /// has no device. With `named`, the session hangs up for another device of the user, which may be lost.
    case session(open: Set<DeviceID?>, named: DeviceID? = nil)
    /// A request over HTTP for a device: with a report key, with a token, or of a backend that names the device.
    case request
    /// A backend that names no device, or the relay itself.
    case backend

    fileprivate var isSession: Bool { if case .session = self { true } else { false } }

    /// True if a request of this sender ends the part of a user who has answered.
    fileprivate func mayEnd(_ party: Party, on device: DeviceID?) -> Bool {
      // An answer over HTTP without a device belongs to no device.
      if party.device == device || party.device == nil && !party.hasSession { return true }
      return switch self {
      case .session(_, let named?) where named == party.device: true
      case .session(let open, _): party.hasSession && !open.contains(party.device)
      case .request: false
      case .backend: true
      }
    }
  }

  /// A request of a user.
  public enum Action: String, Sendable, CaseIterable {
    case answer, decline
    case hangUp = "hangup"
  }

  /// The reason of an event about a call.
  public enum Cause: String, Sendable, CaseIterable {
    case ring, answer, decline
    case hangUp = "hangup"
    /// The ringing, or the maximum duration, is over.
    case expire
    /// The message of the call was deleted.
    case delete
  }

  /// The reason why a call does not change.
  public enum Refusal: Error, Equatable, Sendable {
    /// The caller cannot answer or decline.
    case ownCall
    /// The user has answered on this device. Is `nil` for a session or a request without a device.
    case answeredOn(DeviceID?)
    case over(State)
    /// The user has answered, and left, ``maxAnswers`` times.
    case tooManyAnswers
    /// The call has ``maxMembers`` users: the caller, and those who have answered or declined.
    case full
  }

  /// The maximum number of members of a room in which calls ring, and of users of a call, with the caller.
  public static let maxMembers = 256
  /// The number of times that a user may answer a call. A user who has left may come back.
  public static let maxAnswers = 16
  /// The time of the ringing that a caller may request.
  public static let ringing: ClosedRange<Double> = 1...600
  /// The time after which an answered call ends by itself.
  public static let maxDuration = Duration.seconds(12 * 3600)
  /// The time for which the store keeps a call that is over.
  public static let retention = Duration.seconds(28 * 24 * 3600)

  public init(
    _ message: MessageReference, from caller: UserID, media: Media = .audio, began: Timestamp, ringUntil: Timestamp
  ) {
    self.message = message
    self.caller = caller
    self.media = media
    self.began = began
    self.ringUntil = ringUntil
    state = .ringing
    due = ringUntil
    parties = [:]
  }

  // MARK: Requests

  /// Performs a request of a member.
  /// - Parameters:
  ///   - device: The device that sends the request. Is `nil` for a session without a device, and for an HTTP request
  ///     that names none.
  ///   - hasOthers: True if another member, neither the caller nor this user, has not declined. Such a member may still
  ///     answer.
  /// - Returns: False if the request repeats an earlier one, so that nothing changes.
  public mutating func perform(
    _ action: Action, by user: UserID, on device: DeviceID?, from sender: Sender = .request, hasOthers: Bool,
    at now: Timestamp
  ) throws(Refusal) -> Bool {
    switch action {
    case .answer: try answer(by: user, on: device, from: sender, at: now)
    case .decline: try decline(by: user, on: device, hasOthers: hasOthers, at: now)
    case .hangUp: try hangUp(by: user, on: device, from: sender, hasOthers: hasOthers, at: now)
    }
  }

  private mutating func answer(
    by user: UserID, on device: DeviceID?, from sender: Sender, at now: Timestamp
  ) throws(Refusal) -> Bool {
    guard user != caller else { throw .ownCall }
    guard !state.isOver else { throw .over(state) }
    let answers = parties[user]?.answers ?? 0
    if let party = parties[user], party.state == .answered {
      // Sessions without a device count as one device, so that a client can repeat a request after a lost reply.
      guard device == party.device else { throw .answeredOn(party.device) }
      return false
    }
    guard answers < Self.maxAnswers else { throw .tooManyAnswers }
    try set(Party(.answered, on: device, answers: answers + 1, hasSession: sender.isSession), of: user)
    if state == .ringing {
      state = .answered
      due = now + Self.maxDuration
    }
    return true
  }

  private mutating func decline(
    by user: UserID, on device: DeviceID?, hasOthers: Bool, at now: Timestamp
  ) throws(Refusal) -> Bool {
    guard user != caller else { throw .ownCall }
    switch parties[user]?.state {
    case .declined: return false
    case .answered: throw .answeredOn(parties[user]?.device)
    case .left, nil: break
    }
    guard !state.isOver else { throw .over(state) }
    try set(Party(.declined, on: device, answers: parties[user]?.answers ?? 0), of: user)
    if state == .ringing, !hasOthers { end(as: .declined, at: now) }
    return true
  }

  private mutating func hangUp(
    by user: UserID, on device: DeviceID?, from sender: Sender, hasOthers: Bool, at now: Timestamp
  ) throws(Refusal) -> Bool {
    guard !state.isOver, parties[user]?.state != .left else { return false }
    if user != caller {
      guard let party = parties[user], party.state == .answered else {
        return try decline(by: user, on: device, hasOthers: hasOthers, at: now)
      }
      // A device that has lost the reply to its answer hangs up, although another device of the user may have answered.
      guard sender.mayEnd(party, on: device) else { throw .answeredOn(party.device) }
    }
    // The caller has no party before. No limit keeps a user in a call.
    parties[user] = Party(.left, on: parties[user]?.device ?? device, answers: parties[user]?.answers ?? 0)
    if state == .ringing {
      end(as: .cancelled, at: now)
    } else if talking < 2 {
      end(as: .ended, at: now)
    }
    return true
  }

  private mutating func set(_ party: Party, of user: UserID) throws(Refusal) {
    guard parties[user] != nil || parties.keys.count(where: { $0 != caller }) < Self.maxMembers - 1 else { throw .full }
    parties[user] = party
  }

  /// True if a user is in the call: the caller from its begin, and a member after an answer, until they leave.
  public func takesPart(_ user: UserID) -> Bool {
    guard !state.isOver else { return false }
    return user == caller ? parties[caller]?.state != .left : parties[user]?.state == .answered
  }

  /// The number of users in the call.
  private var talking: Int {
    parties.values.count { $0.state == .answered } + (parties[caller]?.state == .left ? 0 : 1)
  }

  // MARK: Ends

  /// Ends the part of a user in the call, because the membership has ended or the user is suspended. The user hangs up,
  /// or declines a call that rings.
  /// - Parameter hasOthers: As for ``perform(_:by:on:hasOthers:at:)``.
  /// - Returns: False if nothing changes.
  public mutating func exclude(_ user: UserID, hasOthers: Bool, at now: Timestamp) -> Bool {
    guard user == caller || parties[user]?.state == .answered || rings(for: user, at: now) else { return false }
    do throws(Refusal) {
      return try hangUp(by: user, on: nil, from: .backend, hasOthers: hasOthers, at: now)
    } catch {
      // A call with so many users has been answered or is declined by others.
      return false
    }
  }

  /// True if the call rings for a member of the room.
  public func rings(for user: UserID, at now: Timestamp) -> Bool {
    !state.isOver && now < ringUntil && user != caller && parties[user] == nil
  }

  /// The cause of a change that ``exclude(_:hasOthers:at:)`` has made for a user.
  public func causeOfExclusion(of user: UserID) -> Cause { parties[user]?.state == .declined ? .decline : .hangUp }

  /// Ends a call whose time is over.
  /// - Returns: False if nothing changes.
  public mutating func expire(at now: Timestamp) -> Bool {
    guard let due, due <= now else { return false }
    end(as: state == .ringing ? .missed : .ended, at: now)
    return true
  }

  /// Ends a call whose message was deleted.
  /// - Returns: False if nothing changes.
  public mutating func delete(at now: Timestamp) -> Bool {
    guard !state.isOver else { return false }
    end(as: state == .ringing ? .cancelled : .ended, at: now)
    return true
  }

  private mutating func end(as state: State, at now: Timestamp) {
    self.state = state
    due = nil
    ended = now
  }
}
