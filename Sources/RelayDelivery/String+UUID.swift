// SPDX-License-Identifier: Apache-2.0

extension String {
  /// Whether it is a UUID as Apple's service wants it: lower-case hexadecimal digits in groups of 8, 4, 4, 4 and 12
  /// (RFC 9562).
  public var isLowercaseUUID: Bool {
    let groups = utf8.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
    return groups.map(\.count) == [8, 4, 4, 4, 12]
      && groups.joined().allSatisfy { $0.isDigit || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains($0) }
  }
}
