// SPDX-License-Identifier: Apache-2.0
// The rules of the linter, with their ids. `LintRule+Meaning.swift` has their severities and summaries.

/// The severity of a finding.
public enum Severity: String, Sendable, CaseIterable {
  /// Apple's service refuses the push, or the phone does not show it as intended.
  case error
  /// Apple's service accepts the push, but it is probably a mistake.
  case warning
  /// Useful information.
  case note
}

/// The rules of the linter. The raw values are the rule ids in reports, and stay stable.
///
/// Sources: Apple's "Generating a remote notification", "Sending notification requests to APNs", "Starting and updating
/// Live Activities with ActivityKit push notifications" and "Responding to VoIP Notifications from PushKit"; RFC 8259
/// for the text. The article "Push lint" lists all rules.
public enum LintRule: String, Sendable, CaseIterable {
  // The text.
  case textEmpty = "text-empty"
  case textTooLong = "text-too-long"
  case byteOrderMark = "byte-order-mark"
  case invalidUTF8 = "invalid-utf8"
  case nulByte = "nul-byte"
  case typographicQuote = "typographic-quote"
  case singleQuote = "single-quote"
  case unquotedKey = "unquoted-key"
  case unquotedText = "unquoted-text"
  case literalSpelling = "literal-spelling"
  case missingComma = "missing-comma"
  case trailingComma = "trailing-comma"
  case extraComma = "extra-comma"
  case missingColon = "missing-colon"
  case missingKey = "missing-key"
  case missingValue = "missing-value"
  case comment
  case invisibleSpace = "invisible-space"
  case unexpectedCharacter = "unexpected-character"
  case numberNotFinite = "number-not-finite"
  case numberLeadingZero = "number-leading-zero"
  case numberPlusSign = "number-plus-sign"
  case numberForm = "number-form"
  case numberTooLarge = "number-too-large"
  case unterminatedString = "unterminated-string"
  case unescapedQuote = "unescaped-quote"
  case controlCharacter = "control-character"
  case badEscape = "bad-escape"
  case loneSurrogate = "lone-surrogate"
  case duplicateKey = "duplicate-key"
  case nestingTooDeep = "nesting-too-deep"
  case unclosedBracket = "unclosed-bracket"
  case wrongBracket = "wrong-bracket"
  case bytesAfterEnd = "bytes-after-end"

  // Positions of keys.
  case notAnObject = "not-an-object"
  case vendorWrapper = "vendor-wrapper"
  case apsMissing = "aps-missing"
  case apsSpelling = "aps-spelling"
  case apsElsewhere = "aps-elsewhere"
  case apsKeyOutside = "aps-key-outside"
  case apsKeyPerhapsOutside = "aps-key-perhaps-outside"
  case apsKeyInAlert = "aps-key-in-alert"
  case alertKeyInAps = "alert-key-in-aps"
  case alertKeyOutside = "alert-key-outside"
  case soundKeyInAps = "sound-key-in-aps"

  // Names.
  case misspelledKey = "misspelled-key"
  case unknownApsKey = "unknown-aps-key"
  case unknownAlertKey = "unknown-alert-key"
  case unknownSoundKey = "unknown-sound-key"

  // Types.
  case flagNotNumber = "flag-not-number"
  case flagValue = "flag-value"
  case numberAsText = "number-as-text"
  case textAsNumber = "text-as-number"
  case nullValue = "null-value"
  case wrongType = "wrong-type"

  // Values.
  case badgeRange = "badge-range"
  case relevanceRange = "relevance-range"
  case volumeRange = "volume-range"
  case summaryCountRange = "summary-count-range"
  case levelSpelling = "level-spelling"
  case levelUnknown = "level-unknown"
  case eventUnknown = "event-unknown"
  case dateMilliseconds = "date-milliseconds"

  // Combinations.
  case backgroundShows = "background-shows"
  case mutableWithoutText = "mutable-without-text"
  case emptyAlert = "empty-alert"
  case showsNothing = "shows-nothing"
  case argsWithoutKey = "args-without-key"
  case textAndKey = "text-and-key"
  case criticalSoundLevel = "critical-sound-level"
  case criticalLevelSound = "critical-level-sound"
  case passiveSound = "passive-sound"
  case noSound = "no-sound"
  case summaryDeprecated = "summary-deprecated"
  case actionDeprecated = "action-deprecated"

  // Live Activities and calls.
  case activityWithoutTimestamp = "activity-without-timestamp"
  case activityWithoutEvent = "activity-without-event"
  case activityWithoutState = "activity-without-state"
  case activityStartIncomplete = "activity-start-incomplete"
  case activityStartOnly = "activity-start-only"
  case activityEndOnly = "activity-end-only"
  case voipShows = "voip-shows"
  case voipExpiration = "voip-expiration"

  // Communication notifications.
  case communicationNotMutable = "communication-not-mutable"
  case communicationKind = "communication-kind"
  case communicationID = "communication-id"
  case communicationEmpty = "communication-empty"
  case communicationAvatar = "communication-avatar"
  case communicationGroupCount = "communication-group-count"

  // Secrets.
  case deviceToken = "device-token"
  case secret

  // Headers.
  case headerUnknown = "header-unknown"
  case pushTypeUnknown = "push-type-unknown"
  case pushTypeMissing = "push-type-missing"
  case pushTypeMismatch = "push-type-mismatch"
  case priorityValue = "priority-value"
  case priorityBackground = "priority-background"
  case topicMissing = "topic-missing"
  case topicSuffix = "topic-suffix"
  case collapseIDLength = "collapse-id-length"
  case pushIDForm = "push-id-form"
  case expirationValue = "expiration-value"
  case expirationMilliseconds = "expiration-milliseconds"
  case expirationNoDate = "expiration-no-date"
  case expirationOnce = "expiration-once"

  // The whole payload.
  case payloadTooLarge = "payload-too-large"
  case tooManyFindings = "too-many-findings"
}
