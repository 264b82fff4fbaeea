// SPDX-License-Identifier: Apache-2.0
import RelayProtocol
import Testing

@Suite struct PushAttemptTests {
  @Test(arguments: [
    ("BadDeviceToken", "BadDeviceToken"), ("A word of next year", "A word of next year"),
    (" \t<b>\r\n  no\u{0}\u{1B}[31m\u{200E}\u{2028}way ", "<b> no [31m way"), ("é🦕", "é🦕"),
  ])
  func `the text of a service becomes one readable line`(_ text: String, _ kept: String) {
    let attempt = PushAttempt(time: Timestamp(rawValue: 1), status: 400, reason: text, words: text)
    #expect(attempt.reason == kept)
    #expect(attempt.words == kept)
  }

  @Test(arguments: ["", " \n", "\u{0}"])
  func `a blank text becomes nil`(_ text: String) {
    #expect(PushAttempt(time: Timestamp(rawValue: 1), reason: text, words: text).reason == nil)
  }

  @Test(arguments: ["x", "é", "🦕", "👨‍👩‍👧‍👦"])
  func `a text that is too long is cut between characters`(_ character: String) {
    let long = String(repeating: character, count: 1_000)
    let attempt = PushAttempt(time: Timestamp(rawValue: 1), reason: long, words: long)
    let (reason, words) = (attempt.reason ?? "", attempt.words ?? "")
    #expect(!reason.isEmpty && reason.utf8.count <= PushAttempt.maxReasonLength)
    #expect(words.utf8.count > PushAttempt.maxReasonLength && words.utf8.count <= PushAttempt.maxWordsLength)
  }
}
