// SPDX-License-Identifier: Apache-2.0

/// One thing that is wrong with a push.
public struct Finding: Equatable, Sendable {
  public var rule: LintRule
  /// That of the rule; of an error that was mended: a warning.
  public var severity: Severity
  public var place: Place
  /// What is wrong, in one sentence without a full stop; what it quotes of the payload is clipped.
  public var words: String
  /// What to do, likewise.
  public var mend: String?
  /// What should stand in place of the value or key at fault, where that is certain.
  public var replacement: String?

  public enum Place: Equatable, Sendable {
    /// - pointer: The value, as a JSON pointer (RFC 6901) into the text as it was given; keys in it are clipped.
    /// - line: From 1; ended by LF, CR LF or CR.
    /// - column: From 1, of the key or value at fault; counts characters, that is Unicode scalars, and a byte that is not
    ///   UTF-8 as one.
    case payload(pointer: String, line: Int, column: Int)
    /// - header: In lower case.
    case header(String)
  }
}
