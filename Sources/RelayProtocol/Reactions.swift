// SPDX-License-Identifier: Apache-2.0

/// The bounds of reactions to a message.
public enum Reactions {
  /// The maximum length of a key, in bytes of UTF-8. The longest emoji of Unicode 16 has 35 bytes.
  public static let maxKeyLength = 64
  /// The maximum number of different keys at a message.
  public static let maxKeys = 20
  /// The maximum number of all reactions to a message.
  public static let maxCount = 1_000
  /// The maximum number of users that the record of a message names for each key: the first ones.
  public static let maxUsers = 5

  /// True if the text is 1 to ``maxKeyLength`` bytes long and has no control characters.
  public static func isKey(_ text: String) -> Bool {
    (1...maxKeyLength).contains(text.utf8.count)
      && !text.unicodeScalars.contains { $0.properties.generalCategory == .control }
  }
}
