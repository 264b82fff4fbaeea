// SPDX-License-Identifier: Apache-2.0

extension JSON {
  /// The maximum nesting of a body: the upper limit of `limits.nesting` in the configuration.
  private static let maxBodyNesting = 1_000

  /// The text to show for a message: the body if it is a string, or else its member `text`. Is `nil` for other bodies.
  public static func shownText(ofBody body: [UInt8]) -> String? {
    guard let value = JSON(reading: body, maxDepth: maxBodyNesting) else { return nil }
    return value.text ?? value["text"]?.text
  }
}
