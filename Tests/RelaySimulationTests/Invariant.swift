// SPDX-License-Identifier: Apache-2.0

/// An invariant of the delivery, which must hold after every step.
enum Invariant: String, Sendable {
  /// Every acknowledged message is read, received or pushed, or has a reason for no push. Every wait and hold ends.
  case reached
  /// Every push has a reason. The recipient does not have the message, will not receive it otherwise, and may see it.
  case needed
  /// A message has one collapse id on a device, and two messages have two.
  case collapsed
  /// A change of a notification shows text only if the rules let it, and if the person has not finished the notification.
  case permitted
  /// A push that changes or removes a notification does not displace the newest alert for a phone that is off.
  case displaced
  /// A phone removes each notification that it must not show any more.
  case withdrawn
  /// A badge that falls reaches the phone.
  case lowered
  /// No push is sent after its expiry, after its deletion, to a deleted device, or out of order.
  case inTime
  /// Seqs are 1, 2, 3 … Every message that was shown is stored completely and in order, and stays.
  case ordered
  /// Everything that was acknowledged is stored: memberships, marks, devices, keys.
  case kept
  /// A null never becomes false, and an expired true does not count.
  case focused
  /// No user sees a Focus that is not shared with them.
  case discreet
  /// A user who was online before a start is shown as online until the time to return is over.
  case awaited
  /// Roles and bans are those that the requests give. A group that was created has an owner. A banned user cannot join.
  case governed
  /// A call has the state that its requests give it, on disk and for each client. It rings at most until its end.
  case called
  /// The changes of the messages of a room are numbered 1, 2, 3 … Each client in the room gets each of them once: in an
  /// event, in a reply, or when it joins.
  case changed
  /// The same facts give the same decision.
  case repeated
  /// The relay becomes idle after every step, and every request has one reply.
  case answered
}

/// The violation of an invariant.
struct Violation: Error, CustomStringConvertible {
  let invariant: Invariant
  let words: String

  init(_ invariant: Invariant, _ words: String) {
    self.invariant = invariant
    self.words = words
  }

  var description: String { "\(invariant.rawValue): \(words)" }
}
