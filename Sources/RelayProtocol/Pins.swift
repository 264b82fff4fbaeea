// SPDX-License-Identifier: Apache-2.0

/// The bounds of pinned messages.
public enum Pins {
  /// The maximum number of pinned messages of a room.
  public static let maxCount = 50
}
