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
    {"call":"\(call)","ringUntil":1700000045000,"data":{"communication":{"kind":"call","sender":{"id":"ann",\
    "name":"Ann","handle":"+43 1 234","handleType":"phone"},"conversation":{"id":"tea","group":false}},\
    "message":{"room":"tea","seq":7}\(more)}}
    """
  }

  @Test func `a call has the caller, the message and the end of the ringing`() throws {
    let call = try #require(IncomingCall(reading: Self.push().utf8))
    #expect(call.id.uuidString == Self.id)
    #expect((call.caller.displayName, call.caller.handle, call.caller.handleType) == ("Ann", "+43 1 234", .phoneNumber))
    #expect(call.payload.message == MessageReference(room: "tea", seq: 7))
    #expect(call.ringUntil == Timestamp(rawValue: 1_700_000_045_000))
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
    push().replacing("data", with: "date"), push().replacing("sender", with: "from"),
    push(more: #","text":"\#(String(repeating: "x", count: 5_120))""#),
  ]

  @Test(arguments: unreadable.indices) func `a payload that is not a call is rejected`(_ index: Int) {
    #expect(IncomingCall(reading: Self.unreadable[index].utf8) == nil)
  }

  /// Times before the end of the ringing, in milliseconds, and the expected report.
  @Test(arguments: [(45_000, true), (1, true), (0, false), (-1, false)])
  func `the phone rings until the end of the ringing`(_ rest: Int, _ rings: Bool) throws {
    let call = try #require(IncomingCall(reading: Self.push().utf8))
    let now = Date(timeIntervalSince1970: Double(1_700_000_045_000 - rest) / 1_000)
    #expect(IncomingCall.Report(call, now: now) == (rings ? .ring(call) : .endUnanswered(call)))
    // From iOS 26.4 on, the system states if a push needs a report.
    #expect(IncomingCall.Report(call, mustReport: false, now: now) == (rings ? .ring(call) : .nothing))
    #expect(IncomingCall.Report(nil, mustReport: false, now: now) == .nothing)
    for mustReport in [false, true] {
      let again = IncomingCall.Report(call, mustReport: mustReport, isKnown: true, now: now)
      #expect(again == (mustReport ? .repeated(call) : .nothing))
    }
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
