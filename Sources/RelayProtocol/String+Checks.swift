// SPDX-License-Identifier: Apache-2.0

extension String {
  /// True if the text is an https URL with a host, and all its characters are allowed by RFC 3986.
  public var isSecureURL: Bool {
    let start = "https://"
    let isAllowed = utf8.allSatisfy { (0x21...0x7e).contains($0) && !#""<>\^`{|}"#.utf8.contains($0) }
    guard isAllowed, lowercased().hasPrefix(start) else { return false }
    guard let first = dropFirst(start.count).prefix(while: { !"/?#".contains($0) }).first else { return false }
    return first.isLetter || first.isNumber
  }

  /// True if the text is a SHA-256 hash in lower-case hexadecimal digits.
  public var isSHA256: Bool { utf8.count == 64 && utf8.allSatisfy { "0123456789abcdef".utf8.contains($0) } }
}

extension String {
  /// True if the text is a UUID in lower case: groups of 8, 4, 4, 4 and 12 digits (RFC 9562).
  public var isLowercaseUUID: Bool {
    let groups = utf8.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
    return groups.map(\.count) == [8, 4, 4, 4, 12]
      && groups.joined().allSatisfy("0123456789abcdef".utf8.contains)
  }
}
