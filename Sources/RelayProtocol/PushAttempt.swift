// SPDX-License-Identifier: Apache-2.0

/// The result of one attempt to send a push to a push service.
public struct PushAttempt: Equatable, Sendable, Codable {
  public let time: Timestamp
  /// The HTTP status. Is `nil` without an HTTP response.
  public let status: Int?
  /// The reason of the failure, in the service's own word if it has one. At most ``maxReasonLength`` bytes.
  public let reason: String?
  /// Further text of the service. At most ``maxWordsLength`` bytes.
  public let words: String?

  public static let maxReasonLength = 64
  public static let maxWordsLength = 256

  /// - Parameters:
  ///   - reason: Shortened, and control characters become spaces.
  ///   - words: Likewise.
  public init(time: Timestamp, status: Int? = nil, reason: String? = nil, words: String? = nil) {
    self.time = time
    self.status = status
    self.reason = reason.flatMap { Self.readable($0, maxLength: Self.maxReasonLength) }
    self.words = words.flatMap { Self.readable($0, maxLength: Self.maxWordsLength) }
  }

  /// Returns a text of another server as one line without control characters, of at most `maxLength` bytes. Returns
  /// `nil` if nothing remains.
  private static func readable(_ text: String, maxLength: Int) -> String? {
    // `maxLength` scalars have at least `maxLength` bytes, so the rest of a long text need not be read.
    let line = String(text.unicodeScalars.prefix(maxLength).map { $0.isReadable ? Character($0) : " " })
    let words = line.split(separator: " ").joined(separator: " ")
    var end = words.startIndex
    for index in words.indices {
      let next = words.index(after: index)
      guard words.utf8.distance(from: words.startIndex, to: next) <= maxLength else { break }
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
