// SPDX-License-Identifier: Apache-2.0

/// What was found so far, by byte of the text.
struct Fault {
  enum Place: Equatable {
    case byte(Int)
    case header(String)
  }

  var rule: LintRule
  var place: Place
  var words: String
  var mend: String?
  var replacement: String?
  var isMended: Bool
}

/// The first faults, and how many more there are. Bounded, so that no text makes a report grow.
struct FaultList {
  private(set) var faults: [Fault] = []
  private(set) var left = 0
  private(set) var hasErrors = false
  /// Something of the text could not be read without a guess.
  private(set) var hasGuessed = false
  let isLenient: Bool

  init(isLenient: Bool) { self.isLenient = isLenient }

  /// - Parameters:
  ///   - words: Not evaluated when there is no room for it.
  ///   - isMended: What is looked at from now on is as if this were right, and so is the payload that lenient callers get.
  mutating func report(
    _ rule: LintRule, at place: Fault.Place, _ words: @autoclosure () -> String,
    mend: @autoclosure () -> String? = nil, replacement: @autoclosure () -> String? = nil, isMended: Bool = false
  ) {
    if severity(of: rule, isMended: isMended) == .error { hasErrors = true }
    guard faults.count < PushLint.mostFindings else {
      left += 1
      return
    }
    faults.append(
      Fault(rule: rule, place: place, words: words(), mend: mend(), replacement: replacement(), isMended: isMended))
  }

  /// A fault of the text itself. One that is not mended leaves a guess.
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
