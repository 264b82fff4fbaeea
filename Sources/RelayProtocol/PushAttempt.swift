// SPDX-License-Identifier: Apache-2.0

/// What came of handing a push to a service once.
public struct PushAttempt: Equatable, Sendable, Codable {
  public let time: Timestamp
  /// Of HTTP; nil: there was no answer, or none in HTTP.
  public let status: Int?
  /// Why it did not go well, in the service's word where it has one; at most ``longestReason`` bytes.
  public let reason: String?
  /// What else the service said; at most ``longestWords`` bytes.
  public let words: String?

  public static let longestReason = 64
  public static let longestWords = 256

  /// - Parameters:
  ///   - reason: Made readable, and short enough.
  ///   - words: Likewise.
  public init(time: Timestamp, status: Int? = nil, reason: String? = nil, words: String? = nil) {
    self.time = time
    self.status = status
    self.reason = reason.flatMap { Self.readable($0, longest: Self.longestReason) }
    self.words = words.flatMap { Self.readable($0, longest: Self.longestWords) }
  }

  /// A stranger's text as one line without control characters; nil: nothing of it is left.
  private static func readable(_ text: String, longest: Int) -> String? {
    // A text is looked at no further than it can be shown.
    let line = String(text.unicodeScalars.prefix(longest).map { $0.isReadable ? Character($0) : " " })
    let words = line.split(separator: " ").joined(separator: " ")
    var end = words.startIndex
    for index in words.indices {
      let next = words.index(after: index)
      guard words.utf8.distance(from: words.startIndex, to: next) <= longest else { break }
      end = next
    }
    return end == words.startIndex ? nil : String(words[..<end])
  }
}

extension Unicode.Scalar {
  fileprivate var isReadable: Bool {
    switch properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse, .unassigned: false
    default: true
    }
  }
}
