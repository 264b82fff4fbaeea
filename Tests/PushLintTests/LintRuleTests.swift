// SPDX-License-Identifier: Apache-2.0
import PushLint
import Testing

@Suite struct LintRuleTests {
  @Test(arguments: LintExample.all) func `one mistake is one finding`(example: LintExample) {
    let report = example.report()
    // Most examples are short, and have no sound.
    let findings = report.findings.filter { $0.rule != .noSound || example.rule == .noSound }
    #expect(findings.map(\.rule) == [example.rule])
    #expect(findings.map(\.severity) == [example.rule.severity])
    #expect(report.hasErrors == (example.rule.severity == .error))
  }

  @Test func `every rule has an example`() {
    // These two never come alone.
    let shown = Set(LintExample.all.map(\.rule)).union([.summaryCountRange, .tooManyFindings])
    #expect(shown == Set(LintRule.allCases))
  }

  @Test func `what is deprecated is still checked`() {
    let report = LintExample(.summaryCountRange, #"{"aps":{"sound":"a","alert":{"body":"Hi","summary-arg-count":0}}}"#)
      .report()
    #expect(report.findings.map(\.rule) == [.summaryDeprecated, .summaryCountRange])
  }

  @Test(arguments: LintExample.all.filter { $0.mended != nil })
  func `what is certain is mended for who asks`(example: LintExample) {
    let report = example.report(isLenient: true)
    #expect(report.payload.map { String(decoding: $0, as: UTF8.self) } == example.mended)
    #expect(example.report().payload == nil)
  }

  @Test func `what was mended is a warning`() {
    let example = LintExample(.trailingComma, #"{"aps":{"alert":"Hi","sound":"a",},}"#)
    #expect(example.report().hasErrors)
    let mended = example.report(isLenient: true)
    #expect(!mended.hasErrors)
    #expect(mended.findings.map(\.severity) == [.warning, .warning])
  }

  @Test func `what took a guess is not given back`() {
    let example = LintExample(.duplicateKey, #"{"aps":{"alert":"Hi","alert":"Ho",}}"#)
    #expect(example.report(isLenient: true).payload == nil)
  }

  @Test func `findings are bounded, and it is told how many there are`() {
    let keys = (0..<150).map { #""k\#($0)":1"# }.joined(separator: ",")
    let report = PushLint.check(Array(#"{"aps":{"alert":"Hi","sound":"a",\#(keys)}}"#.utf8))
    #expect(report.findings.count == PushLint.mostFindings + 1)
    #expect(report.findings.last?.rule == .tooManyFindings)
    #expect(report.findings.last?.words == "there are 50 more findings")
  }

  @Test func `an error counts where there is no room for it`() {
    let keys = (0..<100).map { #""k\#($0)":{"secret":"x"}"# }.joined(separator: ",")
    let report = PushLint.check(Array(#"{"aps":{"badge":-1},\#(keys)}"#.utf8))
    #expect(report.findings.allSatisfy { $0.severity != .error })
    #expect(report.hasErrors)
  }

  @Test func `a rule's id is in kebab case, and its summary short`() {
    for rule in LintRule.allCases {
      #expect(rule.rawValue.wholeMatch(of: /[a-z0-9]+(-[a-z0-9]+)*/) != nil, "\(rule)")
      #expect(rule.summary.count < 90 && !rule.summary.isEmpty, "\(rule)")
    }
  }
}
