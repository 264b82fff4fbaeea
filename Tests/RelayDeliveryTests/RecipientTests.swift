// SPDX-License-Identifier: Apache-2.0
import RelayProtocol
import Testing

@testable import RelayDelivery

/// The facts about a recipient, as `Recipient` assembles them for decisions.
@Suite struct RecipientTests {
  private static let tea = RoomID(unchecked: "tea")
  private static let now = Timestamp.at(1_000)

  private func facts(
    of message: MessageTraits = MessageTraits(from: ann), as membership: Membership = .absent,
    _ change: (inout Recipient) -> Void = { _ in }
  ) -> RecipientFacts {
    var recipient = Recipient()
    change(&recipient)
    return recipient.facts(bob, of: message, in: Self.tea, as: membership, now: Self.now)
  }

  @Test func `without preferences, no fact prevents a push`() {
    #expect(facts() == RecipientFacts(user: bob))
  }

  @Test func `the facts contain the preferences`() {
    let known = facts(of: MessageTraits(from: ann, mentions: [bob])) {
      $0.blocked = [ann]
      $0.preferences.onFocus = .hold
      $0.preferences[Self.tea].level = .mentions
      $0.preferences[Self.tea].criteria = "work"
    }
    let expected = RecipientFacts(
      user: bob, hasBlockedSender: true, roomLevel: .mentions, isMentioned: true, isNamed: true, roomCriteria: "work",
      onFocus: .hold)
    #expect(known == expected)
    #expect(!facts(of: MessageTraits(from: ann, mentions: [ann])).isMentioned)
    #expect(!facts { $0.blocked = [bob] }.hasBlockedSender)
  }

  @Test func `the next change of a badge is the first end of a mute that is not over`() {
    var recipient = Recipient()
    for (name, until) in [("a", 1_500), ("b", 2_000), ("c", 500)] as [(String, Int64)] {
      recipient.preferences[RoomID(unchecked: name)].level = .none
      recipient.preferences[RoomID(unchecked: name)].until = .at(until)
    }
    #expect(recipient.nextBadgeChange(after: .at(1_000)) == .at(1_500))
    #expect(recipient.nextBadgeChange(after: .at(1_500)) == .at(2_000))
    #expect(recipient.nextBadgeChange(after: .at(2_000)) == nil)
    // A filter ends after 12 h.
    _ = recipient.filters.apply(
      FilterReport(device: phone, isActive: true, allow: ["work"], at: .at(0)), now: Moment(now: .at(0)))
    #expect(recipient.nextBadgeChange(after: .at(1_000)) == .at(1_500))
    #expect(recipient.nextBadgeChange(after: .at(2_000)) == .at(12 * hour))
  }

  private static let mentions: [(Mentions, isMentioned: Bool, isNamed: Bool)] = [
    ([], false, false),
    ([ann], false, false),
    ([ann, bob], true, true),
    (Mentions(all: true), true, false),
    (Mentions(online: true), false, false),
    (Mentions(online: true, present: [ann, bob]), true, false),
    // The store has names that the message does not mention any more.
    (Mentions(present: [bob]), false, false),
    (Mentions(answered: bob), true, true),
    (Mentions(answered: ann), false, false),
  ]

  @Test(arguments: mentions.indices)
  func `names, reserved words and answers mention the recipient`(index: Int) {
    let (mentions, isMentioned, isNamed) = Self.mentions[index]
    let facts = facts(of: MessageTraits(from: ann, mentions: mentions))
    #expect(facts.isMentioned == isMentioned)
    #expect(facts.isNamed == (isNamed ? true : nil))
  }

  @Test func `preferences let messages break through quiet hours`() {
    func breaks(_ wish: BreakThrough, _ message: MessageTraits = MessageTraits(from: ann)) -> Bool? {
      facts(of: message) { $0.preferences.breakThrough = wish }.breaksQuietHours
    }
    let mention = MessageTraits(from: ann, mentions: Mentions(all: true))
    #expect(breaks(BreakThrough()) == nil)
    #expect(breaks(BreakThrough(users: [ann])) == true)
    #expect(breaks(BreakThrough(users: [bob])) == nil)
    #expect(breaks(BreakThrough(mentions: true)) == nil)
    #expect(breaks(BreakThrough(), mention) == nil)
    #expect(breaks(BreakThrough(mentions: true), mention) == true)
    #expect(breaks(BreakThrough(users: [ann], mentions: true), mention) == true)
  }

  @Test func `an invitation does not break through quiet hours`() {
    let invitation = MessageTraits(from: ann, push: PushRequest(kind: .invitation))
    #expect(facts(of: invitation) { $0.preferences.breakThrough = BreakThrough(users: [ann]) }.breaksQuietHours == nil)
  }

  @Test func `the facts contain that the recipient is invited too often`() {
    var membership = Membership.absent
    membership.isInvitedTooOften = true
    #expect(facts(as: membership) == RecipientFacts(user: bob, isInvitedTooOften: true))
  }

  @Test func `the facts contain the other wishes for quiet hours and unread messages`() {
    let known = facts {
      $0.preferences.quietCalls = true
      $0.preferences.pushUnreadAfter = 60
    }
    #expect(known == RecipientFacts(user: bob, quietCalls: true, pushUnreadAfter: 60))
    #expect(facts { $0.preferences.quietTimeSensitive = true } == RecipientFacts(user: bob, quietTimeSensitive: true))
  }

  @Test func `the facts contain that the room is too large`() {
    var membership = Membership.absent
    membership.isRoomTooLarge = true
    #expect(facts(as: membership) == RecipientFacts(user: bob, isRoomTooLarge: true))
  }

  @Test(arguments: [(1_000, RoomLevel.all), (1_001, .none)] as [(Int64, RoomLevel)])
  func `the level of a room ends at its time`(until: Int64, level: RoomLevel) {
    #expect(facts { $0.preferences[Self.tea] = RoomPreference(level: .none, until: .at(until)) }.roomLevel == level)
  }

  @Test(arguments: [(1_000, false), (1_001, true), (nil, true)] as [(Int64?, Bool)])
  func `a suspension ends at its time`(until: Int64?, isOn: Bool) {
    #expect(facts { $0.suspension = UserAccess.Suspension(until: until.map(Timestamp.at)) }.isSuspended == isOn)
  }

  @Test func `a user is no member without a membership or the right to join`() {
    #expect(!facts { $0.withdrawn = [Self.tea] }.isMember)
    #expect(facts { $0.withdrawn = [RoomID(unchecked: "dev")] }.isMember)
    #expect(!facts(as: Membership(nil, nil, at: 1, shown: Self.now)).isMember)
    #expect(!facts(as: Membership(forNextMessage: nil, now: Self.now)).isMember)
  }

  @Test(arguments: [(4, false), (5, true), (6, true)] as [(Int64, Bool)])
  func `a mark reaches a message at its seq`(mark: Int64, hasReached: Bool) {
    let read = facts(as: Membership(Marks(read: mark, received: 0), nil, at: 5, shown: Self.now))
    #expect((read.isMember, read.hasRead, read.hasReceivedActively) == (true, hasReached, false))
    let received = facts(as: Membership(Marks(read: 0, received: mark), nil, at: 5, shown: Self.now))
    #expect((received.isMember, received.hasRead, received.hasReceivedActively) == (true, false, hasReached))
  }

  // MARK: Sessions

  /// A session that joined at 10 and received the messages from 5 on.
  private static let session = RoomSession(
    activity: .idle, joined: .at(10), givenFrom: 5, received: 0, acknowledges: true, drained: .at(0))

  private func session(
    _ seq: Int64, shown: Int64 = 0, change: (inout RoomSession) -> Void = { _ in }
  ) -> SessionFacts? {
    var session = Self.session
    change(&session)
    // The initializer takes the values that the hub has.
    session = RoomSession(
      activity: session.activity, joined: session.joined, givenFrom: session.givenFrom, received: session.received,
      acknowledges: session.acknowledges, drained: session.drained, blocked: session.blocked)
    let presence = RoomPresence(sessions: [session], away: AwayFacts(since: .at(7), isClean: true))
    let membership = Membership(Marks(read: 0, received: 0), presence, at: seq, shown: .at(shown))
    #expect(membership.away == AwayFacts(since: .at(7), isClean: true))
    return membership.sessions.first
  }

  @Test func `a message counts as written at the latest of its times`() {
    #expect(session(5)?.writing == .written(at: .at(10)))
    #expect(session(5, shown: 30)?.writing == .written(at: .at(30)))
    #expect(session(5, shown: 30) { $0.drained = .at(40) }?.writing == .written(at: .at(40)))
    #expect(session(4)?.writing == .missed(joined: .at(10)))
    #expect(session(4) { $0.blocked = .at(0) }?.writing == .missed(joined: .at(10)))
    #expect(session(5)?.activity == .idle)
  }

  @Test(arguments: [(9, true), (10, true), (11, false)] as [(Int64, Bool)])
  func `a message after a session was blocked is pending`(blocked: Int64, isPending: Bool) {
    #expect(session(5) { $0.blocked = .at(blocked) }?.writing == (isPending ? .pending : .written(at: .at(10))))
    let shown = session(5, shown: 20) { $0.blocked = .at(blocked + 10) }
    #expect(shown?.writing == (isPending ? .pending : .written(at: .at(20))))
  }

  @Test func `a session has received the messages up to its mark`() {
    #expect(session(5)?.hasReceived == false)
    #expect(session(5) { $0.received = 4 }?.hasReceived == false)
    #expect(session(5) { $0.received = 5 }?.hasReceived == true)
    // A session that acknowledges may name a message that the relay did not give it.
    #expect(session(4) { $0.received = 5 }?.hasReceived == true)
    let pongs = { (session: inout RoomSession) in
      session.received = 5
      session.acknowledges = false
    }
    #expect(session(5, change: pongs)?.hasReceived == true)
    #expect(session(4, change: pongs)?.hasReceived == false)
  }

  @Test func `the next message counts as written at once and not received`() {
    let presence = RoomPresence(
      sessions: [Self.session], away: AwayFacts(since: .at(7), isClean: false))
    let next = Membership(forNextMessage: presence, now: Self.now)
    #expect(next.isMember && !next.hasRead && !next.hasReceivedActively)
    #expect(next.sessions == [SessionFacts(activity: .idle, writing: .written(at: Self.now))])
    #expect(next.away == presence.away)
  }

  // MARK: Devices

  private static let tablet = Device(
    id: phone, app: "com.example.app", platform: .apns, token: "0a", voipToken: "0b", criteria: "home")

  @Test func `an app has only the configured entitlements`() {
    let recipient = Recipient()
    let all = recipient.facts(of: Self.tablet, in: AppEntitlements(), quietHours: .none)
    #expect(all == DeviceFacts(hasVoIPToken: true, criteria: "home"))
    let other = AppEntitlements(["com.example.other": []])
    #expect(recipient.facts(of: Self.tablet, in: other, quietHours: .none) == all)
    let none = AppEntitlements(["com.example.app": []])
    #expect(
      recipient.facts(of: Self.tablet, in: none, quietHours: .none)
        == DeviceFacts(
          lacksVoIPEntitlement: true, allowsTimeSensitive: false, allowsCritical: false, criteria: "home"))
    for (entitlement, path) in [
      (.timeSensitive, \DeviceFacts.allowsTimeSensitive), (.critical, \.allowsCritical), (.voip, \.hasVoIPToken),
    ] as [(AppEntitlement, KeyPath<DeviceFacts, Bool>)] {
      let facts = recipient.facts(
        of: Self.tablet, in: AppEntitlements(["com.example.app": [entitlement]]), quietHours: .none)
      #expect(facts[keyPath: path])
      #expect([facts.allowsTimeSensitive, facts.allowsCritical, facts.hasVoIPToken].count { $0 } == 1)
    }
  }

  @Test func `a device can forbid what its app may do`() {
    var device = Self.tablet
    device.voipToken = nil
    device.allowsAlerts = false
    device.allowsTimeSensitive = false
    let facts = Recipient().facts(of: device, in: AppEntitlements(["com.example.app": []]), quietHours: .none)
    #expect(
      facts
        == DeviceFacts(allowsAlerts: false, allowsTimeSensitive: false, allowsCritical: false, criteria: "home"))
    #expect(!Recipient().facts(of: device, in: AppEntitlements(), quietHours: .none).allowsTimeSensitive)
  }

  private static let known: [@Sendable (inout Recipient) -> Void] = [
    { _ = $0.focus.apply(FocusReport(device: phone, isFocused: true, at: now), now: Moment(now: now)) },
    { _ = $0.filters.apply(FilterReport(device: phone, isActive: true, allow: [], at: now), now: Moment(now: now)) },
    { $0.devices = [tablet] }, { $0.preferences.onFocus = .hold }, { $0.blocked = [ann] }, { $0.withdrawn = [tea] },
    { $0.status = UserStatus(text: "Lunch") },
  ]

  @Test(arguments: known.indices)
  func `a recipient with one known fact is not empty`(index: Int) {
    var recipient = Recipient()
    #expect(recipient.isEmpty)
    Self.known[index](&recipient)
    #expect(!recipient.isEmpty)
  }

  @Test func `the next change is the earliest one`() {
    var recipient = Recipient()
    Self.known[0](&recipient)
    let filter = FilterReport(device: phone, isActive: true, allow: [], at: Self.now - .seconds(1))
    _ = recipient.filters.apply(filter, now: Moment(now: Self.now))
    #expect(recipient.nextChange == Self.now + .seconds(12 * 3600 - 1))
  }

  @Test func `a badge changes with the end of a filter, or of a mute`() {
    var recipient = Recipient()
    let (tea, den) = (RoomID(unchecked: "tea"), RoomID(unchecked: "den"))
    recipient.preferences[tea] = RoomPreference(level: .none, until: Self.now + .seconds(9))
    recipient.preferences[den] = RoomPreference(level: .mentions, until: Self.now + .seconds(5))
    recipient.preferences[RoomID(unchecked: "bar")] = RoomPreference(level: .none)
    #expect(recipient.nextBadgeChange(after: Self.now) == Self.now + .seconds(5))
    #expect(recipient.nextBadgeChange(after: Self.now + .seconds(5)) == Self.now + .seconds(9))
    #expect(recipient.nextBadgeChange(after: Self.now + .seconds(9)) == nil)
    let filter = FilterReport(device: phone, isActive: true, allow: [], at: Self.now)
    _ = recipient.filters.apply(filter, now: Moment(now: Self.now))
    #expect(recipient.nextBadgeChange(after: Self.now + .seconds(9)) == Self.now + .seconds(12 * 3600))
  }

  @Test func `a status ends at its time`() {
    var recipient = Recipient()
    let end = Self.now + .seconds(5)
    recipient.status = UserStatus(text: "Lunch", until: end)
    #expect(recipient.nextChange == end)
    recipient.advance(to: Moment(now: end - .milliseconds(1)))
    #expect(recipient.status?.text == "Lunch")
    recipient.advance(to: Moment(now: end))
    #expect(recipient.isEmpty && recipient.nextChange == nil)
    recipient.status = UserStatus(emoji: "🌴")
    recipient.advance(to: Moment(now: end + .seconds(1_000_000)))
    #expect(recipient.status?.emoji == "🌴" && recipient.nextChange == nil)
  }

  @Test func `forgetting one device keeps the others`() {
    var recipient = Recipient()
    recipient.devices = [Self.tablet, Device(id: laptop, platform: .simulator, token: "0c")]
    recipient.forget(phone)
    #expect(recipient.devices.map(\.id) == [laptop])
  }

  @Test func `the facts of a device contain its reports`() {
    var recipient = Recipient()
    recipient.devices = [Self.tablet]
    let focus = FocusReport(device: phone, isFocused: true, at: Self.now, source: .manual)
    _ = recipient.focus.apply(focus, now: Moment(now: Self.now))
    let filter = FilterReport(device: phone, isActive: true, allow: ["work"], at: Self.now)
    _ = recipient.filters.apply(filter, now: Moment(now: Self.now))
    let facts = recipient.facts(of: Self.tablet, in: AppEntitlements(), quietHours: .none)
    #expect(facts.focusedUntil == recipient.focus.nextChange)
    #expect(facts.focusSource == .manual)
    #expect(facts.filter?.allow == ["work"])
    #expect(!recipient.isEmpty)
    #expect(recipient.nextChange == [recipient.focus.nextChange, recipient.filters.nextChange].compactMap { $0 }.min())
    recipient.forget(phone)
    #expect(recipient.isEmpty && recipient.nextChange == nil)
  }

  @Test(arguments: [0, 1, 3])
  func `each device has a case, and a user without a device has one`(devices: Int) {
    var recipient = Recipient()
    recipient.devices = (0..<devices).map {
      Device(id: DeviceID(unchecked: "d\($0)"), platform: .simulator, token: "t\($0)")
    }
    let cases = recipient.cases(
      of: DeliveryCase.plain.message, for: facts(), in: AppEntitlements(), quietHours: .none, now: Self.now)
    #expect(cases.count == max(1, devices) && recipient.decisionCount == cases.count)
    #expect(cases.compactMap(\.device) == recipient.devices)
    for (device, facts) in cases {
      #expect((device == nil) == (facts.device == nil))
      #expect((facts.message, facts.recipient, facts.now) == (DeliveryCase.plain.message, self.facts(), Self.now))
    }
  }

  // MARK: Senders

  @Test func `a sender does not see the presence of a recipient who hides it`() {
    var recipient = Recipient()
    #expect(!recipient.hidesPresence(from: ann))
    recipient.blocked = [ann]
    #expect(recipient.hidesPresence(from: ann) && !recipient.hidesPresence(from: bob))
    recipient.preferences.shareOnline = .none
    #expect(recipient.hidesPresence(from: bob))
  }

  /// A recipient whose phone has a filter for "home".
  private func filters(
    _ room: String? = nil, devices: [Device] = [], active: DeviceID = phone, now: Timestamp = Self.now
  ) -> Bool {
    var recipient = Recipient()
    for device in [phone, laptop] {
      let report = FilterReport(device: device, isActive: device == active, allow: ["home"], at: Self.now)
      _ = recipient.filters.apply(report, now: Moment(now: Self.now))
    }
    recipient.devices = devices
    recipient.preferences[Self.tea].criteria = room
    return recipient.filtersOut(Self.tea, now: now)
  }

  @Test func `a filter refuses the recipient's own labels`() {
    #expect(!filters())
    #expect(filters("work") && !filters("home"))
    #expect(filters("work", active: laptop))
    #expect(!filters("work", active: DeviceID(unchecked: "watch")))
    var device = Self.tablet
    #expect(!filters(devices: [device]))
    device.criteria = "work"
    #expect(filters(devices: [device]))
    #expect(!filters("home", devices: [device]))
    // The label of another device does not count.
    #expect(!filters(devices: [device], active: laptop))
  }

  @Test func `an expired filter refuses no label`() {
    let end = Self.now + .seconds(12 * 3600)
    #expect(filters("work", now: end - .milliseconds(1)))
    #expect(!filters("work", now: end))
  }

  @Test func `a sender does not learn a result that reveals a preference`() {
    let message = MessageTraits(from: ann)
    func hides(_ change: (inout Recipient) -> Void) -> Bool {
      var recipient = Recipient()
      change(&recipient)
      return recipient.hidesResult(
        recipient.facts(bob, of: message, in: Self.tea, as: .absent, now: Self.now))
    }
    #expect(!hides { _ in })
    #expect(hides { $0.blocked = [ann] })
    #expect(hides { $0.preferences.shareFocus = .none })
    #expect(hides { $0.preferences[Self.tea].level = .none })
    #expect(hides { $0.preferences[Self.tea].level = .mentions })
    #expect(!hides { $0.preferences.shareOnline = .none })
  }
}
