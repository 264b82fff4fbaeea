// SPDX-License-Identifier: Apache-2.0
// The list of findings while the linter runs. `LintReport` adds their lines and columns at the end.

/// A finding before its line and column are known.
struct Fault {
  enum Location: Equatable {
    case byte(Int)
    case header(String)
  }

  var rule: LintRule
  var location: Location
  var words: String
  var mend: String?
  var replacement: String?
  var isMended: Bool
}

/// The first findings, and the number of the others. The list is bounded, so that no text makes a report large.
struct FaultList {
  private(set) var faults: [Fault] = []
  private(set) var left = 0
  private(set) var hasErrors = false
  /// True if a part of the text is ambiguous. Then no corrected payload is returned.
  private(set) var hasGuessed = false
  let isLenient: Bool

  init(isLenient: Bool) { self.isLenient = isLenient }

  /// - Parameters:
  ///   - words: Not evaluated when the list is full.
  ///   - isMended: True if the mistake was corrected, both for later rules and in the payload for lenient callers.
  mutating func report(
    _ rule: LintRule, at location: Fault.Location, _ words: @autoclosure () -> String,
    mend: @autoclosure () -> String? = nil, replacement: @autoclosure () -> String? = nil, isMended: Bool = false
  ) {
    if severity(of: rule, isMended: isMended) == .error { hasErrors = true }
    guard faults.count < PushLint.maxFindings else {
      left += 1
      return
    }
    faults.append(
      Fault(
        rule: rule, location: location, words: words(), mend: mend(), replacement: replacement(), isMended: isMended))
  }

  /// Reports a fault of the text itself. If it was not corrected, the text is ambiguous.
  mutating func reportText(
    _ rule: LintRule, at offset: Int, _ words: @autoclosure () -> String, mend: @autoclosure () -> String? = nil,
    replacement: @autoclosure () -> String? = nil, isMended: Bool = false
  ) {
    if !isMended { hasGuessed = true }
    report(rule, at: .byte(offset), words(), mend: mend(), replacement: replacement(), isMended: isMended)
  }

  func severity(of rule: LintRule, isMended: Bool) -> Severity {
    isLenient && isMended && rule.severity == .error ? .warning : rule.severity
  }
}
