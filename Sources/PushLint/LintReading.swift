// SPDX-License-Identifier: Apache-2.0

/// What a payload says when all that is certain in it has been mended.
struct LintReading {
  let headers: LintHeaders
  let aps: LintValue
  let isActivity: Bool
  private let place: Int

  init?(_ course: LintCourse) {
    guard let member = course.root.member("aps") else { return nil }
    headers = course.headers
    aps = member.value
    isActivity = course.isActivity
    place = member.keyRange.lowerBound
  }

  var alert: LintValue? { aps["alert"] }
  var sound: LintValue? { aps["sound"] }
  var level: String? { aps["interruption-level"]?.text }
  var event: String? { aps["event"]?.text }

  /// It wakes the app.
  var isSilent: Bool { has(1, "content-available") }
  var isMutable: Bool { has(1, "mutable-content") }
  /// Which of its keys show or sound something.
  var shown: [String] { ["alert", "badge", "sound"].filter { aps[$0] != nil } }
  var isCriticalSound: Bool { sound?["critical"]?.number == 1 }

  /// Whether the alert has a text; also where it has one that cannot be read.
  var hasText: Bool {
    guard let alert else { return false }
    if let text = alert.text { return !text.isBlank }
    let texts = ["title", "subtitle", "body", "title-loc-key", "subtitle-loc-key", "loc-key"]
    return alert.isBroken || texts.contains { key in alert[key].map { $0.text?.isBlank != true } ?? false }
  }

  private func has(_ number: Double, _ key: String) -> Bool { aps[key]?.number == number }

  /// About a key of `aps`, or about `aps` where it has none of them.
  func complaint(_ keys: String..., words: String, mend: String) -> Complaint {
    let member = keys.lazy.compactMap { aps.member($0) }.first
    return Complaint(place: .byte(member?.keyRange.lowerBound ?? place), words: words, mend: mend)
  }

  /// About a key of the alert.
  func alertComplaint(_ key: String, words: String, mend: String) -> Complaint {
    let member = alert?.member(key) ?? aps.member("alert")
    return Complaint(place: .byte(member?.keyRange.lowerBound ?? place), words: words, mend: mend)
  }
}

/// What a rule has to say.
struct Complaint {
  let place: Fault.Place
  let words: String
  let mend: String
}

extension Complaint {
  init(header: String, words: String, mend: String) {
    self.init(place: .header(header), words: words, mend: mend)
  }
}

/// A rule that looks at the whole push, once all of its parts have been looked at.
typealias CombinedRule = (rule: LintRule, find: @Sendable (LintReading) -> [Complaint])

extension String {
  fileprivate var isBlank: Bool { allSatisfy(\.isWhitespace) }
}
