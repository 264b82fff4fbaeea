// SPDX-License-Identifier: Apache-2.0

/// How likely a person looks at a session; the liveliest of a user's sessions is shown.
public enum Activity: String, Sendable, CaseIterable, Codable {
  /// A person may be looking.
  case active
  case idle
  /// Hidden, put away. Counts as away for delivery.
  case background
}
