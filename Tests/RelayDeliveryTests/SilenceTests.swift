// SPDX-License-Identifier: Apache-2.0
import RelayProtocol
import Testing

@testable import RelayDelivery

/// The causes that silence a device, and their effect on pushes.
@Suite struct SilenceTests {
  @Test(arguments: [SilenceMode.hold, .passive])
  func `a silent push is not silenced`(mode: SilenceMode) {
    let silent = DeliveryCase.plain.focused(mode).with { $0.message.isSilent = true }
    #expect(decide(silent).outcome == .push(.active))
  }

  private static let plain = DeliveryCase.plain
  private static let push = Decision.Outcome.push(.active)
  private static let passive = Decision.Outcome.push(.passive)
  private static let held = Decision.Outcome.hold(until: .at(hour))

  @Test(arguments: causes + mixtures + ends + labels + wishes)
  func `a silenced push has the decision of its row`(row: Row) {
    let decision = decide(row.facts)
    #expect(decision.outcome == row.outcome)
    #expect(decision.reasons.map(\.code) == row.codes)
  }

  private static let causes = [
    Row("focused", plain.focused(.deliver), push, .nothingAgainst),
    Row("focused, softened", plain.focused(.passive), passive, .focused),
    Row("focused, held", plain.focused(.hold), held, .focused),
    Row("filtered", plain.filtered(.deliver), push, .nothingAgainst),
    Row("filtered, softened", plain.filtered(.passive), passive, .filtered),
    Row("filtered, held", plain.filtered(.hold), held, .filtered),
    Row("quiet hours with the mode deliver", plain.quietHours(.deliver), push, .nothingAgainst),
    Row("quiet hours, softened", plain.quietHours(.passive), passive, .quietHours),
    Row("quiet hours, held", plain.quietHours(.hold), held, .quietHours),
    Row("a preference without a silence", plain.with { $0.recipient.onFocus = .hold }, push, .nothingAgainst),
  ]

  private static let mixtures = [
    Row("hold wins over passive", plain.focused(.hold).quietHours(.passive, until: 2 * hour), held, .focused),
    Row("hold wins, in the other order", plain.focused(.passive, until: 2 * hour).quietHours(.hold), held, .quietHours),
    Row("hold wins over deliver", plain.focused(.deliver, until: 2 * hour).quietHours(.hold), held, .quietHours),
    Row("passive wins over deliver", plain.focused(.deliver).quietHours(.passive), passive, .quietHours),
    Row("a filter uses the preference for Focus", plain.filtered(.hold).quietHours(.passive), held, .filtered),
    Row("a Focus whose hold is over", plain.focused(.hold, until: 1_000).quietHours(.passive), passive, .quietHours),
    Row(
      "all passive", plain.focused(.passive).filtered(.passive).quietHours(.passive), passive, .focused, .filtered,
      .quietHours),
    Row(
      "the last end counts: quiet hours'",
      plain.focused(.hold, until: 1).focused(.hold).quietHours(.hold, until: 2 * hour),
      .hold(until: .at(2 * hour)), .focused, .quietHours),
    Row(
      "the last end counts: the Focus's", plain.focused(.hold, until: 2 * hour).quietHours(.hold),
      .hold(until: .at(2 * hour)), .focused, .quietHours),
    Row(
      "the last end counts: the filter's", plain.focused(.hold).filtered(.hold, until: 3 * hour).quietHours(.hold),
      .hold(until: .at(3 * hour)), .focused, .filtered, .quietHours),
  ]

  private static let tooLong = plain.focused(.hold, until: 20 * hour)

  private static let ends = [
    Row("a Focus that ends now", plain.focused(.hold, until: 1_000), push, .nothingAgainst),
    Row("a Focus that ends in a moment", plain.focused(.hold, until: 1_001), .hold(until: .at(1_001)), .focused),
    Row("a filter that ends now", plain.filtered(.hold, until: 1_000), push, .nothingAgainst),
    Row("a filter that ends in a moment", plain.filtered(.hold, until: 1_001), .hold(until: .at(1_001)), .filtered),
    Row("quiet hours that end now", plain.quietHours(.hold, until: 1_000), push, .nothingAgainst),
    Row(
      "quiet hours that end in a moment", plain.quietHours(.hold, until: 1_001), .hold(until: .at(1_001)), .quietHours),
    Row("a stale Focus does not soften", plain.focused(.passive, until: 999), push, .nothingAgainst),
    Row("12 h from the message's time", tooLong, .hold(until: .at(12 * hour)), .focused),
    Row("at the last millisecond of the 12 h", tooLong.at(12 * hour - 1), .hold(until: .at(12 * hour)), .focused),
    Row("12 h are over", tooLong.at(12 * hour), push, .nothingAgainst),
    Row("more than 12 h are over", tooLong.at(13 * hour), push, .nothingAgainst),
    Row("passive in its last moment", plain.focused(.passive, until: 20 * hour).at(12 * hour - 1), passive, .focused),
    Row("too old to be passive", plain.focused(.passive, until: 20 * hour).at(12 * hour), push, .nothingAgainst),
    Row(
      "a hold ends with the message", plain.focused(.hold).with { $0.message.expires = .at(2_000) },
      .hold(until: .at(2_000)), .focused),
    Row(
      "an expired message is not held", plain.focused(.hold).with { $0.message.expires = .at(1_000) },
      .none(.expired), .expired),
  ]

  /// A case with a filter that passes "home".
  private static func labeled(room: String? = nil, device: String? = nil, sender: String? = nil) -> DeliveryCase {
    plain.filtered(.hold).with {
      $0.recipient.roomCriteria = room
      $0.device = DeviceFacts(filter: $0.device?.filter, criteria: device)
      $0.message.criteria = sender
    }
  }

  private static let labels = [
    Row("no label passes every filter", labeled(), push, .nothingAgainst),
    Row(
      "no label, and a filter for nothing", labeled().with { $0.device?.filter?.allow = [] }, push, .nothingAgainst),
    Row(
      "a filter that refuses every label", labeled(room: "home").with { $0.device?.filter?.allow = [] }, held,
      .filtered),
    Row("the recipient's label of the room", labeled(room: "home", device: "x", sender: "x"), push, .nothingAgainst),
    Row("the room's label is refused", labeled(room: "x", device: "home", sender: "home"), held, .filtered),
    Row("the device's label", labeled(device: "home", sender: "x"), push, .nothingAgainst),
    Row("the device's label is refused", labeled(device: "x", sender: "home"), held, .filtered),
    Row("the sender's label", labeled(sender: "home"), push, .nothingAgainst),
    Row("the sender's label is refused", labeled(sender: "x"), held, .filtered),
    Row("labels are case-sensitive", labeled(sender: "Home"), held, .filtered),
    Row("one of several", labeled(sender: "x").with { $0.device?.filter?.allow = ["a", "x"] }, push, .nothingAgainst),
    Row("an empty label is a label", labeled(sender: ""), held, .filtered),
  ]

  /// Quiet hours with a preference of the recipient, and a message.
  private static func wish(
    _ mode: SilenceMode = .hold, _ level: Level = .active, _ wish: (inout RecipientFacts) -> Void
  ) -> DeliveryCase {
    plain.quietHours(mode).with {
      $0.message.level = level
      wish(&$0.recipient)
    }
  }

  private static func noCalls(_ mode: SilenceMode = .hold) -> DeliveryCase {
    wish(mode) { $0.quietCalls = true }.asCall
  }

  private static let urgent = Decision.Outcome.push(.timeSensitive)

  private static let wishes = [
    Row("breaks through", wish { $0.breaksQuietHours = true }, push, .nothingAgainst),
    Row("breaks through, passive", wish(.passive) { $0.breaksQuietHours = true }, push, .nothingAgainst),
    Row("does not break through a Focus", wish { $0.breaksQuietHours = true }.focused(.hold), held, .focused),
    Row("does not break through a filter", wish { $0.breaksQuietHours = true }.filtered(.hold), held, .filtered),
    Row("calls are quiet", noCalls(), held, .quietHours),
    Row("calls are quiet, and no call is passive", noCalls(.passive), held, .quietHours),
    Row("calls are quiet, with the mode deliver", noCalls(.deliver), push, .nothingAgainst),
    Row("a message, and calls are quiet", wish { $0.quietCalls = true }, held, .quietHours),
    Row(
      "a call in a Focus", plain.with { $0.recipient.quietCalls = true }.focused(.hold).asCall, push, .nothingAgainst),
    Row(
      "a call is held beyond its time", noCalls().with { $0.message.expires = .at(30_000) }, held, .quietHours),
    Row(
      "a call is held for 12 h", noCalls().with { $0.device?.quiet?.until = .at(20 * hour) },
      .hold(until: .at(12 * hour)), .quietHours),
    Row("a call that breaks through", noCalls().with { $0.recipient.breaksQuietHours = true }, push, .nothingAgainst),
    Row(
      "a critical call", noCalls().with { $0.message.level = .critical }, .push(.critical), .nothingAgainst),
    Row(
      "a time-sensitive call", noCalls().with { $0.message.level = .timeSensitive }, held, .quietHours),
    Row("a Notify Anyway of a call", noCalls().with { $0.message.isNotifyAnyway = true }, push, .nothingAgainst),
    Row(
      "time-sensitive messages are quiet", wish(.hold, .timeSensitive) { $0.quietTimeSensitive = true }, held,
      .quietHours),
    Row(
      "time-sensitive messages are passive", wish(.passive, .timeSensitive) { $0.quietTimeSensitive = true }, passive,
      .quietHours),
    Row(
      "time-sensitive messages, and only calls are quiet", wish(.hold, .timeSensitive) { $0.quietCalls = true }, urgent,
      .nothingAgainst),
    Row(
      "a call, and only time-sensitive messages are quiet", wish { $0.quietTimeSensitive = true }.asCall, push,
      .nothingAgainst),
    Row(
      "a time-sensitive message in a Focus",
      plain.focused(.hold).with {
        $0.message.level = .timeSensitive
        $0.recipient.quietTimeSensitive = true
      }, urgent, .nothingAgainst),
    Row(
      "a critical message", wish(.hold, .critical) { $0.quietTimeSensitive = true }, .push(.critical), .nothingAgainst),
  ]

  /// These cases are pushed as if nothing silenced the device.
  private static let exceptions: [(String, @Sendable (inout DeliveryCase) -> Void)] = [
    ("a call", { $0.message.kind = .call }),
    ("a Notify Anyway", { $0.message.isNotifyAnyway = true }),
    ("a time-sensitive message", { $0.message.level = .timeSensitive }),
    ("a critical message", { $0.message.level = .critical }),
    ("an old message", { $0.now = .at(12 * hour) }),
  ]

  @Test(arguments: exceptions.indices, [SilenceMode.passive, .hold])
  func `a silence does not change these pushes`(index: Int, mode: SilenceMode) {
    let (_, change) = Self.exceptions[index]
    let silenced = Self.plain.focused(mode, until: 20 * hour).filtered(mode, until: 20 * hour).quietHours(
      mode, until: 20 * hour)
    let facts = silenced.with(change)
    let decision = decide(facts)
    #expect(decision.outcome == .push(facts.message.level))
    #expect(decision.reasons.map(\.code) == [.nothingAgainst])
  }

  @Test(arguments: [Level.passive, .active])
  func `a silence applies to levels below time-sensitive`(level: Level) {
    let facts = Self.plain.with { $0.message.level = level }
    #expect(decide(facts.focused(.hold)).outcome == Self.held)
    #expect(decide(facts.focused(.passive)).outcome == Self.passive)
  }

  @Test func `a Focus does not silence other devices`() {
    let phone = Self.plain.focused(.hold)
    #expect(decide(phone).outcome == Self.held)
    let laptop = phone.with { $0.device = DeviceFacts() }
    #expect(decide(laptop).outcome == Self.push)
  }

  @Test func `the policy sets the maximum of a hold`() {
    let policy = DeliveryPolicy(maxHold: .seconds(7))
    #expect(decide(Self.plain.quietHours(.hold), policy: policy).outcome == .hold(until: .at(7_000)))
    #expect(decide(Self.plain.quietHours(.passive).at(7_000), policy: policy).outcome == Self.push)
  }
}
