// SPDX-License-Identifier: Apache-2.0
import RelayProtocol
import Testing

@testable import RelayDelivery

/// The pushes for the difference between the shown notifications and the wanted ones.
@Suite struct PhonePlannerTests {
  // MARK: Later pushes

  private func facts(
    _ recipient: RecipientFacts = RecipientFacts(user: bob), device: DeviceFacts? = DeviceFacts(),
    at now: Timestamp = .at(1_000)
  ) -> DeliveryCase {
    DeliveryCase(message: Self.message, recipient: recipient, device: device, now: now)
  }

  private static let message = MessageFacts(
    sender: ann, time: .at(0), expires: .at(1_000_000), kind: .message, level: .active, isUrgentAllowed: false,
    criteria: nil, isPushAsked: true, isDeleted: false)

  @Test(arguments: [
    (RecipientFacts(user: bob), LaterPush.show),
    (RecipientFacts(user: bob, isMember: false), .remove),
    (RecipientFacts(user: bob, isSuspended: true), .nothing),
    (RecipientFacts(user: bob, hasBlockedSender: true), .remove),
    (RecipientFacts(user: bob, hasRead: true), .remove),
    (RecipientFacts(user: bob, hasReceivedActively: true), .show),
    (RecipientFacts(user: bob, roomLevel: .none), .nothing),
    (RecipientFacts(user: bob, roomLevel: .mentions), .nothing),
    (RecipientFacts(user: bob, roomLevel: .mentions, isMentioned: true), .show),
    // The strongest effect applies.
    (RecipientFacts(user: bob, isSuspended: true, hasBlockedSender: true), .remove),
  ])
  func `the rules of first pushes decide later ones`(_ recipient: RecipientFacts, _ expected: LaterPush) {
    #expect(laterPush(facts(recipient)) == expected)
  }

  @Test func `a silence that holds lets the text wait, unless another rule forbids it`() {
    var device = DeviceFacts(quiet: ActiveQuietHours(mode: .hold, until: .at(9_000)))
    #expect(laterPush(facts(device: device)) == .wait(until: .at(9_000)))
    #expect(laterPush(facts(RecipientFacts(user: bob, roomLevel: .none), device: device)) == .nothing)
    #expect(laterPush(facts(RecipientFacts(user: bob, hasBlockedSender: true), device: device)) == .remove)
    device.quiet = ActiveQuietHours(mode: .passive, until: .at(9_000))
    #expect(laterPush(facts(device: device)) == .show)
  }

  @Test(arguments: [(5_000, 9_000), (9_000, 5_000)] as [(Int64, Int64)])
  func `of two silences the one that ends last holds a later push`(focus: Int64, quiet: Int64) {
    var device = DeviceFacts(quiet: ActiveQuietHours(mode: .hold, until: .at(quiet)))
    device.focusedUntil = .at(focus)
    #expect(laterPush(facts(RecipientFacts(user: bob, onFocus: .hold), device: device)) == .wait(until: .at(9_000)))
  }

  @Test func `a silence holds the later push of an old message`() {
    // The message is older than the longest hold of a first push.
    var old = Self.message
    old.expires = .at(10 * 24 * hour)
    let day = 24 * hour
    let device = DeviceFacts(quiet: ActiveQuietHours(mode: .hold, until: .at(day + 9_000)))
    let facts = DeliveryCase(message: old, recipient: RecipientFacts(user: bob), device: device, now: .at(day))
    #expect(laterPush(facts) == .wait(until: .at(day + 9_000)))
  }

  @Test func `the time for messages that stay unread is no silence`() {
    let unread = RecipientFacts(user: bob, hasReceivedActively: true, pushUnreadAfter: 60)
    #expect(laterPush(facts(unread)) == .show)
    let device = DeviceFacts(quiet: ActiveQuietHours(mode: .hold, until: .at(9_000)))
    #expect(laterPush(facts(unread, device: device)) == .wait(until: .at(9_000)))
  }

  @Test func `a device without alerts gets no text`() {
    #expect(laterPush(facts(device: DeviceFacts(allowsAlerts: false))) == .nothing)
    #expect(laterPush(facts(device: nil)) == .nothing)
    #expect(laterPush(facts(at: .at(1_000_000))) == .nothing)
  }

  // MARK: One notification

  private func plan(
    _ state: EntryState, _ later: LaterPush = .show, isDeleted: Bool = false, isReplaced: Bool = false,
    end: CallEnd? = nil, rings: Bool = false
  ) -> EntryPlan {
    PhonePlanner.plan(
      PhoneEntry(
        state: state, isReplaced: isReplaced, isDeleted: isDeleted, callEnd: end, rings: rings, later: later))
  }

  private static let laters: [LaterPush] = [.show, .wait(until: .at(5)), .nothing, .remove]

  @Test func `an edit changes only a notification that is shown`() {
    for state in EntryState.allCases where state != .shown {
      for later in Self.laters where later != .remove { #expect(plan(state, later) == .nothing) }
    }
    #expect(plan(.shown) == .replace(.current))
    #expect(plan(.shown, .wait(until: .at(5))) == .wait(until: .at(5)))
    #expect(plan(.shown, .nothing) == .nothing)
    #expect(plan(.shown, isReplaced: true) == .nothing)
  }

  @Test func `a phone that must not show a message removes it`() {
    #expect(plan(.shown, .remove) == .remove)
    #expect(plan(.shown, .remove, isReplaced: true) == .remove)
    for end in [CallEnd.missed, .answered(isHere: false)] { #expect(plan(.unsent, .remove, end: end) == .nothing) }
    for state in [EntryState.unsent, .ended, .gone] { #expect(plan(state, .remove) == .nothing) }
  }

  @Test func `a deleted text never stays on a phone`() {
    #expect(plan(.shown, isDeleted: true) == .replace(.deleted))
    #expect(plan(.concluded, isDeleted: true, end: .missed) == .replace(.deleted))
    for later in [LaterPush.wait(until: .at(5)), .nothing, .remove] {
      #expect(plan(.shown, later, isDeleted: true) == .remove)
    }
    // The phone may have kept a dismissed notification. It is not shown again.
    for later in Self.laters { #expect(plan(.ended, later, isDeleted: true) == .remove) }
    for state in [EntryState.unsent, .gone] {
      for later in Self.laters { #expect(plan(state, later, isDeleted: true) == .nothing) }
    }
  }

  @Test func `a missed call is a new notification on each phone`() {
    #expect(plan(.shown, end: .missed) == .replace(.missed))
    #expect(plan(.unsent, end: .missed) == .replace(.missed))
    #expect(plan(.shown, end: .missed, rings: true) == .replace(.missed))
    for state in [EntryState.concluded, .ended, .gone] { #expect(plan(state, end: .missed) == .nothing) }
    #expect(plan(.concluded, .remove, end: .missed) == .remove)
    #expect(plan(.shown, .nothing, end: .missed) == .nothing)
  }

  @Test(arguments: [
    (CallEnd.missed, EntryState.shown, EntryPlan.replace(.missed)),
    (.answered(isHere: false), .shown, .replace(.answered)), (.declined(isHere: false), .shown, .replace(.declined)),
    (.answered(isHere: true), .shown, .remove),
    // A phone that never got the call shows nothing false, so that its missed call can wait.
    (.missed, .unsent, .wait(until: .at(5))), (.missed, .ended, .nothing),
  ])
  func `a silence does not hold the end of a call that the phone shows`(
    _ end: CallEnd, _ state: EntryState, _ expected: EntryPlan
  ) {
    #expect(plan(state, .wait(until: .at(5)), end: end) == expected)
  }

  @Test func `an answered call leaves the phone that answered, and changes on the others`() {
    #expect(plan(.shown, end: .answered(isHere: false)) == .replace(.answered))
    #expect(plan(.shown, end: .declined(isHere: false)) == .replace(.declined))
    #expect(plan(.shown, end: .answered(isHere: true)) == .remove)
    #expect(plan(.shown, end: .declined(isHere: true)) == .remove)
    // A call screen is no notification.
    for end in [CallEnd.answered(isHere: false), .answered(isHere: true), .declined(isHere: true)] {
      #expect(plan(.shown, end: end, rings: true) == .nothing)
      #expect(plan(.unsent, end: end) == .nothing)
    }
  }

  // MARK: One phone

  private static let pause = Duration.seconds(1_200)
  private static let minute = Duration.seconds(60)

  @Test(arguments: [
    // A badge that stays the same.
    (PhoneState(platform: .apns, badge: 2, wantedBadge: 2), PhoneUpdate?.none, Timestamp?.none),
    // The next alert sets a badge that is unknown, or too low.
    (PhoneState(platform: .apns, badge: nil, wantedBadge: 0), nil, nil),
    (
      PhoneState(platform: .apns, badge: nil, wantedBadge: 0, hasRemovals: true), PhoneUpdate(badge: 0, removes: true),
      nil
    ),
    (PhoneState(platform: .apns, badge: 1, wantedBadge: 2), nil, nil),
    (
      PhoneState(platform: .apns, allowsAlerts: false, badge: 1, wantedBadge: 2), PhoneUpdate(badge: 2, removes: false),
      nil
    ),
    (
      PhoneState(platform: .apns, allowsAlerts: false, badge: nil, wantedBadge: 2),
      PhoneUpdate(badge: 2, removes: false), nil
    ),
    (PhoneState(platform: .apns, badge: 2, wantedBadge: 1), PhoneUpdate(badge: 1, removes: false), nil),
    (
      PhoneState(platform: .apns, badge: 2, wantedBadge: 1, badged: .at(0)), nil, Timestamp.at(0) + minute
    ),
    // Removals wake the app, with the badge if it changes.
    (
      PhoneState(platform: .apns, badge: 2, wantedBadge: 1, hasRemovals: true), PhoneUpdate(badge: 1, removes: true),
      nil
    ),
    (
      PhoneState(platform: .apns, badge: 2, wantedBadge: 2, hasRemovals: true), PhoneUpdate(badge: nil, removes: true),
      nil
    ),
    // One wake in 20 minutes: the badge does not wait for it.
    (
      PhoneState(platform: .apns, badge: 2, wantedBadge: 2, hasRemovals: true, woken: .at(0)), nil,
      Timestamp.at(0) + pause
    ),
    (
      PhoneState(platform: .apns, badge: 2, wantedBadge: 1, hasRemovals: true, woken: .at(0)),
      PhoneUpdate(badge: 1, removes: false), Timestamp.at(0) + pause
    ),
    // The badge and the removals wait, and the earlier time counts.
    (
      PhoneState(platform: .apns, badge: 2, wantedBadge: 1, hasRemovals: true, badged: .at(1_000), woken: .at(0)), nil,
      Timestamp.at(1_000) + minute
    ),
    (
      PhoneState(
        platform: .apns, badge: 2, wantedBadge: 1, hasRemovals: true, badged: .at(1_000),
        woken: Timestamp.at(11_000) - pause), nil, .at(11_000)
    ),
    // The push is newer than the reading of the clock.
    (
      PhoneState(platform: .apns, badge: 2, wantedBadge: 1, badged: .at(1_005)), nil, Timestamp.at(1_000) + minute
    ),
    (
      PhoneState(platform: .apns, badge: 2, wantedBadge: 1, badged: Timestamp.at(1_000) + minute), nil,
      Timestamp.at(1_000) + minute
    ),
    // The wall clock was set back while the relay was stopped.
    (
      PhoneState(platform: .apns, badge: 2, wantedBadge: 1, badged: .at(9_999_999)),
      PhoneUpdate(badge: 1, removes: false), nil
    ),
    (
      PhoneState(platform: .apns, badge: 2, wantedBadge: 2, hasRemovals: true, woken: .at(9_999_999)),
      PhoneUpdate(badge: nil, removes: true), nil
    ),
    // Browsers allow no push that shows nothing.
    (PhoneState(platform: .webpush, badge: 2, wantedBadge: 1, hasRemovals: true), nil, nil),
    (
      PhoneState(platform: .http, badge: 2, wantedBadge: 1, hasRemovals: true), PhoneUpdate(badge: 1, removes: true),
      nil
    ),
  ])
  func `a phone gets its badge and its removals`(_ phone: PhoneState, _ update: PhoneUpdate?, _ next: Timestamp?) {
    let plan = PhonePlanner.plan(phone, now: .at(1_000))
    #expect(plan.update == update)
    #expect(plan.next == next)
  }

  @Test(arguments: [
    // Apple keeps one notification: only a change of the newest alert stays at the service.
    (Platform.apns, Timestamp?.some(.at(9)), true, Timestamp?.some(.at(9))), (.apns, .at(9), false, nil),
    (.apns, nil, true, nil), (.simulator, .at(9), true, .at(9)), (.simulator, .at(9), false, nil),
    // Other services keep every push.
    (.webpush, .at(9), true, .at(50)), (.webpush, .at(9), false, .at(50)), (.webpush, nil, false, .at(50)),
    (.http, .at(9), true, .at(50)), (.http, .at(9), false, .at(50)),
  ])
  func `a service keeps a change as long as it displaces nothing`(
    _ platform: Platform, _ newest: Timestamp?, _ isNewest: Bool, _ expected: Timestamp?
  ) {
    #expect(PhonePlanner.keptUntil(newest: newest, isNewest: isNewest, end: .at(50), on: platform) == expected)
  }

  // MARK: Removals

  @Test func `a removal ends with the second sign of life`() {
    var state = RemovalState.due
    var path: [RemovalState] = []
    for event in [RemovalEvent.gaveSign, .sent, .sent, .gaveSign, .gaveSign, .sent, .gaveSign] {
      state = state.next(on: event) ?? state
      path.append(state)
    }
    #expect(path == [.due, .sent, .sent, .dueAgain, .dueAgain, .repeated, .done])
    for event in RemovalEvent.allCases { #expect(RemovalState.done.next(on: event) == nil) }
  }

  @Test func `a push has a maximum of removals`() {
    var removals = Removals()
    for seq in 1...Int64(Removals.maxCount + 5) {
      removals.add(MessageReference(room: RoomID(unchecked: "r\(seq)"), seq: seq), isRead: seq % 2 == 0)
    }
    #expect(removals.count == Removals.maxCount)
    #expect(removals.covers(MessageReference(room: RoomID(unchecked: "r1"), seq: 1)))
    #expect(!removals.covers(MessageReference(room: RoomID(unchecked: "r1"), seq: 2)))
    #expect(removals.covers(MessageReference(room: RoomID(unchecked: "r2"), seq: 1)))
    #expect(!removals.covers(MessageReference(room: RoomID(unchecked: "r2"), seq: 3)))
  }
}
