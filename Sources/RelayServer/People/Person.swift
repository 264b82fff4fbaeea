// SPDX-License-Identifier: Apache-2.0
import RelayDelivery
import RelayProtocol
import RelayStore

/// What the relay keeps of a user in memory beside what the hub holds: all that a decision asks of a recipient.
struct Person: Sendable {
  var focus = FocusLedger()
  var filters = FilterLedger()
  var devices: [Device] = []
  var preferences = Preferences()
  /// Whom the user has blocked.
  var blocked: Set<UserID> = []
  /// The rooms of the user in which the newest token does not give the right `join`.
  var withdrawn: Set<RoomID> = []

  init() {}

  /// As the store has them, with what came about by itself since.
  init(_ record: UserRecord, now: Timestamp) {
    focus = FocusLedger(record.focus)
    filters = FilterLedger(record.filters)
    devices = record.devices
    preferences = record.preferences
    blocked = record.blocks
    withdrawn = record.withdrawn
    advance(to: now)
  }

  /// Whether it says no more than nothing would.
  var isEmpty: Bool {
    focus.count == 0 && filters.count == 0 && devices.isEmpty && preferences == Preferences() && blocked.isEmpty
      && withdrawn.isEmpty
  }

  /// When something that is shown or decided by changes by itself.
  var nextChange: Timestamp? { [focus.nextChange, filters.nextChange].compactMap { $0 }.min() }

  mutating func advance(to now: Timestamp) {
    focus.advance(to: now)
    filters.advance(to: now)
  }

  mutating func forget(_ device: DeviceID) {
    devices.removeAll { $0.id == device }
    focus.deviceForgotten(device)
    filters.deviceForgotten(device)
  }

  /// An app that was installed anew counts its reports from the start.
  mutating func forgetNumbers(of device: DeviceID) {
    focus.forgetNumber(of: device)
    filters.forgetNumber(of: device)
  }
}

extension Person {
  /// What a decision asks of the user as the recipient of a message; where they stand in its room is for the caller to add.
  func facts(_ user: UserID, of message: MessageTraits, in room: RoomID, now: Timestamp) -> RecipientFacts {
    facts(user, of: message, in: room, now: now, quiet: quiet(at: now))
  }

  /// - Parameter quiet: As ``quiet(at:)`` says, which takes long enough to be asked once for many messages.
  func facts(
    _ user: UserID, of message: MessageTraits, in room: RoomID, now: Timestamp, quiet: QuietFacts?
  ) -> RecipientFacts {
    let wish = preferences[room]
    return RecipientFacts(
      user: user, isMember: !withdrawn.contains(room), hasBlockedSender: blocked.contains(message.from),
      roomLevel: wish.level(at: now),
      isMentioned: message.mentions.contains(user), roomCriteria: wish.criteria, onFocus: preferences.onFocus,
      quiet: quiet)
  }

  /// The quiet hours that are on.
  func quiet(at now: Timestamp) -> QuietFacts? { preferences.quietHours?.facts(at: now) }

  /// Is `true` when the sender of a message does not see whether the user is online.
  func hidesPresence(from sender: UserID) -> Bool { preferences.shareOnline == .none || blocked.contains(sender) }

  /// What is decided of a message: a case for each device, or one for none.
  func cases(
    of message: MessageFacts, for recipient: RecipientFacts, in apps: Apps, now: Timestamp
  ) -> [(device: Device?, facts: DeliveryCase)] {
    (devices.isEmpty ? [nil] : devices.map(Optional.some)).map { device in
      let facts = device.map { self.facts(of: $0, in: apps) }
      return (device, DeliveryCase(message: message, recipient: recipient, device: facts, now: now))
    }
  }

  func facts(of device: Device, in apps: Apps) -> DeviceFacts {
    DeviceFacts(
      allowsAlerts: device.allowsAlerts, hasVoIPToken: device.voipToken != nil && apps.has(.voip, device),
      allowsTimeSensitive: device.allowsTimeSensitive && apps.has(.timeSensitive, device),
      allowsCritical: apps.has(.critical, device), focusedUntil: focus.focusedUntil(device.id),
      focusSource: focus[device.id]?.source,
      filter: filters.filter(of: device.id), criteria: device.criteria,
      lacksVoIPEntitlement: apps.ignoresVoIPToken(of: device))
  }

  /// True if the filter of a device refuses the user's own label of the room, or of the device, now.
  ///
  /// The result is for senders. The label that the sender chose takes no part in it: a sender who tries labels would
  /// learn which ones the filter passes.
  func filtersOut(_ room: RoomID, now: Timestamp) -> Bool {
    let label = preferences[room].criteria
    return filters.records.contains { record in
      guard let filter = filters.filter(of: record.device), now < filter.until else { return false }
      let device = devices.first { $0.id == record.device }
      return !filter.passes(Criteria.of(room: label, device: device?.criteria, sender: nil))
    }
  }
}
