// SPDX-License-Identifier: Apache-2.0
import RelayProtocol

/// The rules for values out of range.
extension LintRun {
  mutating func checkValues() {
    guard var aps = root["aps"] else { return }
    expect(aps["badge"], .badgeRange, "badge", "a whole number from 0 on; 0 removes it") {
      $0 >= 0 && Int64(exactly: $0) != nil
    }
    if !isActivity {
      expect(aps["relevance-score"], .relevanceRange, "relevance-score", "from 0 to 1") { (0...1).contains($0) }
    }
    expect(aps["sound"]?["volume"], .volumeRange, "volume", "from 0 to 1") { (0...1).contains($0) }
    expect(aps["alert"]?["summary-arg-count"], .summaryCountRange, "summary-arg-count", "a whole number from 1 on") {
      $0 >= 1 && Int64(exactly: $0) != nil
    }
    aps["interruption-level"] = level(aps["interruption-level"])
    if let event = aps["event"], let text = event.text, !AppleKeys.events.contains(text) {
      report(
        .eventUnknown, at: event, "\(text.quoted) is not an event",
        mend: text.nearest(of: AppleKeys.events).map { "did you mean \($0)?" } ?? "write start, update or end")
    }
    for key in ["timestamp", "stale-date", "dismissal-date"] { aps[key] = seconds(aps[key], key) }
    root["aps"] = aps
  }

  private mutating func expect(
    _ value: LintValue?, _ rule: LintRule, _ key: String, _ range: String, _ isRight: (Double) -> Bool
  ) {
    guard let value, let number = value.number, !isRight(number) else { return }
    report(
      rule, at: value, "\(key) is \(value.noun), and must be \(range)",
      mend: "write a number in this range, or leave the key out")
  }

  private mutating func level(_ value: LintValue?) -> LintValue? {
    guard let value, let text = value.text, !AppleKeys.levels.contains(text) else { return value }
    let plain = AppleKeys.plain(String(text.prefix(64))).filter { $0 != " " }
    if let spelling = AppleKeys.levels.first(where: { AppleKeys.plain($0) == plain }) {
      report(
        .levelSpelling, at: value, "\(text.quoted) is not how Apple spells the level", mend: "write \(spelling)",
        replacement: "\"\(spelling)\"", isMended: true)
      return LintValue(kind: .string(spelling), range: value.range)
    }
    report(
      .levelUnknown, at: value, "\(text.quoted) is not an interruption level",
      mend: text.nearest(of: AppleKeys.levels).map { "did you mean \($0)?" }
        ?? "write \(AppleKeys.levels.joined(separator: ", "))")
    return value
  }

  /// Checks a date in seconds. A number of 100,000,000,000 or more is taken for milliseconds, because in seconds it
  /// would be in the year 5138 or later.
  private mutating func seconds(_ value: LintValue?, _ key: String) -> LintValue? {
    guard let value, let number = value.number, number >= 1e11 else { return value }
    // A larger number may be in micro- or nanoseconds, so no correction is certain.
    let seconds = number < 1e14 ? String(Int64(number / 1000)) : nil
    report(
      .dateMilliseconds, at: value, "\(key) is \(value.noun), which is not a date in seconds since 1970",
      mend: "divide it by 1000",
      replacement: seconds, isMended: seconds != nil)
    return seconds.map { LintValue(kind: .number($0), range: value.range) } ?? value
  }
}
