// SPDX-License-Identifier: Apache-2.0

/// The corrected push, as the rules about whole pushes read it.
struct LintReading {
  let headers: LintHeaders
  let aps: LintValue
  let isActivity: Bool
  private let location: Int

  init?(_ lint: LintRun) {
    guard let member = lint.root.member("aps") else { return nil }
    headers = lint.headers
    aps = member.value
    isActivity = lint.isActivity
    location = member.keyRange.lowerBound
  }

  var alert: LintValue? { aps["alert"] }
  var sound: LintValue? { aps["sound"] }
  var level: String? { aps["interruption-level"]?.text }
  var event: String? { aps["event"]?.text }

  /// True if the push wakes the app.
  var isSilent: Bool { has(1, "content-available") }
  var isMutable: Bool { has(1, "mutable-content") }
  /// The keys of the payload that show or play something.
  var shown: [String] { ["alert", "badge", "sound"].filter { aps[$0] != nil } }
  var isCriticalSound: Bool { sound?["critical"]?.number == 1 }

  /// True if the alert has a text, even one that cannot be read.
  var hasText: Bool {
    guard let alert else { return false }
    if let text = alert.text { return !text.isBlank }
    let texts = ["title", "subtitle", "body", "title-loc-key", "subtitle-loc-key", "loc-key"]
    return alert.isBroken || texts.contains { key in alert[key].map { $0.text?.isBlank != true } ?? false }
  }

  private func has(_ number: Double, _ key: String) -> Bool { aps[key]?.number == number }

  /// Returns a complaint about the first of these keys in `aps`, or about `aps` if it has none of them.
  func complaint(_ keys: String..., words: String, mend: String) -> Complaint {
    let member = keys.lazy.compactMap { aps.member($0) }.first
    return Complaint(location: .byte(member?.keyRange.lowerBound ?? location), words: words, mend: mend)
  }

  /// Returns a complaint about a key of the alert.
  func alertComplaint(_ key: String, words: String, mend: String) -> Complaint {
    let member = alert?.member(key) ?? aps.member("alert")
    return Complaint(location: .byte(member?.keyRange.lowerBound ?? location), words: words, mend: mend)
  }
}

/// A finding of a rule about the whole push.
struct Complaint {
  let location: Fault.Location
  let words: String
  let mend: String
}

extension Complaint {
  init(header: String, words: String, mend: String) {
    self.init(location: .header(header), words: words, mend: mend)
  }
}

/// A rule about the whole push. It runs after the rules about single keys and values.
typealias CombinedRule = (rule: LintRule, find: @Sendable (LintReading) -> [Complaint])

extension String {
  fileprivate var isBlank: Bool { allSatisfy(\.isWhitespace) }
}
