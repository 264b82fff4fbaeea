// SPDX-License-Identifier: Apache-2.0
import PushLint
import RelayJSON
import RelayProtocol
import SeededRandom
import Testing

/// Checks that valid pushes have no findings.
@Suite struct LintValidPushTests {
  private static let activity = #""timestamp":1700000000,"content-state":{"score":1}"#

  @Test(arguments: [
    #"{"aps":{"alert":"Hi","sound":"a"}}"#, #"{"aps":{"badge":0}}"#,
    #"{"aps":{"sound":"default"},"own":[null,true,{"a":1.5e-3}]}"#,
    #"{"aps":{"content-available":1}}"#, #"{"aps":{"content-available":0,"alert":"Hi","sound":"a"}}"#,
    #"{"aps":{"alert":{"title-loc-key":"%@","title-loc-args":["a"],"subtitle":"b","loc-key":"c"},"sound":"a","mutable-content":1}}"#,
    #"{"aps":{"alert":{"body":"He said “hi”, then left"},"sound":"a","category":"a","thread-id":"b","target-content-id":"c"}}"#,
    #"{"aps":{"alert":"Hi","sound":"a","filter-criteria":"d","interruption-level":"time-sensitive","relevance-score":1}}"#,
    #"{"aps":{"alert":"Hi","sound":{"critical":1,"name":"default","volume":0.5},"interruption-level":"critical"}}"#,
    #"{"aps":{"event":"update",\#(activity),"stale-date":1700000001,"relevance-score":75}}"#,
    #"{"aps":{"event":"end",\#(activity),"dismissal-date":1700000001}}"#,
    #"{"aps":{"event":"start",\#(activity),"attributes-type":"A","attributes":{},"alert":{"title":{"loc-key":"a"},"body":"b","sound":"c"}}}"#,
    #"{"mdm":"a"}"#,
    #"{"aps":{"alert":"Hi","sound":"a"},"message":{"room":"tea"},"title":"x","payload":{"a":1},"category":7}"#,
    #"{"aps":{"alert":"Hi","sound":"a"},"sha256":"\#(String(repeating: "0f", count: 32))"}"#,
    "\u{20}\r\n\t{\"aps\":{\"alert\":\"\\u00e9 \\ud83d\\ude00 \\/\",\"sound\":\"a\"}}\n",
  ])
  func `a valid payload has no findings`(text: String) {
    #expect(PushLint.check(Array(text.utf8)).findings == [])
    #expect(PushLint.check(Array(text.utf8), isLenient: true).payload != nil)
  }

  @Test(arguments: [
    (#"{"aps":{"content-available":1}}"#, "background", "org.example.chat", "5", "1700000000"),
    (
      #"{"aps":{"event":"update",\#(activity)}}"#, "liveactivity", "org.example.chat.push-type.liveactivity", "10",
      "1700000000"
    ),
    (#"{"call":"c","ringUntil":1700000000}"#, "voip", "org.example.chat.voip", "10", "0"),
    (#"{"aps":{"content-changed":true}}"#, "controls", "org.example.chat.push-type.controls", "10", "1700000000"),
    (#"{"own":1}"#, "fileprovider", "org.example.chat.pushkit.fileprovider", "5", "1700000000"),
    (#"{"aps":{"alert":"Hi","sound":"a"}}"#, "alert", "org.example.chat", "1", "1700000000"),
  ])
  func `valid headers pass the check`(text: String, type: String, topic: String, priority: String, expiration: String) {
    let headers = [
      ("apns-push-type", type), ("APNS-Topic", topic), ("apns-priority", priority), ("apns-expiration", expiration),
      ("apns-collapse-id", String(repeating: "é", count: 32)), ("apns-id", "0190b5d2-6f0a-7c3e-8a52-1d2f3a4b5c6d"),
    ]
    #expect(PushLint.check(Array(text.utf8), headers: headers).findings == [])
  }

  @Test(arguments: [("org.example.chat", 4096), ("org.example.chat.voip", 5120)])
  func `a payload of the maximum size has no findings, and one byte more is too large`(topic: String, limit: Int) {
    let isVoIP = topic.hasSuffix(".voip")
    let text = isVoIP ? #"{"call":""# : #"{"aps":{"sound":"a","alert":""#
    let end = isVoIP ? #""}"# : #""}}"#
    for (more, rules) in [(0, []), (1, [LintRule.payloadTooLarge])] {
      let filling = String(repeating: "x", count: limit + more - text.utf8.count - end.utf8.count)
      let report = PushLint.check(
        Array((text + filling + end).utf8),
        headers: [("apns-topic", topic), ("apns-push-type", isVoIP ? "voip" : "alert")])
      #expect(report.findings.map(\.rule) == rules)
      if more > 0 {
        #expect(report.findings.first?.words == "the payload has \(limit + 1) bytes, 1 more than \(limit)")
      }
    }
  }
}
