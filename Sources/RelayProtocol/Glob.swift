// SPDX-License-Identifier: Apache-2.0

/// A pattern for names, in which `*` stands for any text, also for none.
public struct Glob: Hashable, Sendable, CustomStringConvertible {
  public let description: String

  /// Of a pattern, in bytes.
  public static let longest = 255

  /// nil unless the pattern is 1 to ``longest`` bytes of what names are made of, and `*`.
  public init?(_ pattern: String) {
    let bytes = pattern.utf8
    guard (1...Self.longest).contains(bytes.count), bytes.allSatisfy({ $0 == Self.star || isNameByte($0) }) else {
      return nil
    }
    description = pattern
  }

  private static let star = UInt8(ascii: "*")

  /// The number of steps is at most the product of the two lengths, for every pattern.
  public func matches(_ name: String) -> Bool {
    // No copies are made: strings of Swift are contiguous.
    var (pattern, name) = (description, name)
    return pattern.withUTF8 { pattern in name.withUTF8 { Self.matches(pattern, $0) } }
  }

  private static func matches(_ pattern: UnsafeBufferPointer<UInt8>, _ name: UnsafeBufferPointer<UInt8>) -> Bool {
    var at = 0
    var position = 0
    // Where the last `*` stands, and up to where it reaches: when the rest does not fit, it reaches one further. An
    // earlier one never has to, since the last can stand for all that it could.
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
