// SPDX-License-Identifier: Apache-2.0
import RelayDelivery
import RelayProtocol

/// The expected decision about a push to a device, without the rules about receipts and waits. This second implementation follows the specification.
enum ExpectedDecision: Equatable, Sendable {
  case none(Reason.Code)
  case hold
  case push(Level)
}

extension Model {
  static let maxHold = Duration.seconds(12 * 3600)

  /// - Parameter isAnyway: True for a Notify Anyway.
  func expectedDecision(on place: Place, to target: Target, isAnyway: Bool, at now: Timestamp) -> ExpectedDecision? {
    guard let message = message(at: place), let options = pushOptions[place] else { return nil }
    let person = people[target.user] ?? PersonModel()
    if let code = objection(to: place, message, options, of: target.user, person, at: now) { return .none(code) }
    guard let device = devices[target] else { return .none(.noDevice) }
    if !device.allowsAlerts, !(options.isCall && device.rings) { return .none(.notAllowed) }
    let level = min(options.level, device.allowsTimeSensitive || options.level == .critical ? .critical : .active)
    let isSoft = level < .timeSensitive && !options.isCall && !isAnyway && now < message.time + Self.maxHold
    switch isSoft ? silence(of: target, person, in: place.room, options, at: now) : nil {
    case .hold: return .hold
    case .passive: return .push(.passive)
    case .deliver, nil: return .push(level)
    }
  }

  /// True if the rules let a later push show the text of the message on the device.
  func mayShowText(of place: Place, on target: Target, at now: Timestamp) -> Bool {
    guard let message = message(at: place), var options = pushOptions[place], let device = devices[target],
      device.allowsAlerts || options.isCall && device.rings,
      !mustGo(place, for: target.user, readBy: now - Self.lateness)
    else { return false }
    let person = people[target.user] ?? PersonModel()
    let isSoft =
      !options.isCall && (options.level < .timeSensitive || !device.allowsTimeSensitive)
      && options.level != .critical && now < message.time + Self.maxHold
    // The notification of a call stays after its ringing.
    if options.isCall { options.lifetime = PushOptions().expires(from: now) - now }
    guard objection(to: place, message, options, of: target.user, person, at: now) == nil else { return false }
    return !isSoft || silence(of: target, person, in: place.room, options, at: now) != .hold
  }

  private func objection(
    to place: Place, _ message: RoomLog.Message, _ options: PushOptions, of user: UserID, _ person: PersonModel,
    at now: Timestamp
  ) -> Reason.Code? {
    if !options.isRequested { return .noPushAsked }
    if person.blocked.contains(message.from) { return .blocked }
    if log(of: place.room).isDeleted(place.seq) { return .deleted }
    if options.expires(from: message.time) <= now { return .expired }
    if members[Membership(room: place.room, user: user)] == nil { return .notMember }
    return person.isMuted(place.room, isMentioned: options.mention(user), at: now) ? .muted : nil
  }

  /// The strongest mode of all causes that silence the device. Is `nil` when there are none.
  private func silence(
    of target: Target, _ person: PersonModel, in room: RoomID, _ options: PushOptions, at now: Timestamp
  ) -> SilenceMode? {
    let isFocused = person.focus[target.device]?.state(at: now) == true
    let onFocus = isFocused || isFiltered(target, person, in: room, options, at: now) ? person.preferences.onFocus : nil
    let inHours = person.areHoursQuiet(at: now) ? person.preferences.quietHours?.mode : nil
    return [onFocus, inHours].compactMap { $0 }.max()
  }

  private func isFiltered(
    _ target: Target, _ person: PersonModel, in room: RoomID, _ options: PushOptions, at now: Timestamp
  ) -> Bool {
    let criteria = person.preferences[room].criteria ?? devices[target]?.criteria ?? options.criteria
    guard let criteria, let allowed = person.allowed(by: target.device, at: now) else { return false }
    return !allowed.contains(criteria)
  }

  // MARK: Sharing

  /// True if `viewer` may see a fact that the user shares with this audience.
  private func sees(_ user: UserID, _ viewer: UserID, _ audience: KeyPath<Preferences, Audience>) -> Bool {
    guard user != viewer else { return true }
    let person = people[user] ?? PersonModel()
    guard !person.blocked.contains(viewer) else { return false }
    switch person.preferences[keyPath: audience] {
    case .none: return false
    case .watchers: return true
    case .rooms: return World.rooms.contains { isMember(user, of: $0) && isMember(viewer, of: $0) }
    }
  }

  func isMember(_ user: UserID, of room: RoomID) -> Bool { members[Membership(room: room, user: user)] != nil }
  func seesFocus(of user: UserID, _ viewer: UserID) -> Bool { sees(user, viewer, \.shareFocus) }
  func seesOnline(of user: UserID, _ viewer: UserID) -> Bool { sees(user, viewer, \.shareOnline) }

  /// True if the reply to a `send` names the user as silenced.
  func isSilenced(_ user: UserID, to sender: UserID, in room: RoomID, _ options: PushOptions, at now: Timestamp) -> Bool
  {
    guard user != sender, isMember(user, of: room), seesFocus(of: user, sender) else { return false }
    let person = people[user] ?? PersonModel()
    // The sender's own label must not reveal a filter.
    var own = options
    own.criteria = nil
    let isFiltered = World.reporters.contains {
      self.isFiltered(Target(user: user, device: $0), person, in: room, own, at: now)
    }
    return person.isFocused(at: now) == true || isFiltered
  }

  enum Presence: Hashable { case live, waiting, push }

  /// The possible groups in which the reply to a `send` counts the user.
  func presence(of user: UserID, to sender: UserID, in room: RoomID, at now: Timestamp) -> Set<Presence> {
    let membership = Membership(room: room, user: user)
    guard seesOnline(of: user, sender) else { return [.push] }
    let seats = attendance.seats(of: membership)
    if seats.contains(where: { $0.activity != .background }) { return [.live] }
    return Set(attendance.isInGrace(membership, at: now).map { $0 ? .waiting : .push })
  }
}
