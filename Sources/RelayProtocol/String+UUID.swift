// SPDX-License-Identifier: Apache-2.0

extension String {
  /// True if the text is a UUID in lower case: groups of 8, 4, 4, 4 and 12 digits (RFC 9562).
  public var isLowercaseUUID: Bool {
    let groups = utf8.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
    return groups.map(\.count) == [8, 4, 4, 4, 12]
      && groups.joined().allSatisfy("0123456789abcdef".utf8.contains)
  }
}
