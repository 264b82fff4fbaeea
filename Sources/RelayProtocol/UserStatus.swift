// SPDX-License-Identifier: Apache-2.0

/// The status of a user: a short text, an emoji, or both, as others see it beside the name.
public struct UserStatus: Equatable, Sendable, Codable {
  /// One line of at most ``maxTextCharacters`` Unicode code points and ``maxTextLength`` bytes.
  public var text: String?
  /// An emoji, or an app's own name of a picture: at most ``maxEmojiCharacters`` Unicode code points and
  /// ``maxEmojiLength`` bytes.
  public var emoji: String?
  /// The end. Is `nil` if the status has none.
  public var until: Timestamp?

  public init(text: String? = nil, emoji: String? = nil, until: Timestamp? = nil) {
    self.text = text
    self.emoji = emoji
    self.until = until
  }

  /// True if the status has not ended.
  public func isOn(at now: Timestamp) -> Bool { until.map { now < $0 } ?? true }

  /// The status with its texts as lines, see ``Swift/String/asLine``. Is `nil` if nothing is left of them.
  public var asLine: UserStatus? {
    let line = UserStatus(text: text?.asLine, emoji: emoji?.asLine, until: until)
    return line.text == nil && line.emoji == nil ? nil : line
  }

  public static let maxTextCharacters = 100
  /// In bytes of UTF-8.
  public static let maxTextLength = 320
  public static let maxEmojiCharacters = 32
  /// In bytes of UTF-8.
  public static let maxEmojiLength = 64
}
