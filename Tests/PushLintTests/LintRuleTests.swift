// SPDX-License-Identifier: Apache-2.0
import PushLint
import Testing

@Suite struct LintRuleTests {
  @Test(arguments: LintExample.all) func `one mistake is one finding`(example: LintExample) {
    let report = example.report()
    // Most examples have no sound, to keep them short.
    let findings = report.findings.filter { $0.rule != .noSound || example.rule == .noSound }
    #expect(findings.map(\.rule) == [example.rule])
    #expect(findings.map(\.severity) == [example.rule.severity])
    #expect(report.hasErrors == (example.rule.severity == .error))
  }

  @Test func `every rule has an example`() {
    // These two rules only occur together with others.
    let shown = Set(LintExample.all.map(\.rule)).union([.summaryCountRange, .tooManyFindings])
    #expect(shown == Set(LintRule.allCases))
  }

  @Test func `a deprecated key is still checked`() {
    let report = LintExample(.summaryCountRange, #"{"aps":{"sound":"a","alert":{"body":"Hi","summary-arg-count":0}}}"#)
      .report()
    #expect(report.findings.map(\.rule) == [.summaryDeprecated, .summaryCountRange])
  }

  @Test(arguments: LintExample.all.filter { $0.mended != nil })
  func `a lenient check returns the corrected payload`(example: LintExample) {
    let report = example.report(isLenient: true)
    #expect(report.payload.map { String(decoding: $0, as: UTF8.self) } == example.mended)
    #expect(example.report().payload == nil)
  }

  @Test func `a corrected mistake is a warning`() {
    let example = LintExample(.trailingComma, #"{"aps":{"alert":"Hi","sound":"a",},}"#)
    #expect(example.report().hasErrors)
    let mended = example.report(isLenient: true)
    #expect(!mended.hasErrors)
    #expect(mended.findings.map(\.severity) == [.warning, .warning])
  }

  @Test func `an ambiguous text has no corrected payload`() {
    let example = LintExample(.duplicateKey, #"{"aps":{"alert":"Hi","alert":"Ho",}}"#)
    #expect(example.report(isLenient: true).payload == nil)
  }

  @Test func `findings are bounded, and a note has the number of the others`() {
    let keys = (0..<150).map { #""k\#($0)":1"# }.joined(separator: ",")
    let report = PushLint.check(Array(#"{"aps":{"alert":"Hi","sound":"a",\#(keys)}}"#.utf8))
    #expect(report.findings.count == PushLint.maxFindings + 1)
    #expect(report.findings.last?.rule == .tooManyFindings)
    #expect(report.findings.last?.words == "there are 50 more findings")
  }

  @Test func `an error beyond the limit of findings still counts`() {
    let keys = (0..<100).map { #""k\#($0)":{"secret":"x"}"# }.joined(separator: ",")
    let report = PushLint.check(Array(#"{"aps":{"badge":-1},\#(keys)}"#.utf8))
    #expect(report.findings.allSatisfy { $0.severity != .error })
    #expect(report.hasErrors)
  }

  @Test func `a rule's id is in kebab case, and its summary is short`() {
    for rule in LintRule.allCases {
      #expect(rule.rawValue.wholeMatch(of: /[a-z0-9]+(-[a-z0-9]+)*/) != nil, "\(rule)")
      #expect(rule.summary.count < 90 && !rule.summary.isEmpty, "\(rule)")
    }
  }
}
