// SPDX-License-Identifier: Apache-2.0
import RelayDelivery
import RelayProtocol
import Testing

@testable import RelayGateways

@Suite struct WebPushRequestTests {
  private func push(_ payload: String) -> Push { RelayGatewaysTests.push(payload: payload) }

  private func field(_ name: String, of push: Push, now: Int64 = 1_699_999_000_000) -> String? {
    push.webPushFields(.normal, topic: "topic", now: Timestamp(rawValue: now)).first { $0.name == name }?.value
  }

  @Test(arguments: [
    (PhonePush.message(), Urgency?.some(.normal)), (.message(level: .passive), .low),
    (.message(level: .timeSensitive), .high), (.message(level: .critical), .high),
    (.message(kind: .call), .high), (PhonePush.message(kind: .call).changed(to: .missed), .low),
    (PhonePush.message().changed(to: .current), .low),
    (PhonePush(id: uuid(1), to: UserID(unchecked: "bob"), topic: "t", .badge(1)), nil),
    (PhonePush(id: uuid(1), to: UserID(unchecked: "bob"), topic: "t", .removal), nil),
  ])
  func `the level determines the urgency`(_ push: PhonePush, _ urgency: Urgency?) {
    #expect(push.urgency == urgency)
  }

  /// The push expires at 1,700,000,000 s of Unix time.
  @Test(arguments: [
    (1_699_999_999_000, "1"), (1_699_999_000_000, "1000"), (1_700_000_000_000, "0"), (1_800_000_000_000, "0"),
    (1_690_000_000_000, "2419200"),
  ])
  func `the TTL ends at the expiry of the push, or after four weeks`(_ now: Int64, _ seconds: String) {
    #expect(field("TTL", of: push("{}"), now: now) == seconds)
  }

  @Test func `a topic has 32 valid characters, and depends on the collapse id and the key`() throws {
    let keys = try (0..<2).map { _ in try VAPIDKey(pem: VAPIDKey.makePEM(), subject: "mailto:a@example.org") }
    let pushes = ["room/1", "room/2", "räume/1"].map { RelayGatewaysTests.push(collapse: $0) }
    let topics = keys.flatMap { key in pushes.map(key.topic) }
    #expect(Set(topics).count == 6)
    for topic in topics {
      #expect(topic.utf8.count == 32 && [UInt8](base64URL: topic.utf8)?.count == 24)
    }
    #expect(keys[0].topic(of: RelayGatewaysTests.push(2, collapse: "room/1")) == topics[0])
    #expect(field("Topic", of: pushes[0]) == "topic")
  }

  @Test(arguments: [
    (#"{"aps":{"alert":"hi"}}"#, #"{"aps":{"alert":"hi"},"tag":"tea/1/0a"}"#), ("{}", #"{"tag":"tea/1/0a"}"#),
  ])
  func `a payload has the collapse id as its tag`(_ payload: String, _ tagged: String) {
    let push = RelayGatewaysTests.push(collapse: "tea/1/0a", payload: payload)
    #expect(String(decoding: push.taggedPayload, as: UTF8.self) == tagged)
  }

  @Test func `the headers contain the content coding and the urgency`() {
    #expect(field("Content-Encoding", of: push("{}")) == "aes128gcm" && field("Urgency", of: push("{}")) == "normal")
  }
}

@Suite struct WebPushDecisionTests {
  @Test(arguments: [
    (200, WebPushDecision.sent), (201, .sent), (202, .sent), (301, .dead(.redirected)), (307, .dead(.redirected)),
    (400, .dead(.other)), (401, .refused(.invalidProviderToken)), (403, .refused(.forbidden)), (404, .forget),
    (405, .dead(.other)), (408, .retry(after: nil, .timeout, isUnknown: true)), (410, .forget), (413, .shorten),
    (429, .retry(after: nil, .tooManyRequests)), (500, .retry(after: nil, .internalServerError, isUnknown: true)),
    (502, .retry(after: nil, .internalServerError, isUnknown: true)), (503, .retry(after: nil, .serviceUnavailable)),
  ])
  func `each status leads to one decision`(_ status: Int, _ decision: WebPushDecision) {
    #expect(WebPushDecision(HTTPAnswer(status: status)) == decision)
  }

  @Test(arguments: [429, 500, 503]) func `the decision uses Retry-After`(_ status: Int) {
    let decision = WebPushDecision(HTTPAnswer(status: status, retryAfter: .seconds(7), body: nil))
    guard case .retry(let after, _, _) = decision else { return #expect(Bool(false), "\(decision)") }
    #expect(after == .seconds(7))
  }
}
