// SPDX-License-Identifier: Apache-2.0

/// The texts of messages.
extension JSON {
  /// The maximum nesting of a body: the upper limit of `limits.nesting` in the configuration.
  private static let maxBodyNesting = 1_000

  /// The text to show for a message: the body if it is a string, or else its member `text`. Is `nil` for other bodies.
  public static func shownText(ofBody body: [UInt8]) -> String? {
    JSON(reading: body, maxDepth: maxBodyNesting)?.shownText
  }

  /// The text to show for a message with this body.
  public var shownText: String? { text ?? self["text"]?.text }

  /// The maximum length of a preview, in characters.
  public static let maxPreviewLength = 160
  /// The maximum size of a preview, in bytes. A single character can have any number of accents.
  public static let maxPreviewBytes = 1_024

  /// The beginning of the text of a body. Is `nil` for a body without a text.
  public static func preview(ofBody body: [UInt8]) -> String? { shownText(ofBody: body).map(preview(ofText:)) }

  /// The beginning of a text. A text above one of the maximums ends with “…”.
  public static func preview(ofText text: String) -> String {
    let start = text.prefix(maxPreviewLength)
    guard start.endIndex < text.endIndex || start.utf8.count > maxPreviewBytes else { return text }
    var cut = start.dropLast()
    while cut.utf8.count > maxPreviewBytes - "…".utf8.count { cut = cut.dropLast() }
    return String(cut) + "…"
  }
}
