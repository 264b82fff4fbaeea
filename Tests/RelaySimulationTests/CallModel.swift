// SPDX-License-Identifier: Apache-2.0
import RelayProtocol

/// The expected state of a call. This second implementation follows the table of states in the protocol.
struct CallModel: Hashable, Sendable {
  struct Part: Hashable, Sendable {
    var state: Call.Party.State
    /// The number of times that the user has answered.
    var answers = 0
  }

  let caller: UserID
  let began: Timestamp
  let ringUntil: Timestamp
  var state = Call.State.ringing
  /// The time at which the call ends by itself. Is `nil` when the call is over.
  var due: Timestamp?
  var ended: Timestamp?
  /// The users who have answered, declined or left.
  var parts: [UserID: Part] = [:]

  static let maxAnswers = 16
  static let maxDuration = Duration.seconds(12 * 3600)

  init(from caller: UserID, began: Timestamp, ringUntil: Timestamp) {
    self.caller = caller
    self.began = began
    self.ringUntil = ringUntil
    due = ringUntil
  }

  /// True if the call rings for a member of the room.
  func rings(for user: UserID, at now: Timestamp) -> Bool {
    !state.isOver && now < ringUntil && user != caller && parts[user] == nil
  }

  // MARK: Changes

  /// Performs a request of a member. Returns the code of the error, or `nil` without one.
  /// - Parameter members: The members of the room.
  mutating func perform(
    _ action: Call.Action, by user: UserID, among members: Set<UserID>, at now: Timestamp
  ) -> String? {
    switch action {
    case .answer: answer(by: user, at: now)
    case .decline: decline(by: user, among: members, at: now)
    case .hangUp: hangUp(by: user, among: members, at: now)
    }
  }

  private mutating func answer(by user: UserID, at now: Timestamp) -> String? {
    guard user != caller, !state.isOver else { return "conflict" }
    let known = parts[user] ?? Part(state: .left)
    guard known.state != .answered else { return nil }
    guard known.answers < Self.maxAnswers else { return "conflict" }
    parts[user] = Part(state: .answered, answers: known.answers + 1)
    if state == .ringing {
      state = .answered
      due = now + Self.maxDuration
    }
    return nil
  }

  private mutating func decline(by user: UserID, among members: Set<UserID>, at now: Timestamp) -> String? {
    guard user != caller, parts[user]?.state != .answered else { return "conflict" }
    guard parts[user]?.state != .declined else { return nil }
    guard !state.isOver else { return "conflict" }
    parts[user, default: Part(state: .declined)].state = .declined
    let others = members.subtracting([user, caller])
    if state == .ringing, others.allSatisfy({ parts[$0]?.state == .declined }) { end(as: .declined, at: now) }
    return nil
  }

  private mutating func hangUp(by user: UserID, among members: Set<UserID>, at now: Timestamp) -> String? {
    guard !state.isOver, parts[user]?.state != .left else { return nil }
    guard user == caller || parts[user]?.state == .answered else {
      return decline(by: user, among: members, at: now)
    }
    parts[user, default: Part(state: .left)].state = .left
    let talking = parts.values.count { $0.state == .answered } + (parts[caller] == nil ? 1 : 0)
    if state == .ringing {
      end(as: .cancelled, at: now)
    } else if talking < 2 {
      end(as: .ended, at: now)
    }
    return nil
  }

  /// Ends the part of a user whose membership has ended.
  mutating func exclude(_ user: UserID, among members: Set<UserID>, at now: Timestamp) {
    guard concerns(user, at: now), let due, now < due else { return }
    _ = hangUp(by: user, among: members, at: now)
  }

  /// True if the end of the user's membership changes the call.
  func concerns(_ user: UserID, at now: Timestamp) -> Bool {
    !state.isOver && (user == caller || parts[user]?.state == .answered || rings(for: user, at: now))
  }

  /// Ends the call if its time is over.
  mutating func age(_ now: Timestamp) {
    if let due, due <= now { end(as: state == .ringing ? .missed : .ended, at: now) }
  }

  /// The message of the call was deleted.
  mutating func delete(at now: Timestamp) {
    if !state.isOver { end(as: state == .ringing ? .cancelled : .ended, at: now) }
  }

  private mutating func end(as state: Call.State, at now: Timestamp) {
    self.state = state
    due = nil
    ended = now
  }
}
