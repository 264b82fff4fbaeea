// SPDX-License-Identifier: Apache-2.0

/// The activity that a session reports. Other users see the most active state of all sessions of a user.
public enum Activity: String, Sendable, CaseIterable, Codable {
  /// The user may be looking at the app.
  case active
  case idle
  /// The app is hidden. Delivery treats the session as absent.
  case background
}
