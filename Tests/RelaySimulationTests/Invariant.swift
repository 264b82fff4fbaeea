// SPDX-License-Identifier: Apache-2.0

/// What must hold after every step: the invariants of the delivery, and what makes them worth something.
enum Invariant: String, Sendable {
  /// Every acknowledged message is read, received, pushed, or has a reason for no push; a wait and a hold end.
  case reached
  /// Every push has a reason: nobody is pushed to who has it, or may yet receive it, or must not hear of it.
  case needed
  /// One message on one device has one collapse id, and two messages have two.
  case collapsed
  /// Nothing is pushed after its expiry, its deletion, to a forgotten device, or out of order.
  case inTime
  /// Seqs are 1, 2, 3 …; what was shown is stored, in order and whole, and stays.
  case ordered
  /// What was acknowledged is so: memberships, marks, devices, keys.
  case kept
  /// null never becomes false, and a stale yes is none.
  case focused
  /// Nobody sees a Focus that is not shared with them.
  case discreet
  /// What is decided is decided the same once more.
  case repeated
  /// Everything comes to rest, and every request has one answer.
  case answered
}

/// That an invariant does not hold.
struct Violation: Error, CustomStringConvertible {
  let invariant: Invariant
  let words: String

  init(_ invariant: Invariant, _ words: String) {
    self.invariant = invariant
    self.words = words
  }

  var description: String { "\(invariant.rawValue): \(words)" }
}
