// SPDX-License-Identifier: Apache-2.0
public import RelayProtocol

/// A user as the recipient of messages: the facts that are the same for every message.
public struct Recipient: Sendable {
  public var focus = FocusLedger()
  public var filters = FilterLedger()
  public var devices: [Device] = []
  public var preferences = Preferences()
  /// The users that this user has blocked.
  public var blocked: Set<UserID> = []
  /// The rooms of the user in which the newest token does not give the right `join`.
  public var withdrawn: Set<RoomID> = []
  /// Is `nil` if no backend has suspended the user.
  public var suspension: UserAccess.Suspension?
  /// The status that presence shows. No decision depends on it. Changes with ``advance(to:)``.
  public var status: UserStatus?

  public init() {}

  /// True if nothing is known about the user.
  public var isEmpty: Bool {
    focus.count == 0 && filters.count == 0 && devices.isEmpty && preferences == Preferences() && blocked.isEmpty
      && withdrawn.isEmpty && suspension == nil && status == nil
  }

  /// The time of the next change that no report causes: a Focus settles, a Focus or a filter decays, or the status
  /// ends.
  public var nextChange: Timestamp? { [focus.nextChange, filters.nextChange, status?.until].compactMap { $0 }.min() }

  /// True if a report changes by time.
  public var hasPassingReports: Bool { focus.nextChange != nil || filters.nextChange != nil }

  /// The time of the next change of the badge that no request causes: a filter decays, or a mute ends.
  public func nextBadgeChange(after now: Timestamp) -> Timestamp? {
    let mutes = preferences.rooms.values.lazy.filter { $0.level != .all }.compactMap(\.until).filter { $0 > now }
    return [filters.nextChange, mutes.min()].compactMap { $0 }.min()
  }

  public mutating func advance(to moment: Moment) {
    focus.advance(to: moment)
    filters.advance(to: moment)
    if status?.isOn(at: moment.now) == false { status = nil }
  }

  public mutating func forget(_ device: DeviceID) {
    devices.removeAll { $0.id == device }
    focus.deviceForgotten(device)
    filters.deviceForgotten(device)
  }

  /// Forgets the report numbers of a device. A new installation of the app counts its reports from the start.
  public mutating func forgetNumbers(of device: DeviceID) {
    focus.forgetNumber(of: device)
    filters.forgetNumber(of: device)
  }
}

/// The facts that decisions look at. This is the only code that assembles them.
extension Recipient {
  /// The number of decisions about a message for this user: one for each device, and one for a user without a device.
  public var decisionCount: Int { max(1, devices.count) }

  /// The time zone that counts on devices without a usable one: that of the device that registered last with one. Is
  /// `nil` if no device has one.
  public func homeZone(in zones: TimeZones) -> String? {
    devices.filter { $0.timeZone.map(zones.knows) ?? false }
      .max { ($0.registered?.rawValue ?? 0, $0.id) < ($1.registered?.rawValue ?? 0, $1.id) }?.timeZone
  }

  /// The facts about the user as the recipient of a message.
  public func facts(
    _ user: UserID, of message: MessageTraits, in room: RoomID, as membership: Membership, now: Timestamp
  ) -> RecipientFacts {
    let preference = preferences[room]
    let isMentioned = message.mentions.contains(user)
    let breakThrough = preferences.breakThrough
    let breaksQuietHours = breakThrough.mentions && isMentioned || breakThrough.users.contains(message.from)
    return RecipientFacts(
      user: user, isMember: membership.isMember && !withdrawn.contains(room),
      isSuspended: suspension?.isOn(at: now) ?? false,
      hasBlockedSender: blocked.contains(message.from), hasRead: membership.hasRead,
      hasReceivedActively: membership.hasReceivedActively, roomLevel: preference.level(at: now),
      isMentioned: isMentioned, isNamed: message.mentions.isNamed(user), isRoomTooLarge: membership.isRoomTooLarge,
      isOverCallPace: message.unrung?.contains(user) ?? false, isInvitedTooOften: membership.isInvitedTooOften,
      roomCriteria: preference.criteria, onFocus: preferences.onFocus,
      breaksQuietHours: breaksQuietHours && message.push.kind != .invitation,
      quietCalls: preferences.quietCalls, quietTimeSensitive: preferences.quietTimeSensitive,
      pushUnreadAfter: preferences.pushUnreadAfter, sessions: membership.sessions, away: membership.away)
  }

  /// - Parameter quietHours: The user's quiet hours that are on now.
  public func facts(of device: Device, in apps: AppEntitlements, quietHours: CurrentQuietHours) -> DeviceFacts {
    DeviceFacts(
      allowsAlerts: device.allowsAlerts, hasVoIPToken: apps.rings(device),
      lacksVoIPEntitlement: apps.ignoresVoIPToken(of: device) ? true : nil,
      allowsTimeSensitive: device.allowsTimeSensitive && apps.has(.timeSensitive, device),
      allowsCritical: apps.has(.critical, device), focusedUntil: focus.focusedUntil(device.id),
      focusSource: focus[device.id]?.source, filter: filters.filter(of: device.id), quiet: quietHours[device],
      criteria: device.criteria)
  }

  /// The cases that are decided about a message: one for each device, and one for a user without a device.
  /// - Parameter quietHours: The user's quiet hours that are on now.
  public func cases(
    of message: MessageFacts, for recipient: RecipientFacts, in apps: AppEntitlements, quietHours: CurrentQuietHours,
    now: Timestamp
  ) -> [(device: Device?, facts: DeliveryCase)] {
    (devices.isEmpty ? [nil] : devices.map(Optional.some)).map { device in
      let facts = device.map { self.facts(of: $0, in: apps, quietHours: quietHours) }
      return (device, DeliveryCase(message: message, recipient: recipient, device: facts, now: now))
    }
  }
}

/// The facts that a sender must not learn.
extension Recipient {
  /// True if the sender of a message does not see whether the user is online.
  public func hidesPresence(from sender: UserID) -> Bool {
    preferences.shareOnline == .none || blocked.contains(sender)
  }

  /// True if the sender of a message must not learn the result of its push: it would reveal a Focus, a muted room or a
  /// block.
  public func hidesResult(_ facts: RecipientFacts) -> Bool {
    facts.hasBlockedSender || facts.isMuted || preferences.shareFocus == .none
  }

  /// True if the filter of a device refuses the user's own label of the room, or of the device, now.
  ///
  /// The result is for senders. It ignores the label that the sender chose: a sender who tries labels would learn
  /// which ones the filter passes.
  public func filtersOut(_ room: RoomID, now: Timestamp) -> Bool {
    let label = preferences[room].criteria
    return filters.records.contains { record in
      guard let filter = filters.filter(of: record.device), now < filter.until else { return false }
      let device = devices.first { $0.id == record.device }
      return !filter.passes(Criteria.of(room: label, device: device?.criteria, sender: nil))
    }
  }
}
