// SPDX-License-Identifier: Apache-2.0

/// What the value of a key must be.
enum KeyShape {
  case text
  case number
  /// A number of seconds since 1970.
  case date
  /// The number 1, or 0 for what may as well be left out.
  case flag
  case truth
  case texts
  case object
  /// A text, or an object of other keys.
  case alert
  case sound
}

/// The keys that Apple defines. From "Generating a remote notification", tables 1 to 3, and "Starting and updating Live
/// Activities with ActivityKit push notifications".
enum AppleKeys {
  static let aps: [String: KeyShape] = [
    "alert": .alert, "badge": .number, "sound": .sound, "thread-id": .text, "category": .text,
    "content-available": .flag, "mutable-content": .flag, "target-content-id": .text, "interruption-level": .text,
    "relevance-score": .number, "filter-criteria": .text, "timestamp": .date, "event": .text, "content-state": .object,
    "stale-date": .date, "dismissal-date": .date, "attributes-type": .text, "attributes": .object,
    "input-push-token": .flag, "input-push-channel": .text, "content-changed": .truth, "url-args": .texts,
  ]

  static let alert: [String: KeyShape] = [
    "title": .text, "subtitle": .text, "body": .text, "launch-image": .text, "title-loc-key": .text,
    "title-loc-args": .texts, "subtitle-loc-key": .text, "subtitle-loc-args": .texts, "loc-key": .text,
    "loc-args": .texts, "summary-arg": .text, "summary-arg-count": .number, "action": .text, "action-loc-key": .text,
  ]

  /// In a Live Activity's push a text may be an object with `loc-key` and `loc-args`, and the sound stands here.
  static let activityAlert: [String: KeyShape] = ["title": .alert, "body": .alert, "sound": .text]

  static let sound: [String: KeyShape] = ["critical": .flag, "name": .text, "volume": .number]

  static let levels = ["passive", "active", "time-sensitive", "critical"]
  static let events = ["start", "update", "end"]

  /// Beside `aps` these may be an app's own.
  static let common: Set<String> = ["category", "event", "timestamp", "attributes"]
  static let activity: Set<String> = ["content-state", "stale-date", "dismissal-date", "attributes-type"]

  /// A name without what people change about names: case, hyphens and underscores.
  static func plain(_ name: String) -> String { name.lowercased().filter { $0 != "-" && $0 != "_" } }
}
