// SPDX-License-Identifier: Apache-2.0
import RelayJSON
import RelayProtocol

/// The linter of pushes. It checks the text of a payload and the headers before the push is sent.
///
/// It returns a report for any bytes, in time that is linear in their number. Each rule runs as if the earlier findings
/// had been corrected, so that one mistake is one finding. It has no state and does no I/O.
public enum PushLint {
  /// The largest text in bytes that is checked.
  public static let maxTextLength = 65_536
  /// The maximum number of findings in a report, without the note that there are more.
  public static let maxFindings = 100
  /// The maximum nesting of arrays and objects.
  public static let maxDepth = 64

  /// - Parameters:
  ///   - text: The bytes of the payload.
  ///   - headers: Headers under Apple's names, in upper or lower case. Without headers, only the payload is checked.
  ///   - isLenient: True to correct mistakes whose correction is certain. They become warnings, and the report contains
  ///     the corrected payload.
  public static func check(
    _ text: [UInt8], headers: [(name: String, value: String)] = [], isLenient: Bool = false
  ) -> LintReport {
    guard text.count <= maxTextLength else {
      var faults = FaultList(isLenient: isLenient)
      faults.report(
        .textTooLong, at: .byte(0), "the text has more than \(maxTextLength) bytes, and is not checked",
        mend: "a payload has at most \(APNsLimits.maxPayload) bytes")
      return LintReport(faults, root: nil, text: [], payload: nil)
    }
    var scanner = LintScanner(text, isLenient: isLenient)
    guard let root = scanner.scan() else {
      return LintReport(scanner.faults, root: nil, text: text, payload: nil)
    }
    var lint = LintRun(root, headers: LintHeaders(headers), isWhole: scanner.isWhole, faults: scanner.faults)
    lint.run(size: text.count)
    let isMended = isLenient && !lint.faults.hasGuessed
    return LintReport(lint.faults, root: root, text: text, payload: isMended ? lint.root.json : nil)
  }
}

/// The findings in a push.
public struct LintReport: Equatable, Sendable {
  /// The findings in the order of the text, then those of the headers. At most ``PushLint/maxFindings`` and a note.
  public let findings: [Finding]
  /// True if there are errors, even among the findings beyond the limit.
  public let hasErrors: Bool
  /// The corrected payload in its shortest form. Is `nil` without `isLenient`, and when the text was ambiguous.
  public let payload: [UInt8]?

  init(_ list: FaultList, root: LintValue?, text: [UInt8], payload: [UInt8]?) {
    var map = LintMap(text, root: root)
    var findings = list.faults.sortedByLocation.map { fault in
      Finding(
        rule: fault.rule, severity: list.severity(of: fault.rule, isMended: fault.isMended),
        location: map.location(of: fault.location), words: fault.words, mend: fault.mend, replacement: fault.replacement
      )
    }
    if list.left > 0 {
      findings.append(
        Finding(
          rule: .tooManyFindings, severity: .note, location: map.location(of: .byte(0)),
          words: "there are \(list.left) more findings"))
    }
    self.findings = findings
    hasErrors = list.hasErrors
    self.payload = payload
  }

  /// `{"findings":[{"rule","severity","at"?,"line"?,"column"?,"header"?,"words","mend"?,"replacement"?}],"payload"?}`
  public var json: [UInt8] {
    JSONWriter.object { report in
      report.array("findings") { list in
        for finding in findings { list.object { finding.write(to: &$0) } }
      }
      report["payload"] = payload.map { String(decoding: $0, as: UTF8.self) }
    }
  }
}

extension [Fault] {
  fileprivate var sortedByLocation: [Fault] {
    let order = enumerated().sorted { first, second in
      switch (first.element.location, second.element.location) {
      case (.byte(let a), .byte(let b)): (a, first.offset) < (b, second.offset)
      case (.byte, .header): true
      case (.header, .byte): false
      case (.header, .header): first.offset < second.offset
      }
    }
    return order.map(\.element)
  }
}

extension Finding {
  fileprivate func write(to object: inout JSONWriter.Object) {
    object["rule"] = rule.rawValue
    object["severity"] = severity.rawValue
    switch location {
    case .payload(let pointer, let line, let column):
      object["at"] = pointer
      object.integer("line", line)
      object.integer("column", column)
    case .header(let name):
      object["header"] = name
    }
    object["words"] = words
    object["mend"] = mend
    object["replacement"] = replacement
  }

  /// Returns `file:line:column: severity: words; mend [rule-id]`. For a header, its name replaces line and column.
  public func line(file: String) -> String {
    let advice = mend.map { "; \($0)" } ?? ""
    let where_ =
      switch location {
      case .payload(_, let line, let column): "\(line):\(column)"
      case .header(let name): name
      }
    return "\(file):\(where_): \(severity.rawValue): \(words)\(advice) [\(rule.rawValue)]"
  }
}
