// SPDX-License-Identifier: Apache-2.0
import RelayProtocol
import Testing

@testable import RelayDelivery

/// New decisions about open pushes: releases, waits after a hold, and digests.
@Suite struct HoldPlannerTests {
  static let tea = RoomID(unchecked: "tea")
  static let dev = RoomID(unchecked: "dev")
  static let now = Timestamp.at(hour)
  static let device = Device(id: phone, platform: .simulator, token: "phone")
  static let tablet = Device(id: laptop, platform: .simulator, token: "laptop")

  /// A held push of the message `seq`, which Ann sent at `seq` milliseconds.
  static func push(_ seq: Int64, in room: RoomID = tea, _ change: (inout OpenPush) -> Void = { _ in }) -> OpenPush {
    var push = OpenPush(
      id: "\(room)-\(seq)", room: room,
      message: MessageHead(seq: seq, time: .at(seq), traits: MessageTraits(from: ann)), device: device, isHeld: true,
      due: .at(2 * hour), level: .active, marks: Marks(read: 0, received: 0))
    change(&push)
    return push
  }

  static func queued(_ seq: Int64, _ change: (inout OpenPush) -> Void = { _ in }) -> OpenPush {
    push(seq) {
      $0.isHeld = false
      change(&$0)
    }
  }

  /// Bob without any silence.
  static func bobs(
    quietHours: ActiveQuietHours? = nil, rooms: [RoomID: RoomMember] = [:],
    _ change: (inout Recipient) -> Void = { _ in }
  ) -> HoldRecipient {
    var recipient = Recipient()
    change(&recipient)
    return HoldRecipient(bob, recipient, quietHours: CurrentQuietHours(quietHours), rooms: rooms)
  }

  static let silenced = ActiveQuietHours(mode: .hold, until: .at(3 * hour))

  /// The plan of one page.
  private func plan(
    _ pushes: [OpenPush], of recipient: HoldRecipient = bobs(), apps: AppEntitlements = AppEntitlements(),
    merges: Bool = true
  ) -> HoldPlan {
    var planner = HoldPlanner(apps: apps, released: Self.now, merges: merges)
    return planner.release(pushes, of: recipient, isLast: true, now: Self.now)
  }

  private func actions(_ pushes: OpenPush..., of recipient: HoldRecipient = bobs()) -> [Made] {
    plan(pushes, of: recipient).made
  }

  // MARK: The end of a hold

  @Test func `a push is sent when its silence has ended`() {
    let plan = plan([Self.push(1)])
    #expect(plan.made == [Made("tea-1", .push(.active))])
    #expect(plan.hasReleases && plan.nextEnd == nil && plan.pings.isEmpty)
    let explanation = plan.decisions[0].explanation
    #expect(explanation.decision.reasons.map(\.code) == [.nothingAgainst])
    #expect(explanation.facts.released == Self.now && explanation.facts.now == Self.now)
    #expect(explanation.facts.message.time == .at(1))
    #expect(explanation.facts.message.expires == .at(1) + PushRequest.lifetime(of: .message))
  }

  @Test func `a push whose level the pace has lowered does not become critical again`() {
    let urgent = PushRequest(level: .critical)
    func levels(_ stored: Level?, of recipient: HoldRecipient = Self.bobs()) -> [Made] {
      actions(
        Self.queued(1) {
          $0.message.traits.push = urgent
          $0.level = stored
        }, of: recipient)
    }
    #expect(levels(.timeSensitive).isEmpty && levels(.critical).isEmpty)
    #expect(levels(nil) == [Made("tea-1", .push(.critical))])
    let held = plan([
      Self.push(1) {
        $0.message.traits.push = urgent
        $0.level = .active
      }
    ])
    #expect(held.made == [Made("tea-1", .push(.timeSensitive))])
    #expect(held.decisions.first?.explanation.facts.recipient.isOverCriticalPace == true)
  }

  @Test func `the plan without open pushes is empty`() {
    #expect(plan([]) == HoldPlan())
  }

  @Test func `a silence that continues keeps a push held`() {
    let plan = plan([Self.push(1)], of: Self.bobs(quietHours: Self.silenced))
    #expect(plan.made == [Made("tea-1", .hold(until: .at(3 * hour)))])
    #expect(!plan.hasReleases && plan.nextEnd == .at(3 * hour))
    #expect(plan.decisions.first?.explanation.facts.released == nil)
    let known = self.plan([Self.push(1) { $0.due = .at(3 * hour) }], of: Self.bobs(quietHours: Self.silenced))
    #expect(known.made.isEmpty && known.nextEnd == .at(3 * hour))
  }

  /// A held call. Ann has called an hour ago, or `since`.
  private static func call(since: Int64 = 0, isHeld: Bool = true) -> OpenPush {
    push(1) {
      $0.message.time = .at(since)
      $0.isHeld = isHeld
      $0.message.traits.push.kind = .call
    }
  }

  private static let quietCalls = bobs(quietHours: silenced) { $0.preferences.quietCalls = true }

  @Test func `quiet hours hold a call, also when it rings no more`() {
    let hold = [Made("tea-1", .hold(until: .at(3 * hour)))]
    #expect(actions(Self.call(), of: Self.quietCalls) == hold)
    #expect(actions(Self.call(since: hour), of: Self.quietCalls) == hold)
  }

  @Test func `a call that quiet hours have held is missed, also if it still rings`() {
    let plan = plan([Self.call(), Self.push(2)])
    #expect(plan.made == [Made("tea-1", .miss), Made("tea-2", .push(.active))])
    #expect(plan.hasReleases)
    #expect(self.plan([Self.call()]).hasReleases)
    // The last millisecond of its ringing, and the next one.
    for age in [44_999, 45_000] { #expect(actions(Self.call(since: hour - Int64(age))) == [Made("tea-1", .miss)]) }
  }

  @Test func `a call that was not held, or that the user has read, is not missed`() {
    #expect(actions(Self.call(isHeld: false)) == [Made("tea-1", .expire)])
    let read = Self.push(1) {
      $0.message.traits.push.kind = .call
      $0.marks = Marks(read: 1, received: 1)
    }
    #expect(actions(read) == [Made("tea-1", .cancel(.read))])
  }

  @Test(arguments: [true, false])
  func `an active session that uses inbox counts at the end of a hold`(hasReceived: Bool) {
    var recipient = Self.bobs()
    recipient.inbox[MessageReference(room: Self.tea, seq: 1)] = [
      SessionFacts(activity: .active, writing: .written(at: Self.now), hasReceived: hasReceived)
    ]
    let end = Self.now + DeliveryPolicy().receiptWait
    #expect(
      actions(Self.push(1), of: recipient) == [Made("tea-1", hasReceived ? .cancel(.received) : .wait(until: end))])
    // The session shows the newer message only.
    #expect(actions(Self.push(2), of: recipient) == [Made("tea-2", .push(.active))])
    #expect(actions(Self.queued(1), of: recipient).isEmpty)
  }

  @Test func `a silence that begins holds a queued push`() {
    let silenced = Self.bobs(quietHours: Self.silenced)
    #expect(actions(Self.queued(1), of: silenced) == [Made("tea-1", .hold(until: .at(3 * hour)))])
    // The due time of a queued push is not the end of a hold.
    #expect(actions(Self.queued(1) { $0.due = .at(3 * hour) }, of: silenced).count == 1)
  }

  @Test func `a silence that only makes pushes passive ends a hold`() {
    let soft = Self.bobs(quietHours: ActiveQuietHours(mode: .passive, until: .at(3 * hour)))
    let focused = Self.bobs {
      $0.preferences.onFocus = .passive
      Self.focus(&$0)
    }
    for recipient in [soft, focused] {
      let plan = plan([Self.push(1)], of: recipient)
      #expect(plan.made == [Made("tea-1", .push(.passive))])
      #expect(plan.hasReleases && plan.nextEnd == nil)
    }
  }

  /// The device reports at `now` that its Focus is on.
  static func focus(_ recipient: inout Recipient) {
    _ = recipient.focus.apply(FocusReport(device: phone, isFocused: true, at: now), now: Moment(now: now))
  }

  @Test func `each cause alone holds a push`() {
    func planned(quietHours: ActiveQuietHours?, _ change: (inout Recipient) -> Void = { _ in }) -> [Made] {
      actions(
        Self.push(1) { $0.message.traits.push.criteria = "work" },
        of: Self.bobs(quietHours: quietHours) {
          $0.preferences.onFocus = .hold
          change(&$0)
        })
    }
    func focus(_ recipient: inout Recipient) {
      _ = recipient.focus.apply(FocusReport(device: phone, isFocused: true, at: .at(-hour)), now: Moment(now: Self.now))
    }
    func filter(_ recipient: inout Recipient) {
      let report = FilterReport(device: phone, isActive: true, allow: ["home"], at: .at(-2 * hour))
      _ = recipient.filters.apply(report, now: Moment(now: Self.now))
    }
    #expect(planned(quietHours: Self.silenced, focus) == [Made("tea-1", .hold(until: .at(11 * hour)))])
    #expect(planned(quietHours: Self.silenced) == [Made("tea-1", .hold(until: .at(3 * hour)))])
    #expect(planned(quietHours: nil, focus) == [Made("tea-1", .hold(until: .at(11 * hour)))])
    #expect(planned(quietHours: nil, filter) == [Made("tea-1", .hold(until: .at(10 * hour)))])
    #expect(planned(quietHours: nil) == [Made("tea-1", .push(.active))])
  }

  @Test func `after a Focus has ended, a push is held until the false settles`() {
    let settling = Self.bobs {
      $0.preferences.onFocus = .hold
      Self.focus(&$0)
      _ = $0.focus.apply(FocusReport(device: phone, isFocused: false, at: Self.now), now: Moment(now: Self.now))
    }
    #expect(actions(Self.push(1), of: settling) == [Made("tea-1", .hold(until: Self.now + .seconds(3)))])
  }

  @Test func `the earliest end of a hold counts`() {
    let short = { (push: inout OpenPush) in push.message.traits.push.lifetime = .seconds(2 * 3600) }
    let plan = plan([Self.push(2), Self.push(1, short)], of: Self.bobs(quietHours: Self.silenced))
    #expect(plan.nextEnd == .at(2 * hour + 1))
    #expect(
      self.plan([Self.push(2, short), Self.push(1)], of: Self.bobs(quietHours: Self.silenced)).nextEnd
        == .at(2 * hour + 2))
  }

  // MARK: The end of a push

  static let ends: [(JobDecision.Action, OpenPush, HoldRecipient)] = [
    (.cancel(.blocked), push(1), bobs { $0.blocked = [ann] }),
    (.cancel(.muted), push(1), bobs { $0.preferences[tea].level = .none }),
    (.cancel(.muted), push(1), bobs { $0.preferences[tea].level = .mentions }),
    (.cancel(.notMember), push(1) { $0.marks = nil }, bobs()),
    (.cancel(.notMember), push(1), bobs { $0.withdrawn = [tea] }),
    (.cancel(.suspended), push(1), bobs { $0.suspension = UserAccess.Suspension() }),
    (.cancel(.deleted), push(1) { $0.message.traits.isDeleted = true }, bobs()),
    (.cancel(.read), push(3) { $0.marks?.read = 3 }, bobs()),
    (.cancel(.received), push(3) { $0.marks?.received = 3 }, bobs()),
    (.cancel(.read), push(3), bobs(rooms: [tea: member(read: 3)])),
    (.cancel(.received), push(3), bobs(rooms: [tea: member(received: 3)])),
    (.cancel(.read), push(3) { $0.marks?.read = 3 }, bobs(rooms: [tea: member(read: 2)])),
    (.cancel(.received), push(3) { $0.marks?.received = 3 }, bobs(rooms: [tea: member(received: 2)])),
    (.cancel(.notMember), push(3) { $0.marks = nil }, bobs(rooms: [tea: member(read: 3)])),
    (.cancel(.notAllowed), push(1) { $0.device.allowsAlerts = false }, bobs()),
    (.expire, push(1) { $0.message.traits.push.lifetime = .seconds(3) }, bobs()),
  ]

  static func member(
    read: Int64 = 0, received: Int64 = 0, _ sessions: RoomSession...,
    away: AwayFacts = AwayFacts(since: .at(0), isClean: true)
  ) -> RoomMember {
    RoomMember(marks: Marks(read: read, received: received), presence: RoomPresence(sessions: sessions, away: away))
  }

  @Test(arguments: ends)
  func `a push that is not needed any more ends`(action: JobDecision.Action, push: OpenPush, recipient: HoldRecipient) {
    var queued = push
    queued.isHeld = false
    for push in [push, queued] {
      let plan = plan([push], of: recipient)
      #expect(plan.made == [Made(push.id, action)])
      #expect(!plan.hasReleases && plan.nextEnd == nil && plan.pings.isEmpty)
    }
  }

  @Test func `marks below a message do not end its push`() {
    let member = Self.member(read: 2, received: 2)
    let push = Self.push(3) { $0.marks = Marks(read: 1, received: 2) }
    #expect(actions(push, of: Self.bobs(rooms: [Self.tea: member])) == [Made("tea-3", .push(.active))])
    // The marks of another room do not count.
    let other = Self.bobs(rooms: [Self.dev: Self.member(read: 3)])
    #expect(actions(Self.push(3), of: other) == [Made("tea-3", .push(.active))])
  }

  @Test func `a message does not live longer after the clock was set back`() {
    let push = Self.push(1) { $0.message.time = .at(5 * hour) }
    let plan = plan([push])
    let message = plan.decisions.first?.explanation.facts.message
    #expect(message?.time == Self.now - DeliveryPolicy().maxWait)
    #expect(message?.expires == Self.now + PushRequest.lifetime(of: .message))
  }

  // MARK: Waits after a hold

  static func session(_ activity: Activity, received: Int64 = 0) -> RoomSession {
    RoomSession(
      activity: activity, joined: now - .seconds(1), givenFrom: 1, received: received, acknowledges: true,
      drained: .at(0))
  }

  @Test func `a push waits for a recipient who has returned`() {
    let present = Self.bobs(rooms: [Self.tea: Self.member(Self.session(.idle)), Self.dev: Self.member()])
    var planner = HoldPlanner(released: Self.now)
    let pushes = [Self.push(2), Self.push(1, in: Self.dev), Self.push(1)]
    let plan = planner.release(pushes, of: present, isLast: true, now: Self.now)
    let end = Self.now + .seconds(4)
    #expect(
      plan.made == [Made("tea-1", .wait(until: end)), Made("tea-2", .wait(until: end)), Made("dev-1", .push(.active))])
    #expect(plan.pings == [Self.tea] && plan.nextEnd == end && planner.waitsEnd == end)
    #expect(plan.decisions[0].explanation.facts.released == Self.now)
  }

  @Test func `a known wait needs no new decision, and still ends`() {
    let end = Self.now + .seconds(4)
    let present = Self.bobs(rooms: [Self.tea: Self.member(Self.session(.idle))])
    let plan = plan([Self.push(1) { $0.due = end }], of: present)
    #expect(plan.made.isEmpty && plan.nextEnd == end && plan.pings == [Self.tea])
  }

  @Test func `one maximum, from the release, limits the waits of all pages`() {
    let idle = Self.member(Self.session(.idle))
    let grace = Self.member(away: AwayFacts(since: Self.now, isClean: false))
    let released = Self.now - .seconds(40)
    var planner = HoldPlanner(policy: DeliveryPolicy(receiptWait: .seconds(60)), released: released)
    #expect(planner.waitsEnd == nil)
    let recipient = Self.bobs(rooms: [Self.tea: idle, Self.dev: grace])
    let first = planner.release([Self.push(2)], of: recipient, isLast: false, now: Self.now)
    #expect(first.made == [Made("tea-2", .wait(until: released + .seconds(45)))])
    let short = Self.push(1, in: Self.dev) { $0.message.traits.push.lifetime = .seconds(3603) }
    let second = planner.release([short], of: recipient, isLast: true, now: Self.now)
    #expect(second.made == [Made("dev-1", .wait(until: .at(1) + .seconds(3603)))])
    #expect(second.nextEnd == .at(1) + .seconds(3603))
    #expect(planner.waitsEnd == released + .seconds(45))
    var reversed = HoldPlanner(policy: DeliveryPolicy(receiptWait: .seconds(60)), released: released)
    _ = reversed.release([short], of: recipient, isLast: false, now: Self.now)
    _ = reversed.release([Self.push(2)], of: recipient, isLast: true, now: Self.now)
    #expect(reversed.waitsEnd == planner.waitsEnd)
  }

  @Test func `a push waits for the grace of a recipient who has just disconnected`() {
    let grace = Self.bobs(rooms: [Self.tea: Self.member(away: AwayFacts(since: Self.now, isClean: false))])
    #expect(actions(Self.push(1), of: grace) == [Made("tea-1", .wait(until: Self.now + .seconds(10)))])
  }

  @Test func `a push that is not held does not wait for sessions`() {
    let present = Self.bobs(rooms: [Self.tea: Self.member(Self.session(.active))])
    #expect(actions(Self.queued(1) { $0.level = .passive }, of: present) == [Made("tea-1", .push(.active))])
  }

  @Test func `a push to a silenced recipient does not wait for sessions`() {
    let present = Self.bobs(
      quietHours: Self.silenced, rooms: [Self.tea: Self.member(Self.session(.active, received: 1))])
    #expect(actions(Self.push(1), of: present) == [Made("tea-1", .cancel(.received))])
  }

  @Test func `a notification does not wait for sessions`() {
    let room = RoomID.notifications(of: bob)
    let push = Self.push(1, in: room) { $0.marks = nil }
    #expect(
      actions(push, of: Self.bobs(rooms: [room: Self.member(read: 9, Self.session(.active))])) == [
        Made(push.id, .push(.active))
      ])
  }

  // MARK: Levels

  @Test func `the level of a queued push follows the facts`() {
    #expect(actions(Self.queued(1)).isEmpty)
    #expect(actions(Self.queued(1) { $0.level = nil }) == [Made("tea-1", .push(.active))])
    let urgent = Self.queued(1) { $0.message.traits.push.level = .timeSensitive }
    #expect(actions(urgent) == [Made("tea-1", .push(.timeSensitive))])
    #expect(plan([urgent]).decisions.first?.explanation.facts.released == nil)
    let soft = Self.bobs(quietHours: ActiveQuietHours(mode: .passive, until: .at(3 * hour)))
    #expect(actions(Self.queued(1), of: soft) == [Made("tea-1", .push(.passive))])
    #expect(!plan([urgent]).hasReleases)
  }

  @Test func `the entitlements of the app limit the level`() {
    let push = Self.push(1) {
      $0.message.traits.push.level = .critical
      $0.device.app = "app"
    }
    #expect(plan([push], apps: AppEntitlements(["app": []])).made == [Made("tea-1", .push(.active))])
  }

  @Test func `a Focus holds only the pushes of its device`() {
    let focused = Self.bobs {
      $0.preferences.onFocus = .hold
      Self.focus(&$0)
    }
    let plan = plan([Self.push(1), Self.push(2) { $0.device = Self.tablet }], of: focused)
    #expect(plan.decisions.map(\.id) == ["tea-1", "tea-2"])
    #expect(plan.made.last == Made("tea-2", .push(.active)))
  }

  // MARK: Pushes that may be on the phone

  static let unknown: [(JobDecision.Action?, OpenPush)] = [
    (.push(.passive), queued(1) { $0.isUnknown = true }),
    (
      .push(.passive),
      queued(1) {
        $0.isUnknown = true; $0.level = nil
      }
    ),
    (
      nil,
      queued(1) {
        $0.isUnknown = true; $0.level = .passive
      }
    ),
    (
      nil,
      queued(1) {
        $0.isUnknown = true; $0.isDigest = true
      }
    ),
  ]

  @Test(arguments: unknown)
  func `a repeated push to a silenced device makes no sound`(action: JobDecision.Action?, push: OpenPush) {
    let plan = plan([push], of: Self.bobs(quietHours: Self.silenced))
    #expect(plan.made == (action.map { [Made("tea-1", $0)] } ?? []))
    #expect(plan.nextEnd == nil)
  }

  @Test func `Notify Anyway is not held`() {
    let push = Self.queued(1) { $0.isNotifyAnyway = true }
    #expect(actions(push, of: Self.bobs(quietHours: Self.silenced)).isEmpty)
  }

  // MARK: Digests

  @Test func `pushes that are released together become one digest`() {
    let plan = plan([Self.push(3), Self.push(2), Self.push(1)])
    #expect(
      plan.made == [
        Made("tea-2", .merge(into: "tea-3", level: .active)), Made("tea-1", .merge(into: "tea-3", level: .active)),
        Made("tea-3", .push(.active)),
      ])
    #expect(plan.hasReleases)
  }

  @Test func `the newest message is the digest head`() {
    let late = Self.push(1, in: Self.dev) { $0.message.time = .at(9) }
    let same = Self.push(8, in: Self.dev) { $0.message.time = .at(2) }
    #expect(plan([Self.push(2), late]).made.last == Made("dev-1", .push(.active)))
    // At the same time: the later name of a room, and then the later message, is the head.
    #expect(plan([same, Self.push(2)]).made.last == Made("tea-2", .push(.active)))
    let twin = Self.push(3) { $0.message.time = .at(2) }
    #expect(plan([twin, Self.push(2)]).made.last == Made("tea-3", .push(.active)))
  }

  @Test func `a digest has the highest level of its messages`() {
    let urgent = Self.push(1) { $0.message.traits.push.level = .timeSensitive }
    #expect(
      plan([Self.push(2), urgent]).made == [
        Made("tea-1", .merge(into: "tea-2", level: .timeSensitive)), Made("tea-2", .push(.timeSensitive)),
      ])
    let last = Self.push(3) { $0.message.traits.push.level = .timeSensitive }
    #expect(
      plan([last, Self.push(2)]).made == [
        Made("tea-2", .merge(into: "tea-3", level: .active)), Made("tea-3", .push(.timeSensitive)),
      ])
  }

  @Test func `each device gets its own digest`() {
    let pushes = [Self.push(2), Self.push(1)]
    let others = pushes.map { push in
      var push = push
      push.id += "-tablet"
      push.device = Self.tablet
      return push
    }
    #expect(
      plan(pushes + others).made == [
        Made("tea-1-tablet", .merge(into: "tea-2-tablet", level: .active)),
        Made("tea-1", .merge(into: "tea-2", level: .active)),
        Made("tea-2-tablet", .push(.active)), Made("tea-2", .push(.active)),
      ])
  }

  @Test func `pushes that replace each other form their own digest`() {
    let plan = plan([Self.push(3) { $0.collapse = "order" }, Self.push(2), Self.push(1) { $0.collapse = "order" }])
    #expect(
      plan.made == [
        Made("tea-1", .merge(into: "tea-3", level: .active)), Made("tea-3", .push(.active)),
        Made("tea-2", .push(.active)),
      ])
  }

  @Test func `a notification is not part of a digest`() {
    let room = RoomID.notifications(of: bob)
    let plan = plan([Self.push(3), Self.push(2, in: room), Self.push(1, in: room)])
    #expect(plan.made.allSatisfy { $0.action == .push(.active) })
    #expect(plan.made.last?.id == "tea-3" && plan.made.count == 3)
  }

  @Test func `a digest contains the pushes of all pages, and its head is sent last`() {
    var planner = HoldPlanner(released: Self.now)
    let first = planner.release([Self.push(4), Self.push(3)], of: Self.bobs(), isLast: false, now: Self.now)
    #expect(first.made == [Made("tea-3", .merge(into: "tea-4", level: .active))])
    #expect(!first.hasReleases)
    let urgent = Self.push(2) { $0.message.traits.push.level = .timeSensitive }
    let second = planner.release([urgent, Self.push(1)], of: Self.bobs(), isLast: true, now: Self.now)
    #expect(
      second.made == [
        Made("tea-2", .merge(into: "tea-4", level: .timeSensitive)),
        Made("tea-1", .merge(into: "tea-4", level: .active)),
        Made("tea-4", .push(.timeSensitive)),
      ])
    #expect(second.hasReleases)
  }

  @Test func `a notification is sent with its own page`() {
    var planner = HoldPlanner(released: Self.now)
    let push = Self.push(4, in: .notifications(of: bob))
    let plan = planner.release([push], of: Self.bobs(), isLast: false, now: Self.now)
    #expect(plan.made == [Made(push.id, .push(.active))] && plan.hasReleases)
  }

  @Test func `without digests, each push is sent with its own page`() {
    var planner = HoldPlanner(released: Self.now, merges: false)
    let first = planner.release([Self.push(4), Self.push(3)], of: Self.bobs(), isLast: false, now: Self.now)
    #expect(first.made == [Made("tea-3", .push(.active)), Made("tea-4", .push(.active))] && first.hasReleases)
    let second = planner.release([Self.push(2)], of: Self.bobs(), isLast: true, now: Self.now)
    #expect(second.made == [Made("tea-2", .push(.active))])
  }

  // MARK: Digest heads in the queue

  @Test func `a queued digest head has the highest level of the pushes merged into it`() {
    let head = Self.queued(3) { $0.isDigest = true }
    func merged(_ seq: Int64, _ level: Level) -> OpenPush {
      Self.queued(seq) {
        $0.mergedInto = "tea-3"
        $0.level = level
        $0.message.traits.push.level = level
      }
    }
    #expect(actions(head, merged(2, .active)).isEmpty)
    #expect(actions(head, merged(2, .timeSensitive), merged(1, .active)) == [Made("tea-3", .push(.timeSensitive))])
    #expect(actions(head, merged(2, .active), merged(1, .timeSensitive)) == [Made("tea-3", .push(.timeSensitive))])
    let loud = Self.queued(3) {
      $0.isDigest = true
      $0.level = .timeSensitive
    }
    // A push that has ended does not count any more.
    #expect(actions(loud, merged(2, .active)) == [Made("tea-3", .push(.active))])
    #expect(actions(loud, merged(2, .timeSensitive)).isEmpty)
    var urgent = loud
    urgent.message.traits.push.level = .timeSensitive
    #expect(actions(urgent, merged(2, .active)).isEmpty)
    // A push that is merged into another head does not count.
    let other = Self.queued(2) {
      $0.mergedInto = "tea-9"
      $0.message.traits.push.level = .timeSensitive
      $0.level = .timeSensitive
    }
    #expect(actions(head, other).isEmpty)
  }

  @Test func `a digest head is decided with the last page`() {
    var planner = HoldPlanner(released: Self.now)
    let head = Self.queued(3) { $0.isDigest = true }
    let merged = Self.queued(1) {
      $0.mergedInto = "tea-3"
      $0.level = .timeSensitive
      $0.message.traits.push.level = .timeSensitive
    }
    #expect(planner.release([head], of: Self.bobs(), isLast: false, now: Self.now) == HoldPlan())
    let last = planner.release([merged, Self.push(2)], of: Self.bobs(), isLast: true, now: Self.now)
    #expect(last.made == [Made("tea-3", .push(.timeSensitive)), Made("tea-2", .push(.active))])
  }

  @Test func `a digest that was held again keeps its level or gets a higher one`() {
    func digest(_ level: Level?) -> OpenPush {
      Self.push(1) {
        $0.isDigest = true
        $0.level = level
      }
    }
    #expect(actions(digest(.timeSensitive)) == [Made("tea-1", .push(.timeSensitive))])
    #expect(actions(digest(.passive)) == [Made("tea-1", .push(.active))])
    #expect(actions(digest(nil)) == [Made("tea-1", .push(.active))])
    #expect(actions(Self.push(1) { $0.level = .timeSensitive }) == [Made("tea-1", .push(.active))])
  }

  @Test func `decisions about older pushes precede those about their digest head`() {
    let pushes = [Self.push(3), Self.push(2) { $0.marks?.read = 2 }, Self.push(1) { $0.marks?.read = 2 }]
    #expect(
      plan(pushes).made == [
        Made("tea-1", .cancel(.read)), Made("tea-2", .cancel(.read)), Made("tea-3", .push(.active)),
      ])
  }
}

/// A decision without its explanation.
private struct Made: Equatable {
  let id: String
  let action: JobDecision.Action

  init(_ id: String, _ action: JobDecision.Action) {
    self.id = id
    self.action = action
  }
}

extension HoldPlan {
  fileprivate var made: [Made] { decisions.map { Made($0.id, $0.action) } }
}
