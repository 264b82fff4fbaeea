// SPDX-License-Identifier: Apache-2.0

/// The names of a page: those with a common beginning that come after a name. The order is that of their bytes, as in the
/// indexes of the store. Pure.
package struct NameRange: Equatable, Sendable {
  /// All names of the range are equal to this text or greater.
  package let start: String
  /// All names of the range are less than this text.
  package let end: String

  /// - Parameters:
  ///   - prefix: A text for which ``isPrefix(_:)`` is true. Is `nil` for all names.
  ///   - name: The last name of the page before.
  package init(prefix: String? = nil, after name: String? = nil) {
    // `!` is the first of the characters that names may have, and DEL is greater than all of them.
    start = max(prefix ?? "", name.map { $0 + "!" } ?? "")
    end = (prefix ?? "") + "\u{7F}"
  }

  private init(start: String, end: String) {
    self.start = start
    self.end = end
  }

  package func contains(_ name: String) -> Bool { start <= name && name < end }

  /// The part of the range that is in both. Is `nil` if there is none.
  package func limited(from first: String, to last: String) -> NameRange? {
    let range = NameRange(start: max(start, first), end: min(end, last))
    return range.start < range.end ? range : nil
  }

  /// True if a name may begin with this text.
  package static func isPrefix(_ text: String) -> Bool {
    (1...RoomID.maxLength).contains(text.utf8.count) && text.utf8.allSatisfy(isNameByte)
  }
}
