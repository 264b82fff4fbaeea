// SPDX-License-Identifier: Apache-2.0

/// One mistake in a push.
public struct Finding: Equatable, Sendable {
  public var rule: LintRule
  /// The severity of the rule, or `warning` for an error that was corrected.
  public var severity: Severity
  public var location: Location
  /// The mistake, in one sentence without a full stop. Quotations from the payload are clipped.
  public var words: String
  /// The correction, in the same form.
  public var mend: String?
  /// The text that corrects the value or key. Is `nil` when the correction is not certain.
  public var replacement: String?

  public enum Location: Equatable, Sendable {
    /// - pointer: The value as a JSON pointer (RFC 6901) into the original text. Its keys are clipped.
    /// - line: The line number from 1. LF, CR LF or CR ends a line.
    /// - column: The column of the key or value, from 1. It counts Unicode scalars. A byte that is not UTF-8 counts as
    ///   one.
    case payload(pointer: String, line: Int, column: Int)
    /// - header: The name of the header in lower case.
    case header(String)
  }
}
