// SPDX-License-Identifier: Apache-2.0
import RelayDelivery
import RelayProtocol

/// The notifications and badges of the phones, as they follow from the pushes that the gateway took. A phone is a token,
/// which several accounts may share. This second implementation follows the specification.
struct PhoneModel {
  /// A notification that the phone shows for certain, of one message or of several.
  struct Entry {
    let token: String
    /// The id of its newest push.
    var notification: String
    /// The messages in it.
    let places: Set<Place>
    let isCall: Bool
    var shown: Timestamp
    /// Is `nil` while the phone may show the notification.
    var removal: Wait?
  }

  /// A push that the relay must send.
  struct Wait {
    /// The time from which the relay could send it, or the end of its last chance.
    private var since: Timestamp
    private(set) var chances = 0

    init(since: Timestamp) { self.since = since }

    /// Counts a chance if the pause between two pushes is over.
    mutating func pass(_ pause: Duration, now: Timestamp) {
      guard now >= since + pause + PhoneModel.lateness else { return }
      since = now
      chances += 1
    }
  }

  /// An alert that the service keeps for a phone that is off.
  struct Alert {
    let token: String
    let collapseID: String
    let message: MessageReference
    let expiration: Int64
    let time: Timestamp
    /// True for a call screen.
    let rings: Bool
  }

  /// The notifications of each account, by their collapse ids.
  private(set) var entries: [Target: [String: Entry]] = [:]
  /// The messages whose notifications were removed, and did not come back.
  private(set) var removed: [Target: Set<Place>] = [:]
  /// The collapse ids of the notifications that the person has opened or dismissed before the present step.
  private(set) var finished: [Target: Set<String>] = [:]
  private var finishing: [Target: Set<String>] = [:]
  /// The badges that are known for certain, by the token.
  private(set) var badges: [String: Int] = [:]
  /// The accounts on each phone at the end of the last step.
  private var accounts: [String: Set<Target>] = [:]
  private var lowered: [String: Wait] = [:]
  /// The newest alert of each account, or those of which one is the newest.
  private var alerts: [Target: [Alert]] = [:]
  /// The tokens with alerts that the gateway has not answered yet.
  private var unanswered: Set<String> = []
  /// The tokens whose newest alert is not known, because an answer came late or not at all, with the time of the doubt.
  private var doubtful: [String: Timestamp] = [:]

  /// A read mark is stored within a second. A change of a push in progress follows within another second.
  static let lateness = Duration.milliseconds(2_002)
  /// The time for which the relay keeps a push that was sent.
  static let retention = Duration.seconds(3 * 24 * 3600)

  // MARK: Pushes

  /// Shows a notification in place of an earlier one with the same collapse id.
  /// - Parameter isCertain: False if the phone may not have got the push.
  mutating func show(_ entry: Entry, of target: Target, as collapseID: String, isCertain: Bool) {
    entries[target, default: [:]][collapseID] = isCertain ? entry : nil
    removed[target]?.subtract(entry.places)
  }

  /// The person sees the message again, because it was pushed again.
  mutating func restart(_ collapseID: String, of target: Target) { finished[target]?.remove(collapseID) }

  /// The phone may have got the changed text of a notification.
  mutating func change(_ collapseID: String, of target: Target, to text: EntryText, isCertain: Bool) {
    guard let known = entries[target]?[collapseID] else { return }
    if text == .deleted { removed[target, default: []].formUnion(known.places) }
    if text == .deleted || !isCertain { entries[target]?[collapseID] = nil }
  }

  /// The phone may have got these removals.
  mutating func remove(_ removals: Removals, of target: Target) {
    for (collapseID, entry) in entries[target] ?? [:]
    where entry.places.contains(where: { removals.covers(MessageReference(room: $0.room, seq: $0.seq)) }) {
      removed[target, default: []].formUnion(entry.places)
      entries[target]?[collapseID] = nil
    }
  }

  /// - Parameter isCertain: False if the gateway did not answer. The relay learns the result later.
  mutating func note(_ alert: Alert, of target: Target, isCertain: Bool) {
    guard isCertain else { return _ = unanswered.insert(alert.token) }
    // A call screen is no alert, but its push may be taken for one until it expires.
    let isOpen = { (known: Alert) in known.rings && alert.time.rawValue / 1000 <= known.expiration }
    // The order of the results of one moment is not that of the pushes.
    let known = (alerts[target] ?? []).filter { alert.rings || isOpen($0) || $0.time == alert.time }
    alerts[target] = known + [alert]
    if !alert.rings, let doubt = doubtful[alert.token], alert.time > doubt { doubtful[alert.token] = nil }
  }

  /// The newest alert on a phone, also of an account that has ended, or those of which one is the newest. Is `nil` when
  /// it is not known.
  func newestAlerts(on token: String) -> [Alert]? {
    guard doubtful[token] == nil, !unanswered.contains(token) else { return nil }
    let found = alerts.values.joined().filter { $0.token == token }
    let newest = found.filter { !$0.rings }.map(\.time).max()
    return found.filter { $0.rings || $0.time == newest }
  }

  /// The gateway answers all pushes.
  mutating func answer(now: Timestamp) {
    for token in unanswered { doubtful[token] = now }
    unanswered = []
  }

  /// The relay has ended without the results of the last pushes.
  mutating func crash(now: Timestamp) {
    for token in World.tokens {
      setBadge(nil, on: token)
      doubtful[token] = now
    }
    unanswered = []
  }

  /// - Parameter badge: Is `nil` when it is not known any more.
  mutating func setBadge(_ badge: Int?, on token: String) {
    badges[token] = badge
    lowered[token] = nil
  }

  /// The gateway refused a push to the phone, so that the relay tries later, or not again.
  mutating func refused(_ token: String, until time: Timestamp) {
    setBadge(nil, on: token)
    for (target, known) in entries {
      for (collapseID, entry) in known where entry.token == token && entry.removal != nil {
        entries[target]?[collapseID]?.removal = Wait(since: time)
      }
    }
  }

  // MARK: Events

  /// The person opens or dismisses a notification.
  mutating func finish(_ notification: String, of target: Target) {
    guard let known = entries[target]?.first(where: { $0.value.notification == notification }) else { return }
    entries[target]?[known.key] = nil
    finishing[target, default: []].insert(known.key)
  }

  /// The notifications on a device that a person may open, the newest first.
  func notifications(of target: Target) -> [String] {
    (entries[target] ?? [:]).values.filter { !$0.isCall }
      .sorted { ($1.shown, $1.notification) < ($0.shown, $0.notification) }.map(\.notification)
  }

  // MARK: The end of a step

  /// Forgets what belongs to devices that have ended, and to pushes that the relay does not keep any more.
  mutating func settle(_ devices: [Target: Registration], now: Timestamp) {
    for (target, known) in entries {
      let token = devices[target].map { World.tokens[$0.token] }
      entries[target] = known.filter { $0.value.token == token && now < $0.value.shown + Self.retention }
      guard token == nil else { continue }
      (removed[target], finished[target], finishing[target]) = (nil, nil, nil)
    }
    for (target, known) in finishing { finished[target, default: []].formUnion(known) }
    finishing = [:]
    // The relay knows a badge by the accounts that it was sent to.
    for token in World.tokens {
      let present = Set(devices.filter { World.tokens[$0.value.token] == token }.keys)
      if present.isEmpty || accounts[token]?.isSubset(of: present) == false { setBadge(nil, on: token) }
      accounts[token] = present
    }
  }

  /// The relay sends no push now, because the gateway does not answer.
  mutating func stop(now: Timestamp) {
    lowered = lowered.mapValues { _ in Wait(since: now) }
    for (target, known) in entries {
      for (collapseID, entry) in known where entry.removal != nil {
        entries[target]?[collapseID]?.removal = Wait(since: now)
      }
    }
  }

  /// Counts the chances of the relay to remove a notification that the phone must not show any more.
  /// - Returns: The number of chances. Is 0 while the phone may show it.
  mutating func removalChances(_ collapseID: String, of target: Target, isDue: Bool, now: Timestamp) -> Int {
    guard isDue else {
      entries[target]?[collapseID]?.removal = nil
      return 0
    }
    var wait = entries[target]?[collapseID]?.removal ?? Wait(since: now)
    wait.pass(PhonePlanner.wakePause, now: now)
    entries[target]?[collapseID]?.removal = wait
    return wait.chances
  }

  /// Counts the chances of the relay to correct the badge of a phone.
  /// - Returns: The number of chances. Is 0 while the badge is right.
  mutating func badgeChances(_ token: String, isLower: Bool, now: Timestamp) -> Int {
    guard isLower else {
      lowered[token] = nil
      return 0
    }
    var wait = lowered[token] ?? Wait(since: now)
    wait.pass(PhonePlanner.badgePause, now: now)
    lowered[token] = wait
    return wait.chances
  }
}

extension Model {
  /// True if the phone must not show the message: the recipient is no member, has read it or has blocked its sender, or
  /// it is deleted.
  /// - Parameter time: The read marks of this time count. Is `nil` for the newest.
  func mustGo(_ place: Place, for user: UserID, readBy time: Timestamp? = nil) -> Bool {
    guard let message = message(at: place), let member = members[Membership(room: place.room, user: user)] else {
      return true
    }
    return (time.map(member.read.at) ?? member.read.latest) >= place.seq || log(of: place.room).isDeleted(place.seq)
      || people[user]?.blocked.contains(message.from) == true
  }

  /// The number of unread messages that may notify, of all accounts on a phone.
  func badge(on token: String, at now: Timestamp) -> Int {
    devices.filter { World.tokens[$0.value.token] == token }
      .reduce(0) { $0 + badge(of: $1.key, $1.value, at: now) }
  }

  private func badge(of target: Target, _ device: Registration, at now: Timestamp) -> Int {
    let person = people[target.user] ?? PersonModel()
    return World.rooms.reduce(0) { sum, room in
      guard let member = members[Membership(room: room, user: target.user)] else { return sum }
      let criteria = person.preferences[room].criteria ?? device.criteria
      if let criteria, let allowed = person.allowed(by: target.device, at: now), !allowed.contains(criteria) {
        return sum
      }
      let (log, calls) = (log(of: room), rooms[room]?.calls ?? [:])
      return sum
        + log.messages.count { seq, message in
          let options = pushOptions[Place(room: room, seq: seq)] ?? PushOptions()
          return seq > member.read.latest && !log.isDeleted(seq) && options.isRequested
            && !person.blocked.contains(message.from) && calls[seq]?.parts[target.user] == nil
            && !person.isMuted(room, isMentioned: options.mention(target.user), at: now)
        }
    }
  }
}
