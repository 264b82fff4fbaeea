// SPDX-License-Identifier: Apache-2.0
import RelayProtocol
import Testing

@testable import RelayGateways

@Suite struct AppleAnswerTests {
  private static let now = Timestamp(rawValue: 784_111_777_000)

  private func answer(_ body: String, retryAfter: String? = nil, date: String? = nil) -> AppleAnswer {
    AppleAnswer(status: 410, body: Array(body.utf8), retryAfter: retryAfter, date: date, now: Self.now)
  }

  @Test func `the body's reason and timestamp are parsed`() {
    let answer = answer(#"{"reason":"Unregistered","timestamp":1700000000123}"#)
    #expect(answer.reason == "Unregistered")
    #expect(answer.timestamp == Timestamp(rawValue: 1_700_000_000_123))
  }

  @Test(arguments: ["", "{", "[]", "<html>", #"{"reason":5}"#, #"{"timestamp":"soon"}"#])
  func `an empty or invalid body counts as none`(_ body: String) {
    #expect(answer(body) == AppleAnswer(status: 410))
  }

  @Test(arguments: [-1.0, 1e300]) func `a timestamp out of range is ignored`(_ time: Double) {
    #expect(answer(#"{"reason":"Unregistered","timestamp":\#(time)}"#).timestamp == nil)
  }

  @Test(arguments: [
    ("120", Duration.seconds(120)), ("0", .zero), ("-1", nil), ("99999999999999999999", nil), ("soon", nil),
    ("Sun, 06 Nov 1994 08:50:37 GMT", .seconds(60)), ("Sun, 06 Nov 1994 08:00:00 GMT", .zero),
  ])
  func `Retry-After is a number of seconds or a date`(_ text: String, _ delay: Duration?) {
    #expect(answer("", retryAfter: text).retryAfter == delay)
  }

  @Test func `a date in Retry-After is compared with the service's date`() {
    let answer = answer("", retryAfter: "Sun, 06 Nov 1994 09:50:37 GMT", date: "Sun, 06 Nov 1994 09:49:37 GMT")
    #expect(answer.retryAfter == .seconds(60))
  }

  @Test func `the service's date is parsed`() {
    #expect(answer("", date: "Sun, 06 Nov 1994 08:49:37 GMT").date == Self.now)
    #expect(answer("", date: "yesterday").date == nil)
  }
}
