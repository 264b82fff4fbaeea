// SPDX-License-Identifier: Apache-2.0
import Crypto
import RelayHub

/// Names these bytes, strongly (RFC 9110, section 8.8.3).
func entityTag(of bytes: some Sequence<UInt8>) -> String {
  let digest = SHA256.hash(data: Array(bytes)).prefix(12)
  return "\"" + digest.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined() + "\""
}

/// What `If-Match` or `If-None-Match` says: any, or one of these (RFC 9110, sections 13.1.1 and 13.1.2). What is no
/// entity tag matches nothing.
struct EntityTags {
  let isAny: Bool
  private let tags: [Substring]

  init(_ field: String) {
    isAny = field.wholeMatch(of: /[ \t]*\*[ \t]*/) != nil
    tags = field.matches(of: /(?:^|,)[ \t]*((?:W\/)?"[^"]*")[ \t]*(?=,|$)/).map(\.1)
  }

  /// As `If-Match` compares: who has a weak tag may have other bytes.
  /// - Parameter tag: A strong one, of what is there.
  func match(_ tag: String) -> Bool { isAny || tags.contains { $0 == tag } }

  /// As `If-None-Match` compares.
  func matchWeakly(_ tag: String) -> Bool { match(tag) || tags.contains { $0 == "W/\(tag)" } }
}

extension HTTPRequest {
  /// Whether who asks has what is named so.
  func knows(_ tag: String) -> Bool { ifNoneMatch.map { EntityTags($0).matchWeakly(tag) } ?? false }
}
