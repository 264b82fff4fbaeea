// SPDX-License-Identifier: Apache-2.0
import RelayProtocol
import Testing

@testable import RelayDelivery

/// The plan of a message: pushes, waits, and reports to the sender.
@Suite struct PlannerTests {
  static let tea = RoomID(unchecked: "tea")
  static let now = Timestamp.at(1_000)
  private var pace = PushPace()

  static func device(_ name: String = "phone") -> Device {
    Device(id: DeviceID(unchecked: name), platform: .simulator, token: "token-of-\(name)")
  }

  /// Bob with one device. He is away.
  static func member(
    _ user: UserID = bob, as membership: Membership = .absent, quietHours: ActiveQuietHours? = nil,
    events: EventPlan = .none,
    _ change: (inout Recipient) -> Void = { _ in }
  ) -> PlanMember {
    var recipient = Recipient()
    recipient.devices = [device()]
    change(&recipient)
    return PlanMember(
      user, recipient, as: membership, quietHours: CurrentQuietHours(quietHours), events: events)
  }

  static func message(
    _ traits: MessageTraits = MessageTraits(from: ann), isNotifyAnyway: Bool = false
  ) -> PlanMessage {
    PlanMessage(traits, in: tea, at: .at(0), isNotifyAnyway: isNotifyAnyway)
  }

  static func message(_ push: PushRequest) -> PlanMessage { message(MessageTraits(from: ann, push: push)) }

  private mutating func plan(
    _ message: PlanMessage = message(), _ members: PlanMember..., at now: Timestamp = now,
    apps: AppEntitlements = AppEntitlements()
  ) -> Plan {
    Planner(apps: apps).plan(message, for: members, now: now, pace: &pace)
  }

  /// The Focus of the device is on.
  static func focus(_ recipient: inout Recipient) {
    let time = Timestamp.at(-hour)
    _ = recipient.focus.apply(FocusReport(device: phone, isFocused: true, at: time), now: Moment(now: time))
  }

  // MARK: Pushes

  @Test mutating func `the plan has a push for each device of each member, in order`() {
    let two = Self.member { $0.devices = [Self.device("phone"), Self.device("laptop")] }
    let plan = plan(Self.message(), two, Self.member(UserID(unchecked: "eve")))
    #expect(plan.pushes.map(\.user.rawValue) == ["bob", "bob", "eve"])
    #expect(plan.pushes.map(\.device) == [Self.device("phone"), Self.device("laptop"), Self.device("phone")])
    #expect(plan.outcomes == [.push(.active), .push(.active), .push(.active)])
    for push in plan.pushes {
      #expect((push.level, push.isHeld, push.due) == (.active, false, Self.now))
      #expect(push.explanation.decision.reasons.map(\.code) == [.nothingAgainst])
      #expect(push.explanation.facts.message == Self.message().facts)
    }
    #expect(plan.waits.isEmpty && plan.reports.isEmpty && plan.holdEnd == nil)
  }

  @Test mutating func `the plan without members is empty`() {
    #expect(plan() == Plan())
  }

  static let none: [(Reason.Code, PlanMember, MessageTraits)] = [
    (.ownMessage, member(ann), MessageTraits(from: ann)),
    (.noPushAsked, member(), MessageTraits(from: ann, push: PushRequest(isAsked: false))),
    (.blocked, member { $0.blocked = [ann] }, MessageTraits(from: ann)),
    (.read, member(as: Membership(Marks(read: 5, received: 0), nil, at: 5, shown: now)), MessageTraits(from: ann)),
    (.received, member(as: Membership(Marks(read: 0, received: 5), nil, at: 5, shown: now)), MessageTraits(from: ann)),
    (.deleted, member(), MessageTraits(from: ann, isDeleted: true)),
    (.expired, member(), MessageTraits(from: ann, push: PushRequest(lifetime: .seconds(1)))),
    (.notMember, member(as: Membership(nil, nil, at: 5, shown: now)), MessageTraits(from: ann)),
    (.notMember, member { $0.withdrawn = [tea] }, MessageTraits(from: ann)),
    (.muted, member { $0.preferences[tea].level = .none }, MessageTraits(from: ann, mentions: [bob])),
    (.muted, member { $0.preferences[tea].level = .mentions }, MessageTraits(from: ann)),
    (.noDevice, member { $0.devices = [] }, MessageTraits(from: ann)),
  ]

  @Test(arguments: none)
  mutating func `a rule against a push plans nothing`(code: Reason.Code, member: PlanMember, traits: MessageTraits) {
    #expect(plan(Self.message(traits), member) == Plan(outcomes: [.none(code)]))
  }

  @Test mutating func `a message to a device without alerts counts in its badge`() {
    let plan = plan(Self.message(MessageTraits(from: ann)), Self.member { $0.devices[0].allowsAlerts = false })
    #expect(plan.outcomes == [.none(.notAllowed)])
    #expect(plan.pushes.map(\.isBadgeOnly) == [true])
    #expect(plan.pushes.map(\.isHeld) == [false])
  }

  @Test mutating func `a silent message changes no badge of a device without alerts`() {
    let silent = Self.message(PushRequest(isSilent: true))
    let plan = plan(silent, Self.member { $0.devices[0].allowsAlerts = false })
    let changesBadge = plan.pushes.contains { $0.isBadgeOnly }
    #expect(!changesBadge)
  }

  @Test mutating func `a mention is pushed to a member who has muted all else`() {
    let member = Self.member { $0.preferences[Self.tea].level = .mentions }
    #expect(plan(Self.message(MessageTraits(from: ann, mentions: [bob])), member).pushes.count == 1)
  }

  // MARK: Waits

  static func sessions(_ session: RoomSession?, away: AwayFacts = AwayFacts(since: .at(-hour), isClean: true))
    -> Membership
  {
    let presence = RoomPresence(sessions: session.map { [$0] } ?? [], away: away)
    return Membership(Marks(read: 0, received: 0), presence, at: 5, shown: .at(0))
  }

  static func session(_ activity: Activity, received: Int64 = 0) -> RoomSession {
    RoomSession(
      activity: activity, joined: .at(-hour), givenFrom: 1, received: received, acknowledges: true, drained: .at(-hour))
  }

  static let waiting: [(Int64, Membership)] = [
    (5_000, sessions(session(.active))), (5_000, sessions(session(.idle))),
    (30_000, sessions(session(.idle, received: 5))),
    (8_000, sessions(nil, away: AwayFacts(since: .at(-2_000), isClean: false))),
    (8_000, sessions(session(.background), away: AwayFacts(since: .at(-2_000), isClean: false))),
  ]

  @Test(arguments: waiting)
  mutating func `a member who may receive the message waits`(end: Int64, membership: Membership) {
    let member = Self.member(as: membership) { $0.devices = [Self.device("phone"), Self.device("laptop")] }
    let waits = plan(Self.message(), member)
    #expect(waits.waits == [bob: .at(end)] && waits.pushes.isEmpty)
    #expect(waits.outcomes == [.wait(until: .at(end)), .wait(until: .at(end))])
    #expect(plan(Self.message(), member, at: .at(end)).pushes.count == 2)
    let call = plan(Self.message(PushRequest(kind: .call)), member)
    #expect(call.waits.isEmpty && call.pushes.count == 2)
  }

  @Test mutating func `one member waits and another does not`() {
    let plan = plan(
      Self.message(), Self.member(as: Self.sessions(Self.session(.idle))), Self.member(UserID(unchecked: "eve")))
    #expect(plan.waits == [bob: .at(5_000)])
    #expect(plan.pushes.map(\.user.rawValue) == ["eve"])
  }

  // MARK: Silence

  @Test mutating func `a Focus holds a push until it decays`() throws {
    let member = Self.member {
      $0.preferences.onFocus = .hold
      Self.focus(&$0)
    }
    let plan = plan(Self.message(), member)
    let push = try #require(plan.pushes.first)
    #expect(push.isHeld && push.level == .active)
    #expect(push.due == plan.holdEnd && plan.outcomes == [.hold(until: push.due)])
    #expect(push.due == push.explanation.facts.device?.focusedUntil)
  }

  @Test mutating func `a Focus holds only the pushes of its own device`() {
    let member = Self.member {
      $0.devices = [Self.device("phone"), Self.device("laptop")]
      $0.preferences.onFocus = .hold
      Self.focus(&$0)
    }
    let plan = plan(Self.message(), member)
    #expect(plan.pushes.map(\.isHeld) == [true, false])
    #expect(plan.outcomes.last == .push(.active))
  }

  @Test(arguments: [PushRequest(kind: .call), PushRequest(level: .timeSensitive), PushRequest(level: .critical)])
  mutating func `calls and urgent messages are pushed in spite of every silence`(push: PushRequest) {
    let member = Self.member(quietHours: ActiveQuietHours(mode: .hold, until: .at(hour))) {
      $0.preferences.onFocus = .hold
      Self.focus(&$0)
    }
    let plan = plan(Self.message(push), member)
    #expect(plan.pushes.map(\.level) == [push.level] && plan.holdEnd == nil)
  }

  @Test mutating func `a held push keeps its allowed level`() {
    let member = Self.member(quietHours: ActiveQuietHours(mode: .hold, until: .at(hour))) {
      $0.devices[0].allowsTimeSensitive = false
    }
    let plan = plan(Self.message(PushRequest(level: .timeSensitive)), member)
    #expect(plan.pushes.map(\.level) == [.active])
    #expect(plan.pushes.map(\.due) == [.at(hour)])
    let passive = self.plan(Self.message(PushRequest(level: .passive)), member)
    #expect(passive.pushes.map(\.level) == [.passive])
  }

  @Test mutating func `the first end of a hold counts`() {
    let plan = plan(
      Self.message(), Self.member(quietHours: ActiveQuietHours(mode: .hold, until: .at(hour))),
      Self.member(UserID(unchecked: "eve"), quietHours: ActiveQuietHours(mode: .hold, until: .at(hour - 1))))
    #expect(plan.holdEnd == .at(hour - 1))
  }

  @Test(arguments: [(SilenceMode.deliver, Level.active), (.passive, .passive)])
  mutating func `quiet hours make a push passive`(mode: SilenceMode, level: Level) {
    let plan = plan(Self.message(), Self.member(quietHours: ActiveQuietHours(mode: mode, until: .at(hour))))
    #expect(plan.pushes.map(\.level) == [level] && plan.pushes.allSatisfy { !$0.isHeld && $0.due == Self.now })
  }

  @Test mutating func `Notify Anyway is pushed in spite of every silence`() {
    let member = Self.member(quietHours: ActiveQuietHours(mode: .hold, until: .at(hour))) {
      $0.preferences.onFocus = .hold
      Self.focus(&$0)
    }
    let plan = plan(Self.message(isNotifyAnyway: true), member)
    #expect(plan.pushes.map(\.level) == [.active] && plan.holdEnd == nil)
    #expect(plan.pushes.first?.explanation.facts.message.isNotifyAnyway == true)
    #expect(!PlanMessage(MessageTraits(from: ann), in: Self.tea, at: .at(0)).facts.isNotifyAnyway)
  }

  @Test mutating func `an app without an entitlement lowers the level`() {
    let member = Self.member { $0.devices[0].app = "app" }
    let message = Self.message(PushRequest(level: .critical))
    #expect(plan(message, member).pushes.map(\.level) == [.critical])
    let lowered = plan(message, member, apps: AppEntitlements(["app": [.timeSensitive]]))
    #expect(lowered.pushes.map(\.level) == [.timeSensitive])
  }

  @Test mutating func `the policy sets the length of a wait`() {
    let planner = Planner(policy: DeliveryPolicy(receiptWait: .seconds(7)))
    let member = Self.member(as: Self.sessions(Self.session(.active)), events: .unplanned) {
      $0.preferences.shareFocus = .none
    }
    #expect(planner.plan(Self.message(), for: [member], now: Self.now, pace: &pace).waits == [bob: .at(7_000)])
  }

  // MARK: Pace

  /// The due times of a push after the limit of the pace is used up.
  private mutating func next(_ message: PlanMessage, to member: PlanMember = member()) -> [Timestamp] {
    for _ in 0..<Self.maxPerMinute { _ = plan(Self.message(), Self.member()) }
    return plan(message, member).pushes.map(\.due)
  }

  static let maxPerMinute = PushPace.Limits().messages
  /// The end of the present minute.
  static let minute = now + PushPace.minute

  @Test mutating func `pushes beyond the pace wait for the end of the minute`() {
    #expect(next(Self.message()) == [Self.minute])
    #expect(plan(Self.message(), Self.member(UserID(unchecked: "eve"))).pushes.map(\.due) == [Self.now])
    #expect(
      plan(Self.message(MessageTraits(from: UserID(unchecked: "eve"))), Self.member()).pushes.map(\.due) == [Self.now])
  }

  @Test(arguments: [
    message(PushRequest(level: .critical)), message(PushRequest(kind: .call)), message(isNotifyAnyway: true),
    message(PushRequest(isSilent: true)), message(PushRequest(lifetime: .seconds(2))),
  ])
  mutating func `a push that cannot wait is not delayed`(message: PlanMessage) {
    #expect(next(message) == [Self.now])
  }

  @Test mutating func `a message to several devices counts once`() {
    let member = Self.member { $0.devices = (0..<Self.maxPerMinute).map { Self.device("d\($0)") } }
    #expect(plan(Self.message(), member).pushes.allSatisfy { $0.due == Self.now })
    for _ in 1..<Self.maxPerMinute { #expect(plan(Self.message(), Self.member()).pushes.map(\.due) == [Self.now]) }
    #expect(plan(Self.message(), member).pushes.allSatisfy { $0.due == Self.minute })
  }

  @Test mutating func `held, critical and refused messages do not count`() {
    let quietHours = Self.member(quietHours: ActiveQuietHours(mode: .hold, until: .at(hour)))
    for _ in 0..<2 * Self.maxPerMinute {
      _ = plan(Self.message(), quietHours)
      _ = plan(Self.message(), Self.member { $0.blocked = [ann] })
    }
    for _ in 0..<PushPace.Limits().critical { _ = plan(Self.message(PushRequest(level: .critical)), Self.member()) }
    #expect(plan(Self.message(), Self.member()).pushes.map(\.due) == [Self.now])
    // A held push is not delayed, either.
    #expect(next(Self.message(), to: quietHours) == [.at(hour)])
  }

  /// The levels of the pushes of critical alerts, and the codes of the last one.
  private mutating func alert(_ count: Int, _ member: PlanMember = member()) -> ([Level?], [Reason.Code]) {
    let message = Self.message(PushRequest(level: .critical))
    let pushes = (0..<count).flatMap { _ in plan(message, member).pushes }
    return (pushes.map(\.level), pushes.last?.explanation.decision.reasons.map(\.code) ?? [])
  }

  @Test mutating func `critical alerts beyond the pace are time-sensitive`() {
    pace.limits.critical = 2
    #expect(alert(2) == ([.critical, .critical], [.nothingAgainst]))
    #expect(alert(1) == ([.timeSensitive], [.nothingAgainst, .levelLowered]))
    // Other recipients, other senders and the next minute are not affected.
    #expect(alert(1, Self.member(UserID(unchecked: "eve"))).0 == [.critical])
    let other = MessageTraits(from: UserID(unchecked: "eve"), push: PushRequest(level: .critical))
    #expect(plan(Self.message(other), Self.member()).pushes.map(\.level) == [.critical])
    pace.advance(to: PushPace.minute)
    #expect(alert(1).0 == [.critical])
  }

  @Test mutating func `a critical alert beyond the pace is a message in every other way`() {
    pace.limits = PushPace.Limits(messages: 1, critical: 1)
    #expect(alert(1).0 == [.critical])
    let due = (0..<2).flatMap { _ in plan(Self.message(PushRequest(level: .critical)), Self.member()).pushes.map(\.due)
    }
    #expect(due == [Self.now, Self.minute])
    let focused = Self.member {
      $0.preferences.onFocus = .hold
      $0.devices[0].allowsTimeSensitive = false
      Self.focus(&$0)
    }
    let held = plan(Self.message(PushRequest(level: .critical)), focused).pushes
    #expect(held.map(\.isHeld) == [true] && held.map(\.level) == [.active])
    #expect(held.first?.explanation.facts.recipient.isOverCriticalPace == true)
  }

  @Test mutating func `a critical alert to several devices counts once, and one that nothing pushes not at all`() {
    pace.limits.critical = 1
    for _ in 0..<3 { _ = alert(1, Self.member { $0.blocked = [ann] }) }
    for _ in 0..<3 { _ = plan(Self.message(PushRequest(kind: .call, level: .critical)), Self.member()) }
    let two = Self.member { $0.devices = [Self.device("phone"), Self.device("laptop")] }
    #expect(alert(2, two).0 == [.critical, .critical, .timeSensitive, .timeSensitive])
  }

  @Test mutating func `calls beyond the pace are not pushed`() {
    pace.limits.calls = 2
    let call = Self.message(PushRequest(kind: .call))
    for _ in 0..<2 { #expect(plan(call, Self.member()).pushes.count == 1) }
    #expect(plan(call, Self.member()) == Plan(outcomes: [.none(.overPace)]))
    #expect(plan(call, Self.member(UserID(unchecked: "eve"))).pushes.count == 1)
    pace.advance(to: PushPace.minute)
    #expect(plan(call, Self.member()).pushes.count == 1)
  }

  @Test mutating func `a call that was counted before does not count again`() {
    pace.limits.calls = 1
    let counted = MessageTraits(from: ann, push: PushRequest(kind: .call), unrung: [UserID(unchecked: "eve")])
    for _ in 0..<3 {
      #expect(plan(Self.message(counted), Self.member()).pushes.count == 1)
      #expect(plan(Self.message(counted), Self.member(UserID(unchecked: "eve"))).outcomes == [.none(.overPace)])
    }
  }

  // MARK: Reports

  static func hidesFocus(_ recipient: inout Recipient) { recipient.preferences.shareFocus = .none }
  static func mutes(_ recipient: inout Recipient) { recipient.preferences[tea].level = .none }
  static func blocks(_ recipient: inout Recipient) { recipient.blocked = [ann] }

  static let reports: [(isReported: Bool, member: PlanMember)] = [
    // These members hide nothing: the sender gets the result of the push.
    (false, member(events: .unplanned)), (false, member(events: .planned(false))),
    (true, member(events: .unplanned, hidesFocus)), (true, member(events: .unplanned, mutes)),
    (true, member(events: .planned(false), blocks)),
    // The sender has requested no reports.
    (false, member(events: .none, hidesFocus)), (false, member(events: .none, mutes)),
    // The sender gets the planned report later.
    (false, member(events: .planned(true), hidesFocus)), (false, member(events: .unplanned, blocks)),
    (
      false,
      member(events: .unplanned) {
        hidesFocus(&$0); $0.preferences.shareOnline = .none
      }
    ),
    (
      true,
      member(events: .planned(false)) {
        hidesFocus(&$0); $0.preferences.shareOnline = .none
      }
    ),
    // A blocked sender does not learn that the message is read or received.
    (true, member(as: read, events: .planned(false), blocks)),
    (true, member(as: received, events: .planned(false), blocks)),
    (true, member(as: sessions(session(.active)), events: .planned(false), blocks)),
    (true, member(as: recent, events: .planned(false), blocks)),
    // Other senders may learn it, because they got the report `received`.
    (false, member(as: read, events: .unplanned, mutes)), (false, member(as: received, events: .unplanned, hidesFocus)),
    // The report does not reveal quiet hours, a Focus, or a missing device.
    (true, member(quietHours: ActiveQuietHours(mode: .hold, until: .at(hour)), events: .unplanned, hidesFocus)),
    (
      true,
      member(events: .unplanned) {
        hidesFocus(&$0); focus(&$0); $0.preferences.onFocus = .hold
      }
    ),
    (
      true,
      member(events: .unplanned) {
        hidesFocus(&$0); $0.devices = []
      }
    ),
    (
      true,
      member(events: .unplanned) {
        hidesFocus(&$0); $0.devices[0].allowsAlerts = false
      }
    ),
    (false, member(as: Membership(nil, nil, at: 5, shown: now), events: .unplanned, mutes)),
  ]
  static let read = Membership(Marks(read: 5, received: 0), nil, at: 5, shown: now)
  static let received = Membership(Marks(read: 0, received: 5), nil, at: 5, shown: now)
  static let recent = sessions(nil, away: AwayFacts(since: now, isClean: false))

  @Test(arguments: reports)
  mutating func `a member who hides the result is reported as pushed`(isReported: Bool, member: PlanMember) {
    let plan = plan(Self.message(), member)
    #expect(plan.reports == (isReported ? [bob] : []))
    #expect(plan.waits.isEmpty)
    // The report needs no decision of its own.
    #expect(plan.outcomes.count == 1)
  }

  @Test(arguments: waiting)
  mutating func `the report about a muted room waits as long as a push would`(end: Int64, membership: Membership) {
    let member = Self.member(as: membership, events: .unplanned, Self.mutes)
    let waits = plan(Self.message(), member)
    #expect(waits == Plan(waits: [bob: .at(end)], outcomes: [.none(.muted)]))
    #expect(plan(Self.message(), member, at: .at(end)).reports == [bob])
    #expect(plan(Self.message(), Self.member(as: membership, events: .none, Self.mutes)).waits.isEmpty)
  }

  @Test mutating func `the sender gets no report while a member waits`() {
    let plan = plan(
      Self.message(), Self.member(as: Self.sessions(Self.session(.idle)), events: .unplanned, Self.hidesFocus))
    #expect(plan.reports.isEmpty && plan.waits == [bob: .at(5_000)])
  }

  @Test mutating func `a call is reported at once`() {
    let member = Self.member(events: .unplanned, Self.blocks)
    #expect(plan(Self.message(PushRequest(kind: .call)), member).reports == [bob])
    let planned = Self.member(events: .planned(true), Self.hidesFocus)
    #expect(plan(Self.message(PushRequest(kind: .call)), planned).reports == [bob])
  }

  @Test mutating func `the sender gets no report about a message that is not pushed`() {
    let member = Self.member(events: .unplanned, Self.hidesFocus)
    #expect(plan(Self.message(PushRequest(isAsked: false)), member).reports.isEmpty)
    #expect(plan(Self.message(MessageTraits(from: ann, isDeleted: true)), member).reports.isEmpty)
  }

  // MARK: The result of a push

  @Test(arguments: [
    (true, member(events: .unplanned)), (true, member(events: .planned(false))), (false, member(events: .none)),
    (false, member(events: .planned(true))), (false, member(events: .unplanned, hidesFocus)),
    (false, member(events: .unplanned, mutes)), (false, member(events: .planned(false), blocks)),
    (false, member(events: .unplanned) { $0.preferences.shareOnline = .none }),
    (true, member(events: .planned(false)) { $0.preferences.shareOnline = .none }),
  ])
  func `the sender gets a result only if it reveals nothing`(isReported: Bool, member: PlanMember) {
    #expect(Planner().reportsResult(of: Self.message(), about: member, now: Self.now) == isReported)
  }

  @Test func `the sender gets the result of a call even if a report is planned`() {
    let call = Self.message(PushRequest(kind: .call))
    #expect(Planner().reportsResult(of: call, about: Self.member(events: .planned(true)), now: Self.now))
  }

  // MARK: Decisions

  @Test func `a decision is made for each device`() {
    func decisions(_ member: PlanMember) -> [DeviceDecision] {
      Planner().decisions(about: Self.message(), for: member, now: Self.now)
    }
    let pushed = decisions(Self.member { $0.devices = [Self.device("phone"), Self.device("laptop")] })
    #expect(pushed.map(\.device?.id) == [phone, laptop])
    #expect(pushed.map(\.push?.device.id) == [phone, laptop])
    #expect(pushed.allSatisfy { $0.push?.due == Self.now && $0.push?.isHeld == false })
    let held = decisions(Self.member(quietHours: ActiveQuietHours(mode: .hold, until: .at(hour))))
    #expect(held.map(\.push?.due) == [.at(hour)] && held.map(\.push?.isHeld) == [true])
    let waits = decisions(Self.member(as: Self.sessions(Self.session(.active))))
    #expect(waits.map(\.outcome) == [.wait(until: .at(5_000))] && waits.allSatisfy { $0.push == nil })
    let none = decisions(Self.member { $0.devices = [] })
    #expect(none.map(\.outcome) == [.none(.noDevice)] && none.allSatisfy { $0.push == nil && $0.device == nil })
  }
}

extension Plan {
  fileprivate init(waits: [UserID: Timestamp] = [:], outcomes: [Decision.Outcome]) {
    self.init()
    self.waits = waits
    self.outcomes = outcomes
  }
}
