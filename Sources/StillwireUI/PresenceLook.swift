// SPDX-License-Identifier: Apache-2.0
// The appearance of a person's presence. Has no dependency on SwiftUI.
public import StillwireClient

/// The appearance of a person's presence.
public enum PresenceLook: String, CaseIterable, Sendable {
  /// The person is online, and no Focus is known.
  case online
  /// The person is online, and does not use the app at the moment.
  case idle
  /// A Focus silences the person's notifications.
  case silenced
  case offline

  /// Returns the appearance of a presence, and ``offline`` if there is none. A Focus comes first: it decides whether a
  /// message makes a sound.
  public init(_ presence: Presence?) {
    guard let presence else {
      self = .offline
      return
    }
    if presence.isSilenced {
      self = .silenced
    } else if !presence.isOnline {
      self = .offline
    } else {
      self = presence.activity == nil || presence.activity == .active ? .online : .idle
    }
  }

  /// The word in English, for VoiceOver.
  public var word: String {
    switch self {
    case .online: "Online"
    case .idle: "Idle"
    case .silenced: "Notifications silenced"
    case .offline: "Offline"
    }
  }

  /// The name of the SF Symbol.
  public var symbol: String {
    switch self {
    case .online: "circle.fill"
    case .idle: "circle.lefthalf.filled"
    case .silenced: "moon.fill"
    case .offline: "circle"
    }
  }
}
