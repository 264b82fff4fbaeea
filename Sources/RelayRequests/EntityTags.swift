// SPDX-License-Identifier: Apache-2.0
import Crypto

/// Returns a strong entity tag for these bytes (RFC 9110, section 8.8.3).
package func entityTag(of bytes: some Sequence<UInt8>) -> String {
  let digest = SHA256.hash(data: Array(bytes)).prefix(12)
  return "\"" + digest.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined() + "\""
}

/// The value of `If-Match` or `If-None-Match`: `*`, or a list of entity tags (RFC 9110, sections 13.1.1 and 13.1.2). An
/// element that is not an entity tag matches nothing.
///
/// A client sends the field, and the hub's thread parses it. The parser makes one pass over the bytes, without a copy
/// for each tag. The hub rejects a field of more than 1,024 bytes.
package struct EntityTags {
  package let isAny: Bool
  private let field: [UInt8]

  package init(_ field: String) {
    self.field = Array(field.utf8)
    isAny = Self.trimmed(self.field[...]).elementsEqual("*".utf8)
  }

  /// Compares strongly, for `If-Match`. A weak tag matches nothing, because its bytes may differ.
  /// - Parameter tag: The strong tag of the current bytes.
  package func match(_ tag: String) -> Bool { isAny || contains { !$0.isWeak && $0.opaque.elementsEqual(tag.utf8) } }

  /// Compares weakly, for `If-None-Match`.
  package func matchWeakly(_ tag: String) -> Bool { isAny || contains { $0.opaque.elementsEqual(tag.utf8) } }

  private func contains(_ isMatch: ((isWeak: Bool, opaque: ArraySlice<UInt8>)) -> Bool) -> Bool {
    var rest = field[...]
    while !rest.isEmpty {
      let element = rest
      if let tag = Self.tag(&rest), isMatch(tag) { return true }
      // After an invalid element, the next one begins after the first comma, even if the comma is inside quotes.
      if rest.startIndex == element.startIndex {
        rest = element[(element.firstIndex(of: UInt8(ascii: ",")) ?? element.endIndex - 1)...].dropFirst()
      }
    }
    return false
  }

  /// Removes an entity tag and the comma after it from the list. If the list does not begin with a tag, returns `nil`
  /// and removes nothing.
  private static func tag(_ list: inout ArraySlice<UInt8>) -> (isWeak: Bool, opaque: ArraySlice<UInt8>)? {
    var rest = list.drop(while: isSpace)
    let isWeak = rest.starts(with: "W/".utf8)
    if isWeak { rest = rest.dropFirst(2) }
    guard rest.first == quote, let last = rest.dropFirst().firstIndex(of: quote) else { return nil }
    let opaque = rest[...last]
    rest = rest[last...].dropFirst().drop(while: isSpace)
    guard rest.first ?? comma == comma else { return nil }
    list = rest.dropFirst()
    return (isWeak, opaque)
  }

  private static let quote = UInt8(ascii: "\"")
  private static let comma = UInt8(ascii: ",")

  private static func isSpace(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }

  private static func trimmed(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
    var rest = bytes.drop(while: isSpace)
    while let last = rest.last, isSpace(last) { rest.removeLast() }
    return rest
  }
}
