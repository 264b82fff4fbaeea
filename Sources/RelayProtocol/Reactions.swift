// SPDX-License-Identifier: Apache-2.0

/// The bounds of reactions to a message.
public enum Reactions {
  /// The maximum length of a key, in bytes of UTF-8. The longest emoji of Unicode 16 has 35 bytes. A key is one line,
  /// see ``Swift/String/isLine``, and not empty.
  public static let maxKeyLength = 64
  /// The maximum number of different keys at a message.
  public static let maxKeys = 20
  /// The maximum number of all reactions to a message.
  public static let maxCount = 1_000
  /// The maximum number of users that the record of a message names for each key: the first ones.
  public static let maxUsers = 5
}
