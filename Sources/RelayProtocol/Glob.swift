// SPDX-License-Identifier: Apache-2.0

/// A pattern for names, in which `*` matches any text, including the empty one.
public struct Glob: Hashable, Sendable, CustomStringConvertible {
  public let description: String

  /// The maximum length of a pattern, in bytes.
  public static let maxLength = 255

  /// Returns `nil` unless the pattern has 1 to ``maxLength`` bytes, each of which is `*` or may be in a name.
  public init?(_ pattern: String) {
    let bytes = pattern.utf8
    guard (1...Self.maxLength).contains(bytes.count), bytes.allSatisfy({ $0 == Self.star || isNameByte($0) }) else {
      return nil
    }
    description = pattern
  }

  private static let star = UInt8(ascii: "*")

  /// True if the whole name matches. The number of steps is at most the product of the two lengths, for every pattern.
  public func matches(_ name: String) -> Bool {
    // `withUTF8` makes no copy, because native Swift strings are contiguous.
    var (pattern, name) = (description, name)
    return pattern.withUTF8 { pattern in name.withUTF8 { Self.matches(pattern, $0) } }
  }

  private static func matches(_ pattern: UnsafeBufferPointer<UInt8>, _ name: UnsafeBufferPointer<UInt8>) -> Bool {
    var at = 0
    var position = 0
    // The position of the last `*`, and the end of the text that it matches. If the rest of the pattern does not match,
    // the last `*` takes one byte more. An earlier `*` never needs to, because the last one can match the same bytes.
    var last: (star: Int, reach: Int)?
    while position < name.count {
      if at < pattern.count, pattern[at] == star {
        last = (at, position)
        at += 1
      } else if at < pattern.count, pattern[at] == name[position] {
        at += 1
        position += 1
      } else if let (star, reach) = last {
        last = (star, reach + 1)
        at = star + 1
        position = reach + 1
      } else {
        return false
      }
    }
    return pattern[at...].allSatisfy { $0 == star }
  }
}
