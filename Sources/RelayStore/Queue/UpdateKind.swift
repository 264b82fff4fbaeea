// SPDX-License-Identifier: Apache-2.0

/// A push that follows from a change. The claim decides what it shows, from the facts at that time.
public enum UpdateKind: String, Sendable, CaseIterable {
  /// The notification of a message on one device is planned again: the message, its call or its recipient has changed.
  case entry
  /// The badge and the removals of one device.
  case phone
  /// A message that wakes the app and shows nothing.
  case silent
}
