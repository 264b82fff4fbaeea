// SPDX-License-Identifier: Apache-2.0

/// The rules for keys of an alert that contradict or require each other. Sources: Apple's "Generating a remote
/// notification", "Pushing background updates to your app" and "UNNotificationServiceExtension".
let combinations: [CombinedRule] = [
  (
    .backgroundShows,
    { push in
      // A badge wakes the app that removes notifications, and disturbs nobody.
      guard push.isSilent, !push.shown.isEmpty, push.shown != ["badge"], !push.isActivity else { return [] }
      return [
        push.complaint(
          "content-available",
          words:
            "content-available makes a background push, and \(push.shown.joined(separator: ", ")) a visible one",
          mend: "keep both only if the alert must also wake the app")
      ]
    }
  ),
  (
    .mutableWithoutText,
    { push in
      guard push.isMutable, push.alert == nil else { return [] }
      return [
        push.complaint(
          "mutable-content",
          words: "mutable-content needs an alert with a text: without it, no extension runs",
          mend: "write a title, subtitle or body into alert")
      ]
    }
  ),
  (
    .emptyAlert,
    { push in
      guard push.alert != nil, !push.hasText else { return [] }
      return [push.complaint("alert", words: "the alert has no text", mend: "write a title, subtitle or body into it")]
    }
  ),
  (
    .showsNothing,
    { push in
      guard push.shown.isEmpty, !push.isSilent, !push.isMutable, !push.isActivity, push.event == nil,
        !push.headers.isFree,
        push.headers.type != "background"
      else { return [] }
      return [
        push.complaint(
          words: "aps shows nothing, plays no sound and does not wake the app",
          mend: "write an alert, or content-available for a background push")
      ]
    }
  ),
  (.argsWithoutKey, { push in push.parts { $0["\($1)loc-args"] != nil && $0["\($1)loc-key"] == nil } }),
  (
    .textAndKey,
    { push in push.parts { $0[$1.isEmpty ? "body" : String($1.dropLast())] != nil && $0["\($1)loc-key"] != nil } }
  ),
  (
    .criticalSoundLevel,
    { push in
      guard push.isCriticalSound, let level = push.level, level != "critical" else { return [] }
      return [
        push.complaint(
          "interruption-level", words: "the sound is critical, and the level is \(level.quoted)",
          mend: "write critical, or leave the level out")
      ]
    }
  ),
  (
    .criticalLevelSound,
    { push in
      guard push.level == "critical", let sound = push.sound, !sound.isBroken, !push.isCriticalSound else { return [] }
      return [
        push.complaint(
          "sound", words: "the level is critical, and the sound is not", mend: #"write {"critical":1,"name":…}"#)
      ]
    }
  ),
  (
    .passiveSound,
    { push in
      guard push.level == "passive", push.sound != nil else { return [] }
      return [
        push.complaint(
          "sound", words: "the level passive plays no sound", mend: "remove the sound, or write active")
      ]
    }
  ),
  (
    .noSound,
    { push in
      guard push.alert != nil, push.hasText, push.sound == nil, push.level != "passive", !push.isActivity,
        push.headers.isAlert
      else { return [] }
      return [
        push.complaint(
          "alert", words: "the alert has no sound, so that the phone stays silent",
          mend: #"write "sound":"default" into aps"#)
      ]
    }
  ),
  (.summaryDeprecated, { push in push.deprecated("summary-arg", "summary-arg-count", since: 15) }),
  (.actionDeprecated, { push in push.deprecated("action", "action-loc-key", since: 10) }),
]

extension LintReading {
  /// Checks the title, the subtitle and the body. `isWrong` receives the alert and the prefix of the localization keys.
  fileprivate func parts(where isWrong: (LintValue, String) -> Bool) -> [Complaint] {
    guard let alert, alert.members != nil else { return [] }
    return ["title-", "subtitle-", ""].filter { isWrong(alert, $0) }.map { part in
      let text = part.isEmpty ? "body" : String(part.dropLast())
      return alert["\(part)loc-key"] == nil
        ? alertComplaint(
          "\(part)loc-args", words: "\(part)loc-args has no \(part)loc-key beside it",
          mend: "write the key, or remove the arguments")
        : alertComplaint(
          "\(part)loc-key", words: "\(part)loc-key and \(text) set the same text", mend: "keep one of them")
    }
  }

  fileprivate func deprecated(_ keys: String..., since version: Int) -> [Complaint] {
    keys.filter { alert?[$0] != nil }.map {
      alertComplaint($0, words: "\($0) is ignored since iOS \(version)", mend: "leave it out")
    }
  }
}
