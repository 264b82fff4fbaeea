// SPDX-License-Identifier: Apache-2.0
import RelayProtocol
import Testing

@testable import RelayDelivery

/// A case and its expected decision.
struct Row: CustomTestStringConvertible, Sendable {
  let testDescription: String
  let facts: DeliveryCase
  let outcome: Decision.Outcome
  let codes: [Reason.Code]

  /// - Parameter codes: The codes of all rules that match. Without any, the code of the outcome.
  init(_ name: String, _ facts: DeliveryCase, _ outcome: Decision.Outcome, _ codes: Reason.Code...) {
    testDescription = name
    self.facts = facts
    self.outcome = outcome
    if codes.isEmpty, case .none(let code) = outcome { self.codes = [code] } else { self.codes = codes }
  }
}

/// The decision for single cases, in tables. `RuleOrderTests` and `SilenceTests` cover pairs of rules and silences.
@Suite struct DecisionTests {
  private static let plain = DeliveryCase.plain
  private static let push = Decision.Outcome.push(.active)

  @Test(
    arguments: endings + receipts + idleness + graces + bounds + releases + calls + mutes + alerts + unread + crowds
      + invitations)
  func `a case has the decision of its row`(row: Row) {
    let decision = decide(row.facts)
    #expect(decision.outcome == row.outcome)
    #expect(decision.reasons.map(\.code) == row.codes)
  }

  private static let endings = [
    Row("no rule matches", plain, push, .nothingAgainst),
    Row("own message", plain.with { $0.message.sender = bob }, .none(.ownMessage)),
    Row("no push requested", plain.with { $0.message.isPushAsked = false }, .none(.noPushAsked)),
    Row("blocked", plain.with { $0.recipient.hasBlockedSender = true }, .none(.blocked)),
    Row("read", plain.with { $0.recipient.hasRead = true }, .none(.read)),
    Row("received, by the mark", plain.with { $0.recipient.hasReceivedActively = true }, .none(.received)),
    Row("received by an active session", plain.with(.received(.active)), .none(.received)),
    Row(
      "read and received", plain.with(.received(.active)).with { $0.recipient.hasRead = true }, .none(.read), .read,
      .received),
    Row("received in the background only", plain.with(.received(.background)), push, .nothingAgainst),
    Row("deleted", plain.with { $0.message.isDeleted = true }, .none(.deleted)),
    Row("a millisecond before the expiry", plain.with { $0.message.expires = .at(1_001) }, push, .nothingAgainst),
    Row("at the expiry", plain.with { $0.message.expires = .at(1_000) }, .none(.expired)),
    Row("a millisecond after the expiry", plain.with { $0.message.expires = .at(999) }, .none(.expired)),
    Row("no longer a member", plain.with { $0.recipient.isMember = false }, .none(.notMember)),
    Row("suspended", plain.with { $0.recipient.isSuspended = true }, .none(.suspended)),
    Row("suspended, a call", plain.with { $0.recipient.isSuspended = true }.asCall, .none(.suspended)),
    Row(
      "deleted, expired and no member",
      plain.with {
        $0.message.isDeleted = true
        $0.message.expires = .at(0)
        $0.recipient.isMember = false
      }, .none(.deleted)),
    Row(
      "expired and no member",
      plain.with {
        $0.message.expires = .at(0)
        $0.recipient.isMember = false
      }, .none(.expired)),
    Row("no device", plain.with { $0.device = nil }, .none(.noDevice)),
  ]

  private static let receipts = [Activity.active, .idle].flatMap { activity in
    let written = SessionFacts.unreceived(activity, .written(at: .at(700)))
    let missed = SessionFacts.unreceived(activity, .missed(joined: .at(800)))
    let pending = SessionFacts.unreceived(activity, .pending)
    return [
      Row("\(activity), just written", plain.with(written), .wait(until: .at(5_700)), .notReceivedYet),
      Row("\(activity), 4,999 ms ago", plain.with(written).at(5_699), .wait(until: .at(5_700)), .notReceivedYet),
      Row("\(activity), 5 s ago", plain.with(written).at(5_700), push, .nothingAgainst),
      Row("\(activity), 5,001 ms ago", plain.with(written).at(5_701), push, .nothingAgainst),
      Row("\(activity), joined", plain.with(missed), .wait(until: .at(5_800)), .notReceivedYet),
      Row("\(activity), joined 4,999 ms ago", plain.with(missed).at(5_799), .wait(until: .at(5_800)), .notReceivedYet),
      Row("\(activity), joined 5 s ago", plain.with(missed).at(5_800), push, .nothingAgainst),
      Row("\(activity), not yet written", plain.with(pending), .wait(until: .at(6_000)), .notReceivedYet),
      Row("\(activity), long not written", plain.with(pending).at(39_000), .wait(until: .at(44_000)), .notReceivedYet),
      Row("\(activity), the latest counts", plain.with(missed, written), .wait(until: .at(5_800)), .notReceivedYet),
      Row("\(activity), in the other order", plain.with(written, missed), .wait(until: .at(5_800)), .notReceivedYet),
    ]
  }

  private static let idleness = [
    Row("an idle session has it", plain.with(.received(.idle)), .wait(until: .at(30_000)), .receivedIdle),
    Row("at 29,999 ms", plain.with(.received(.idle)).at(29_999), .wait(until: .at(30_000)), .receivedIdle),
    Row("at 30 s", plain.with(.received(.idle)).at(30_000), push, .nothingAgainst),
    Row("at 30,001 ms", plain.with(.received(.idle)).at(30_001), push, .nothingAgainst),
    Row("an active session has it as well", plain.with(.received(.idle), .received(.active)), .none(.received)),
    Row(
      "an active session did not acknowledge it",
      plain.with(.received(.idle), .unreceived(.active, .written(at: .at(0)))).at(5_000),
      .wait(until: .at(30_000)), .receivedIdle),
    Row(
      "the session became active, and idle again",
      plain.with(.received(.idle)).with { $0.recipient.hasReceivedActively = true }, .none(.received)),
  ]

  private static let graces = [
    Row("disconnected just now", gone(1_000), .wait(until: .at(11_000)), .withinGrace),
    Row("away for 9,999 ms", gone(-8_999), .wait(until: .at(1_001)), .withinGrace),
    Row("away for the whole grace", gone(-9_000), push, .nothingAgainst),
    Row("away for longer", gone(-9_001), push, .nothingAgainst),
    Row("a clean end", gone(1_000, isClean: true), push, .nothingAgainst),
    Row("an end at an unknown time", plain.with { $0.recipient.away = nil }, push, .nothingAgainst),
    Row(
      "away, with one in the background", gone(1_000).with(background), .wait(until: .at(11_000)), .withinGrace),
    Row(
      "away, one in the background has it", gone(1_000).with(.received(.background)), .wait(until: .at(11_000)),
      .withinGrace),
    Row(
      "a clean end, and a session is open in the background", gone(1_000, isClean: true).with(background), push,
      .nothingAgainst),
    Row(
      "gone before a newer one", gone(1_000).with(.unreceived(.idle, .written(at: .at(-hour)))), push, .nothingAgainst),
    Row("in the background and not written", plain.with(.unreceived(.background, .pending)), push, .nothingAgainst),
  ]

  private static let bounds = [
    Row("at 44,999 ms", gone(44_000).at(44_999), .wait(until: .at(45_000)), .withinGrace),
    Row("at 45 s", gone(44_000).at(45_000), push, .nothingAgainst),
    Row("at 45,001 ms", gone(44_000).at(45_001), push, .nothingAgainst),
    Row("a late join", plain.with(late).at(44_999), .wait(until: .at(45_000)), .notReceivedYet),
    Row("a late join at 45 s", plain.with(late).at(45_000), push, .nothingAgainst),
    Row(
      "still not written at 44,999 ms", plain.with(.unreceived(.active, .pending)).at(44_999),
      .wait(until: .at(45_000)), .notReceivedYet),
    Row("still not written at 45 s", plain.with(.unreceived(.active, .pending)).at(45_000), push, .nothingAgainst),
    Row(
      "a wait ends with the message", plain.with(.received(.idle)).with { $0.message.expires = .at(20_000) },
      .wait(until: .at(20_000)), .receivedIdle),
  ]

  /// A message that is an hour old, whose silence ended at `released`.
  private static func released(_ released: Int64?, _ session: SessionFacts?, at now: Int64) -> DeliveryCase {
    plain.with {
      $0.now = .at(now)
      $0.released = released.map(Timestamp.at)
      $0.recipient.sessions = [session].compactMap { $0 }
    }
  }

  private static let justJoined = SessionFacts.unreceived(.active, .written(at: .at(hour - 2_000)))

  private static let releases = [
    Row(
      "held for an hour, and just joined", released(hour, justJoined, at: hour), .wait(until: .at(hour + 3_000)),
      .notReceivedYet),
    Row("the same, and it is received", released(hour, .received(.active), at: hour), .none(.received)),
    Row("the same, 5 s after it joined", released(hour, justJoined, at: hour + 3_000), push, .nothingAgainst),
    Row("not held, and an hour old", released(nil, justJoined, at: hour), push, .nothingAgainst),
    Row("released 45 s ago", released(hour - 45_000, justJoined, at: hour), push, .nothingAgainst),
    Row(
      "released 44,999 ms ago", released(hour - 44_999, justJoined, at: hour), .wait(until: .at(hour + 1)),
      .notReceivedYet),
    Row(
      "not yet written", released(hour, .unreceived(.idle, .pending), at: hour), .wait(until: .at(hour + 5_000)),
      .notReceivedYet),
    Row("received while idle long ago", released(hour, .received(.idle), at: hour), push, .nothingAgainst),
    Row(
      "disconnected a second ago",
      released(hour, nil, at: hour).with { $0.recipient.away = AwayFacts(since: .at(hour - 1_000), isClean: false) },
      .wait(until: .at(hour + 9_000)), .withinGrace),
    Row(
      "still silenced", released(hour, justJoined, at: hour + 3_000).focused(.hold, until: 2 * hour),
      .hold(until: .at(2 * hour)), .focused),
    Row("a call", released(hour, justJoined, at: hour).asCall, push, .nothingAgainst),
  ]

  private static let calls = [
    Row("a call, not received", plain.with(.unreceived(.active, .pending)).asCall, push, .nothingAgainst),
    Row("a call, received idle", plain.with(.received(.idle)).asCall, push, .nothingAgainst),
    Row("a call, received actively", plain.with(.received(.active)).asCall, push, .nothingAgainst),
    Row(
      "a call, received by the mark", plain.with { $0.recipient.hasReceivedActively = true }.asCall, push,
      .nothingAgainst),
    Row("a call, within the grace", gone(1_000).asCall, push, .nothingAgainst),
    Row("a call, read", plain.with { $0.recipient.hasRead = true }.asCall, .none(.read)),
    Row("a call, expired", plain.with { $0.message.expires = .at(0) }.asCall, .none(.expired)),
    Row("a call, no device", plain.with { $0.device = nil }.asCall, .none(.noDevice)),
  ]

  private static func leveled(_ level: RoomLevel, isMentioned: Bool = false) -> DeliveryCase {
    plain.with {
      $0.recipient.roomLevel = level
      $0.recipient.isMentioned = isMentioned
    }
  }

  private static let mutes = [
    Row("a muted room", leveled(.none), .none(.muted)),
    Row("a mention in a muted room", leveled(.none, isMentioned: true), .none(.muted)),
    Row("no mention in a room with mentions only", leveled(.mentions), .none(.muted)),
    Row("a mention in a room with mentions only", leveled(.mentions, isMentioned: true), push, .nothingAgainst),
    Row("a mention in a room with all messages", leveled(.all, isMentioned: true), push, .nothingAgainst),
    Row("a call in a muted room", leveled(.none).asCall, .none(.muted)),
    Row("a call from a blocked sender", plain.with { $0.recipient.hasBlockedSender = true }.asCall, .none(.blocked)),
  ]

  private static func silent(hasVoIPToken: Bool = false) -> DeliveryCase {
    plain.with {
      $0.device?.allowsAlerts = false
      $0.device?.hasVoIPToken = hasVoIPToken
    }
  }

  private static let alerts = [
    Row("alerts are off", silent(), .none(.notAllowed)),
    Row("alerts are off, and the device has a VoIP token", silent(hasVoIPToken: true), .none(.notAllowed)),
    Row("alerts are off, and the device cannot ring for a call", silent().asCall, .none(.notAllowed)),
    Row("alerts are off, and the device rings for a call", silent(hasVoIPToken: true).asCall, push, .nothingAgainst),
    Row("it rings, and alerts are on too", plain.with { $0.device?.hasVoIPToken = true }.asCall, push, .nothingAgainst),
  ]

  /// The recipient wants a push 60 s after a message that is still unread.
  private static func unread(_ session: SessionFacts? = .received(.active), at now: Int64 = 1_000) -> DeliveryCase {
    plain.with {
      $0.now = .at(now)
      $0.recipient.pushUnreadAfter = 60
      $0.recipient.sessions = [session].compactMap { $0 }
    }
  }

  private static let unread = [
    Row("received and unread", unread(), .hold(until: .at(60_000)), .unread),
    Row(
      "received by the mark", unread(nil).with { $0.recipient.hasReceivedActively = true }, .hold(until: .at(60_000)),
      .unread),
    Row("unread for 59,999 ms", unread(at: 59_999), .hold(until: .at(60_000)), .unread),
    Row("unread for 60 s", unread(at: 60_000), push, .nothingAgainst),
    Row("read", unread().with { $0.recipient.hasRead = true }, .none(.read), .read, .unread),
    Row("not received", unread(nil), push, .nothingAgainst),
    Row("received idle", unread(.received(.idle)), .wait(until: .at(30_000)), .receivedIdle),
    Row("a call", unread().asCall, push, .nothingAgainst),
    Row(
      "a message that expires before", unread().with { $0.message.expires = .at(20_000) }, .hold(until: .at(20_000)),
      .unread),
    Row("no device", unread().with { $0.device = nil }, .none(.noDevice)),
    Row(
      "in quiet hours", unread().quietHours(.hold), .hold(until: .at(60_000)), .unread, .quietHours),
    Row("quiet hours after the time", unread(at: 60_000).quietHours(.hold), .hold(until: .at(hour)), .quietHours),
  ]

  private static func crowd(isNamed: Bool = false) -> DeliveryCase {
    plain.with {
      $0.recipient.isRoomTooLarge = true
      $0.recipient.isMentioned = true
      $0.recipient.isNamed = isNamed ? true : nil
    }
  }

  private static let crowds = [
    Row("a large room that mentions everybody", crowd(), .none(.largeRoom)),
    Row("a large room that names the recipient", crowd(isNamed: true), push, .nothingAgainst),
    Row("the same, muted", crowd(isNamed: true).with { $0.recipient.roomLevel = .none }, .none(.muted)),
    Row("a call in a large room", crowd().asCall, .none(.largeRoom)),
  ]

  private static func invitation(isTooOften: Bool = false) -> DeliveryCase {
    plain.with {
      $0.message.kind = .invitation
      $0.recipient.isInvitedTooOften = isTooOften ? true : nil
    }
  }

  private static let invitations = [
    Row("an invitation", invitation(), push, .nothingAgainst),
    Row("an invitation above the pace", invitation(isTooOften: true), .none(.invitedTooOften)),
    Row(
      "a message above the pace of invitations", plain.with { $0.recipient.isInvitedTooOften = true }, push,
      .nothingAgainst),
    Row("an invitation that a session has received", invitation().with(.received(.active)), .none(.received)),
    Row(
      "the same, with a push for unread messages",
      invitation().with(.received(.active)).with { $0.recipient.pushUnreadAfter = 60 }, .none(.received)),
    Row(
      "an invitation that a session may receive", invitation().with(.unreceived(.active, .written(at: .at(0)))),
      .wait(until: .at(5_000)), .notReceivedYet),
    Row("an invitation by a blocked user", invitation().with { $0.recipient.hasBlockedSender = true }, .none(.blocked)),
    Row("an invitation during a Focus", invitation().focused(.hold), .hold(until: .at(hour)), .focused),
    Row("an invitation in quiet hours", invitation().quietHours(.hold), .hold(until: .at(hour)), .quietHours),
  ]

  private static let background = SessionFacts.unreceived(.background, .written(at: .at(0)))
  private static let late = SessionFacts.unreceived(.active, .missed(joined: .at(44_000)))

  private static func gone(_ since: Int64, isClean: Bool = false) -> DeliveryCase {
    plain.with { $0.recipient.away = AwayFacts(since: .at(since), isClean: isClean) }
  }

  @Test(arguments: Level.allCases)
  func `a push has the level of its message`(level: Level) {
    #expect(decide(Self.plain.with { $0.message.level = level }).outcome == .push(level))
  }

  @Test func `a reason names its rule in words`() {
    let decision = decide(Self.plain.with { $0.device = nil })
    #expect(decision.reasons == [Reason(rule: 14, code: .noDevice, words: "no device is registered")])
  }

  /// Without `time(ofStored:now:)` the limit of its waits would be an hour ahead.
  @Test func `a stored message has no waits after the clock was set back`() {
    let policy = DeliveryPolicy()
    let now = Timestamp.at(-hour)
    let facts = Self.plain.with(.unreceived(.active, .written(at: .at(0)))).at(-hour)
    #expect(decide(facts, policy: policy).outcome == .wait(until: .at(5_000)))
    let time = policy.time(ofStored: .at(0), now: now)
    let old = facts.with {
      $0.message.time = time
      $0.recipient.sessions = [.unreceived(.active, .written(at: time))]
    }
    #expect(decide(old, policy: policy).outcome == .push(.active))
    // After its hold it waits for a session that has just joined, from the release.
    let joined = old.with {
      $0.recipient.sessions = [.unreceived(.active, .missed(joined: now))]
      $0.released = now
    }
    #expect(decide(joined, policy: policy).outcome == .wait(until: now + .seconds(5)))
    for time in [now, now - .seconds(1), .at(-2 * hour)] {
      #expect(policy.time(ofStored: time, now: now) == time)
    }
  }

  @Test func `the policy sets all waits`() {
    let policy = DeliveryPolicy(
      receiptWait: .milliseconds(1), idleWait: .milliseconds(1_002), grace: .milliseconds(3),
      maxWait: .milliseconds(1_004))
    func outcome(_ facts: DeliveryCase) -> Decision.Outcome { decide(facts, policy: policy).outcome }
    #expect(outcome(Self.plain.with(.unreceived(.active, .pending))) == .wait(until: .at(1_001)))
    #expect(outcome(Self.plain.with(.received(.idle))) == .wait(until: .at(1_002)))
    #expect(outcome(Self.gone(1_000)) == .wait(until: .at(1_003)))
    #expect(outcome(Self.plain.with(Self.late)) == .wait(until: .at(1_004)))
  }
}
