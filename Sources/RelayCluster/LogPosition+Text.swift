// SPDX-License-Identifier: Apache-2.0

/// The position as text, for the file of a node.
extension LogPosition {
  /// The position as four words. The last word is empty before the first record.
  public var text: String { "\(generation) \(term) \(sequence) \(gid)" }

  /// Parses ``text``. Returns `nil` for any other text.
  public init?(text: String) {
    let words = text.split(separator: " ", omittingEmptySubsequences: false)
    guard words.count == 4, let generation = words[0].strictNumber().flatMap(Int64.init(exactly:)),
      let term = words[1].strictNumber(), let sequence = words[2].strictNumber()
    else { return nil }
    let hasRecord = sequence > 0
    guard hasRecord ? words[3].isIdentifier(maxLength: LogRecord.maxGid) : words[3].isEmpty else { return nil }
    self.init(generation: generation, term: term, sequence: sequence, gid: String(words[3]))
  }
}
