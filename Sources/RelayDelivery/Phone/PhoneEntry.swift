// SPDX-License-Identifier: Apache-2.0
// A notification as the relay believes that a phone shows it, and the facts that decide its next form. Pure.
public import RelayProtocol

/// The state of a notification on a phone, as far as the relay knows.
public enum EntryState: String, Sendable, CaseIterable {
  /// The phone never got the push.
  case unsent
  /// The phone may show the notification.
  case shown
  /// The phone may show the end of a call. Only a deletion or a removal changes it.
  case concluded
  /// The person has dismissed or opened the notification on this phone. The relay never shows it again.
  case ended
  /// The phone must not show the notification any longer. A row of `removals` with a ``RemovalState`` tracks its
  /// removal.
  case gone
}

/// The state of the removal of notifications from a phone, and the table of its transitions.
///
/// The relay sends each removal twice, because the phone may have been off at the first push:
/// `due` → `sent` → (sign of life) → `dueAgain` → `repeated` → (sign of life) → `done`.
public enum RemovalState: String, Sendable, CaseIterable {
  /// The relay has not sent the removal yet.
  case due
  /// The relay has sent the removal. The phone may have been off.
  case sent
  /// The device has given a sign of life after the push. The relay must send the removal again.
  case dueAgain
  /// The relay has sent the removal again, after a sign of life.
  case repeated
  /// The device has given another sign of life. The relay deletes the removal.
  case done

  /// The state after an event. Is `nil` if the event changes nothing.
  public func next(on event: RemovalEvent) -> RemovalState? {
    switch (event, self) {
    case (.sent, .due): .sent
    case (.sent, .dueAgain): .repeated
    case (.gaveSign, .sent): .dueAgain
    case (.gaveSign, .repeated): .done
    default: nil
    }
  }
}

/// An event that changes the state of a removal.
public enum RemovalEvent: Sendable, CaseIterable {
  /// The relay has sent a push with the removal.
  case sent
  /// A sign of life of the device: a receipt, a report, a registration or a session.
  case gaveSign
}

/// The end of a call for one user.
public enum CallEnd: Equatable, Sendable {
  /// The ringing has ended, and the user has neither answered nor declined.
  case missed
  /// The user has answered: with `isHere` on this device, otherwise on another one.
  case answered(isHere: Bool)
  /// The user has declined: with `isHere` on this device, otherwise on another one.
  case declined(isHere: Bool)
}

/// The facts about one notification on one phone.
public struct PhoneEntry: Equatable, Sendable {
  public var state: EntryState
  /// True if a newer push has taken the place of this one on the phone, because both have the same collapse id.
  public var isReplaced: Bool
  public var isDeleted: Bool
  /// The end of the call. Is `nil` while a call rings, and for a message.
  public var callEnd: CallEnd?
  /// True if the push was a VoIP push, so that the phone shows a call screen and no alert.
  public var rings: Bool
  /// The effect that the rules allow.
  public var later: LaterPush

  public init(
    state: EntryState, isReplaced: Bool = false, isDeleted: Bool = false, callEnd: CallEnd? = nil, rings: Bool = false,
    later: LaterPush = .show
  ) {
    self.state = state
    self.isReplaced = isReplaced
    self.isDeleted = isDeleted
    self.callEnd = callEnd
    self.rings = rings
    self.later = later
  }
}

/// The text of a notification that replaces an earlier one.
public enum EntryText: String, Sendable, CaseIterable {
  /// The message as it is now, after an edit.
  case current
  case deleted, missed, answered, declined

  /// The state of a notification that shows the text.
  public var state: EntryState {
    switch self {
    case .current: .shown
    // The phone may have been off, so a removal follows.
    case .deleted: .gone
    case .missed, .answered, .declined: .concluded
    }
  }

  /// The key of the relay's own text. Is `nil` for the text of the message.
  public var key: PushTextKey? {
    switch self {
    case .current: nil
    case .deleted: .messageDeleted
    case .missed: .missedCall
    case .answered: .callAnswered
    case .declined: .callDeclined
    }
  }
}

/// The next step for one notification on one phone.
public enum EntryPlan: Equatable, Sendable {
  case nothing
  /// The relay plans again at this time, or when the silence ends earlier.
  case wait(until: Timestamp)
  /// An alert without a sound takes the place of the notification.
  case replace(EntryText)
  /// The phone removes the notification, and shows nothing.
  case remove
}
