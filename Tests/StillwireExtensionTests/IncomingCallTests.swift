// SPDX-License-Identifier: Apache-2.0
// Tests the calls of VoIP pushes, and the decision about their reports.
import Foundation
import RelayJSON
import RelayProtocol
import Testing

@testable import StillwireExtension

@Suite struct IncomingCallTests {
  private static let id = "DD03C85B-FE98-48F9-98B0-2DA51FBEEED8"

  /// A payload as the relay writes it, see `Push+Call.swift` of RelayDelivery.
  private static func push(_ call: String = id, more: String = "") -> String {
    """
    {"call":"\(call)","ringUntil":1700000045000,"ringFor":45000,"data":{\
    "communication":{"kind":"call","sender":{"id":"ann","name":"Ann","handle":"+43 1 234","handleType":"phone"},\
    "conversation":{"id":"tea","group":false}},\
    "message":{"room":"tea","seq":7}\(more)}}
    """
  }

  @Test func `a call has the caller, the message and the end of the ringing`() throws {
    let call = try #require(IncomingCall(reading: Self.push().utf8))
    #expect(call.id.uuidString == Self.id)
    #expect((call.caller.displayName, call.caller.handle, call.caller.handleType) == ("Ann", "+43 1 234", .phoneNumber))
    #expect(call.payload.message == MessageReference(room: "tea", seq: 7))
    #expect(call.ringUntil == Timestamp(rawValue: 1_700_000_045_000))
    #expect(call.ringFor == .seconds(45))
  }

  @Test(arguments: [
    ("", false), (#","video":true"#, true), (#","video":false"#, false), (#","video":"yes""#, false),
  ])
  func `a call has video if the sender's data state it`(_ more: String, _ hasVideo: Bool) throws {
    let call = try #require(IncomingCall(reading: Self.push(more: more).utf8))
    #expect(call.hasVideo == hasVideo)
    #expect(call.media == (hasVideo ? .video : .audio))
    #expect(IntentFields(call.payload) == .startCall(StartCallFields(contacts: [call.caller], media: call.media)))
  }

  @Test func `a call has the sender's own data`() throws {
    let call = try #require(IncomingCall(reading: Self.push(more: #","session":"c1""#).utf8))
    #expect(call.data["session"]?.text == "c1")
  }

  static let unreadable = [
    "{", "[]", "{}", push("../x"), push("7"), push().replacing("1700000045000", with: "null"),
    push().replacing("\"ringFor\":45000", with: "\"ringFor\":null"), push().replacing("data", with: "date"),
    push().replacing("sender", with: "from"),
    push(more: #","text":"\#(String(repeating: "x", count: 5_120))""#),
  ]

  @Test(arguments: unreadable.indices) func `a payload that is not a call is rejected`(_ index: Int) {
    #expect(IncomingCall(reading: Self.unreadable[index].utf8) == nil)
  }

  /// The time before the end of the ringing by the clock of the phone, and the time for which the phone rings, in
  /// milliseconds. The second is `nil` if the phone does not ring.
  static let rings: [(rest: Int, time: Int?)] = [
    (45_000, 45_000), (44_000, 44_000), (1, 1),
    // The push is late.
    (0, nil), (-1, nil), (-59_999, nil),
    // The clock of the phone is ahead, by a minute and a half, an hour or ten years.
    (-60_000, 45_000), (-3_600_000, 45_000), (-315_360_000_000, 45_000),
    // The clock of the phone is behind, by a millisecond, an hour or ten years.
    (45_001, 45_000), (3_645_000, 45_000), (315_360_000_000, 45_000),
  ]

  @Test(arguments: rings.indices)
  func `the phone rings until the end of the ringing, and for its whole time if a clock is wrong`(_ index: Int) throws {
    let (rest, time) = Self.rings[index]
    let call = try #require(IncomingCall(reading: Self.push().utf8))
    let now = Date(timeIntervalSince1970: Double(1_700_000_045_000 - rest) / 1_000)
    let rings = time != nil
    #expect(call.ringing(at: now) == time.map { Duration.milliseconds($0) })
    #expect(IncomingCall.Report(call, now: now) == (rings ? .ring(call) : .endUnanswered(call)))
    // From iOS 26.4 on, the system states if a push needs a report.
    #expect(IncomingCall.Report(call, mustReport: false, now: now) == (rings ? .ring(call) : .nothing))
    #expect(IncomingCall.Report(nil, mustReport: false, now: now) == .nothing)
    for mustReport in [false, true] {
      let again = IncomingCall.Report(call, mustReport: mustReport, isKnown: true, now: now)
      #expect(again == (mustReport ? .repeated(call) : .nothing))
    }
  }

  /// The `ringFor` of a push, and the time for which a phone rings whose clock is an hour behind, in milliseconds.
  @Test(arguments: [(0, 0), (600_000, 600_000), (600_001, 600_000), (-1, 0)])
  func `the phone rings for at most the longest ringing`(_ ringFor: Int, _ time: Int) throws {
    let text = Self.push().replacing("\"ringFor\":45000", with: "\"ringFor\":\(ringFor)")
    let call = try #require(IncomingCall(reading: text.utf8))
    #expect(call.ringing(at: Date(timeIntervalSince1970: 1_700_000_000 - 3_600)) == .milliseconds(time))
  }

  @Test func `an unreadable push is reported with a new id each time`() throws {
    let reports = (0..<2).map { _ in IncomingCall.Report(nil, now: Date(timeIntervalSince1970: 0)) }
    guard case .endFailed(let first) = reports[0], case .endFailed(let second) = reports[1] else {
      Issue.record("the report is not endFailed")
      return
    }
    #expect(first != second)
  }
}
