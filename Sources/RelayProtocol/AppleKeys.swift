// SPDX-License-Identifier: Apache-2.0

// The keys that Apple defines for push payloads, with the types of their values. The push linter checks payloads
// against these tables, and `PushStyle` reserves the names.

/// The type of a key's value.
package enum KeyShape {
  case text
  case number
  /// A number of seconds since 1970.
  case date
  /// The number 1, or 0, which equals an absent key.
  case flag
  case truth
  case texts
  case object
  /// A text, or an object with keys of its own.
  case alert
  case sound
}

/// The keys that Apple defines. Sources: "Generating a remote notification", tables 1 to 3, and "Starting and updating
/// Live Activities with ActivityKit push notifications".
package enum AppleKeys {
  package static let aps: [String: KeyShape] = [
    "alert": .alert, "badge": .number, "sound": .sound, "thread-id": .text, "category": .text,
    "content-available": .flag, "mutable-content": .flag, "target-content-id": .text, "interruption-level": .text,
    "relevance-score": .number, "filter-criteria": .text, "timestamp": .date, "event": .text, "content-state": .object,
    "stale-date": .date, "dismissal-date": .date, "attributes-type": .text, "attributes": .object,
    "input-push-token": .flag, "input-push-channel": .text, "content-changed": .truth, "url-args": .texts,
  ]

  package static let alert: [String: KeyShape] = [
    "title": .text, "subtitle": .text, "body": .text, "launch-image": .text, "title-loc-key": .text,
    "title-loc-args": .texts, "subtitle-loc-key": .text, "subtitle-loc-args": .texts, "loc-key": .text,
    "loc-args": .texts, "summary-arg": .text, "summary-arg-count": .number, "action": .text, "action-loc-key": .text,
  ]

  /// The keys of `alert` in the push of a Live Activity. A text may also be an object with `loc-key` and `loc-args`,
  /// and the sound is a key of the alert.
  package static let activityAlert: [String: KeyShape] = ["title": .alert, "body": .alert, "sound": .text]

  package static let sound: [String: KeyShape] = ["critical": .flag, "name": .text, "volume": .number]

  package static let levels = ["passive", "active", "time-sensitive", "critical"]
  package static let events = ["start", "update", "end"]

  /// Keys of `aps` that an app may also define outside `aps`.
  package static let common: Set<String> = ["category", "event", "timestamp", "attributes"]
  package static let activity: Set<String> = ["content-state", "stale-date", "dismissal-date", "attributes-type"]

  /// Returns the name in lower case, without hyphens and underscores. Misspelled names of a key have the same plain
  /// form.
  package static func plain(_ name: String) -> String { name.lowercased().filter { $0 != "-" && $0 != "_" } }
}

/// The limits of Apple's push service, in bytes.
///
/// Sources: "Sending notification requests to APNs" and "Generating a remote notification".
public enum APNsLimits {
  public static let maxPayload = 4096
  public static let maxVoIPPayload = 5120
  public static let maxCollapseID = 64
}
