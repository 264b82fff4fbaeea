// SPDX-License-Identifier: Apache-2.0
import PushLint

/// A push with one mistake.
struct LintExample: CustomStringConvertible, Sendable {
  let rule: LintRule
  let text: [UInt8]
  let headers: [String: String]
  /// The corrected payload. Is `nil` when the text is ambiguous, or when no test compares it.
  let mended: String?

  init(_ rule: LintRule, _ text: [UInt8], headers: [String: String] = [:], mended: String? = nil) {
    self.rule = rule
    self.text = text
    self.headers = headers
    self.mended = mended
  }

  init(_ rule: LintRule, _ text: String, headers: [String: String] = [:], mended: String? = nil) {
    self.init(rule, Array(text.utf8), headers: headers, mended: mended)
  }

  var description: String { "\(rule.rawValue): \(String(decoding: text.prefix(100), as: UTF8.self))" }

  func report(isLenient: Bool = false) -> LintReport {
    PushLint.check(text, headers: headers.map { ($0.key, $0.value) }, isLenient: isLenient)
  }

  private static let hi = #"{"aps":{"alert":"Hi"}}"#
  private static let token = String(repeating: "0f", count: 32)
  private static let uuid = "0190b5d2-6f0a-7c3e-8a52-1d2f3a4b5c6d"
  private static let alert = ["apns-push-type": "alert", "apns-topic": "org.example.chat"]
  private static let activity = #""timestamp":1700000000,"event":"update","content-state":{}"#

  private static func sent(_ more: [String: String]) -> [String: String] { alert.merging(more) { $1 } }

  private static func talk(
    _ sender: String = #""id":"ann""#, _ conversation: String = #""id":"tea""#, aps: String = #","mutable-content":1"#,
    kind: String = "message"
  ) -> String {
    #"{"aps":{"alert":"Hi"\#(aps)},"communication":{"kind":"\#(kind)","sender":{\#(sender)},"conversation":{\#(conversation)}}}"#
  }

  static let ofTexts: [LintExample] = [
    LintExample(.textEmpty, ""),
    LintExample(.textEmpty, " \n"),
    LintExample(.textTooLong, String(repeating: " ", count: 65_537)),
    LintExample(.byteOrderMark, "\u{FEFF}" + hi, mended: hi),
    LintExample(.invalidUTF8, Array(#"{"aps":{"alert":"H"#.utf8) + [0xFF] + Array(#""}}"#.utf8)),
    LintExample(.invalidUTF8, [0xFF, 0xFE, 0x7B, 0, 0x7D, 0]),
    LintExample(.nulByte, hi + "\0\0"),
    LintExample(.nulByte, "{\"aps\":{\"alert\":\"H\0i\"}}"),
    LintExample(.typographicQuote, #"{“aps”:{"alert":"Hi"}}"#, mended: hi),
    LintExample(.typographicQuote, #"{"aps”:{"alert":"Hi"}}"#, mended: hi),
    LintExample(.typographicQuote, #"{«aps»:{"alert":"Hi"}}"#, mended: hi),
    LintExample(.typographicQuote, #"{"aps":{"alert":“Hi"}}"#, mended: hi),
    LintExample(.typographicQuote, #"{"aps":{"alert":“A "b" c”}}"#, mended: #"{"aps":{"alert":"A \"b\" c"}}"#),
    LintExample(.singleQuote, #"{"aps":{"alert":'it\u0027s it\'s'}}"#, mended: #"{"aps":{"alert":"it's it's"}}"#),
    LintExample(.singleQuote, #"{'aps':{"alert":"Hi"}}"#, mended: hi),
    LintExample(.singleQuote, #"{"aps":{"alert":'it's "mine"'}}"#, mended: #"{"aps":{"alert":"it's \"mine\""}}"#),
    LintExample(.unquotedKey, #"{aps:{"alert":"Hi"}}"#, mended: hi),
    LintExample(.unquotedText, #"{"aps":{"alert":Hi}}"#),
    LintExample(.literalSpelling, #"{"aps":{"alert":"Hi"},"own":True}"#, mended: #"{"aps":{"alert":"Hi"},"own":true}"#),
    LintExample(.missingComma, #"{"aps":{"alert":"Hi" "badge":1}}"#, mended: #"{"aps":{"alert":"Hi","badge":1}}"#),
    LintExample(
      .missingComma, "{\"aps\":{\"alert\":\"Hi\"},\"own\":[1\n2]}", mended: #"{"aps":{"alert":"Hi"},"own":[1,2]}"#),
    LintExample(.trailingComma, #"{"aps":{"alert":"Hi",}}"#, mended: hi),
    LintExample(.trailingComma, #"{"aps":{"alert":"Hi"},"own":[1,]}"#, mended: #"{"aps":{"alert":"Hi"},"own":[1]}"#),
    LintExample(.extraComma, #"{,"aps":{"alert":"Hi"}}"#, mended: hi),
    LintExample(.extraComma, #"{"aps":{"alert":"Hi"},,"own":1}"#, mended: #"{"aps":{"alert":"Hi"},"own":1}"#),
    LintExample(.missingColon, #"{"aps" {"alert":"Hi"}}"#, mended: hi),
    LintExample(.missingColon, #"{"aps"={"alert":"Hi"}}"#, mended: hi),
    LintExample(.missingColon, #"{"aps"=>{"alert":"Hi"}}"#, mended: hi),
    LintExample(.missingKey, #"{:1,"aps":{"alert":"Hi"}}"#),
    LintExample(.missingKey, #"{{},"aps":{"alert":"Hi"}}"#),
    LintExample(.missingValue, #"{"aps":{"alert":}}"#),
    LintExample(.missingValue, #"{"aps":{"alert","badge":1}}"#),
    LintExample(.comment, #"{"aps":{"alert":"Hi"}/* , */}"#, mended: hi),
    LintExample(.comment, hi + "// the end", mended: hi),
    LintExample(.comment, "{# one\n\"aps\":{\"alert\":\"Hi\"}}", mended: hi),
    LintExample(.invisibleSpace, "{\u{A0}\"aps\":{\"alert\":\"Hi\"}}", mended: hi),
    LintExample(.unexpectedCharacter, #"{"aps":{"alert":@home}}"#),
    LintExample(.unexpectedCharacter, #"{"aps":{"alert":"Hi"},"own":[1:2]}"#),
    LintExample(.unexpectedCharacter, #"{"aps":{"alert":"Hi"};"own":1}"#, mended: #"{"aps":{"alert":"Hi"},"own":1}"#),
    LintExample(.unexpectedCharacter, #"{"aps":{"alert":"Hi",&"badge":1}}"#),
    LintExample(.numberNotFinite, #"{"aps":{"alert":"Hi","badge":NaN}}"#),
    LintExample(.numberNotFinite, #"{"aps":{"alert":"Hi","badge":-Infinity}}"#),
    LintExample(.numberLeadingZero, #"{"aps":{"alert":"Hi","badge":01}}"#),
    LintExample(.numberPlusSign, #"{"aps":{"alert":"Hi","badge":+1}}"#, mended: #"{"aps":{"alert":"Hi","badge":1}}"#),
    LintExample(.numberForm, #"{"aps":{"alert":"Hi","relevance-score":.5}}"#),
    LintExample(.numberForm, #"{"aps":{"alert":"Hi","badge":0x10}}"#),
    LintExample(.numberForm, #"{"aps":{"alert":"Hi","badge":1e}}"#),
    LintExample(.numberTooLarge, #"{"aps":{"badge":1e999}}"#),
    LintExample(.unterminatedString, "{\"aps\":{\"alert\":\"Hi,\n\"badge\":1}}"),
    LintExample(.unterminatedString, #"{"aps":{"alert":"Hi, "badge":1}}"#),
    LintExample(.unterminatedString, #"{"aps":{"alert":"Hi},"own":1}"#),
    LintExample(.unterminatedString, #"{"aps":{"alert: "Hi"}}"#),
    LintExample(.unterminatedString, #"{"aps":{"alert":"Hi"},"own}"#),
    LintExample(.unescapedQuote, #"{"aps":{"alert":"Not now, "she" said"}}"#),
    LintExample(.unescapedQuote, #"{"aps":{"alert":"She said "hi" to me"}}"#),
    LintExample(.controlCharacter, "{\"aps\":{\"alert\":\"H\ti\"}}", mended: #"{"aps":{"alert":"H\ti"}}"#),
    LintExample(.badEscape, #"{"aps":{"alert":"\Hi"}}"#),
    LintExample(.badEscape, #"{"aps":{"alert":"\u12"}}"#),
    LintExample(.loneSurrogate, #"{"aps":{"alert":"\ud83d"}}"#),
    LintExample(.loneSurrogate, #"{"aps":{"alert":"\udc30"}}"#),
    LintExample(.duplicateKey, #"{"aps":{"alert":"Hi","alert":"Ho"}}"#),
    LintExample(.nestingTooDeep, String(repeating: "[", count: 65)),
    LintExample(.unclosedBracket, #"{"aps":{"alert":"Hi"}"#),
    LintExample(.unclosedBracket, #"{"aps":{"alert":"Hi","url-args":["a"}}"#),
    LintExample(.wrongBracket, #"{"aps":{"alert":"Hi"]}}"#),
    LintExample(.bytesAfterEnd, hi + "}"),
    LintExample(.bytesAfterEnd, hi + hi),
  ]

  static let ofLocations: [LintExample] = [
    LintExample(.notAnObject, #""Hi""#, mended: #""Hi""#),
    LintExample(.vendorWrapper, #"{"message":{"token":"x","apns":{"payload":{"aps":{"alert":"Hi"}}}}}"#, mended: hi),
    LintExample(.vendorWrapper, #"{"payload":{"aps":{"alert":"Hi"}}}"#, mended: hi),
    LintExample(
      .vendorWrapper, #"{"to":"x","notification":{"title":"Hi"}}"#, mended: #"{"to":"x","notification":{"title":"Hi"}}"#
    ),
    LintExample(
      .vendorWrapper, #"{"default":"Hi","APNS":"{\"aps\":{\"alert\":\"Hi\"}}"}"#,
      mended: #"{"default":"Hi","APNS":"{\"aps\":{\"alert\":\"Hi\"}}"}"#),
    LintExample(.apsMissing, #"{"own":1}"#, mended: #"{"own":1}"#),
    LintExample(.apsMissing, #"{"alert":"Hi","own":1}"#, mended: #"{"aps":{"alert":"Hi"},"own":1}"#),
    LintExample(.apsSpelling, #"{"APS":{"alert":"Hi"}}"#, mended: hi),
    LintExample(.apsElsewhere, #"{"own":{"aps":{"alert":"Hi"}}}"#, mended: #"{"own":{"aps":{"alert":"Hi"}}}"#),
    LintExample(.apsElsewhere, #"{"aps":{"alert":"Hi","aps":{}}}"#, mended: #"{"aps":{"alert":"Hi","aps":{}}}"#),
    LintExample(
      .apsKeyOutside, #"{"aps":{"alert":"Hi"},"thread-id":"tea"}"#, mended: #"{"aps":{"alert":"Hi","thread-id":"tea"}}"#
    ),
    LintExample(
      .apsKeyOutside, #"{"aps":{"alert":"Hi"},"alert":"Ho"}"#, mended: #"{"aps":{"alert":"Hi"},"alert":"Ho"}"#),
    LintExample(
      .apsKeyPerhapsOutside, #"{"aps":{"alert":"Hi"},"category":"chat"}"#,
      mended: #"{"aps":{"alert":"Hi"},"category":"chat"}"#),
    LintExample(
      .apsKeyInAlert, #"{"aps":{"alert":{"title":"Hi","badge":1}}}"#,
      mended: #"{"aps":{"alert":{"title":"Hi"},"badge":1}}"#),
    LintExample(
      .alertKeyInAps, #"{"aps":{"alert":"Hi","title":"Ann"}}"#,
      mended: #"{"aps":{"alert":{"body":"Hi","title":"Ann"}}}"#),
    LintExample(.alertKeyInAps, #"{"aps":{"body":"Hi"}}"#, mended: #"{"aps":{"alert":{"body":"Hi"}}}"#),
    LintExample(
      .alertKeyOutside, #"{"aps":{"alert":{"title":"Ann"}},"loc-key":"hi"}"#,
      mended: #"{"aps":{"alert":{"title":"Ann","loc-key":"hi"}}}"#),
    LintExample(
      .soundKeyInAps, #"{"aps":{"alert":"Hi","sound":"ping","volume":0.5}}"#,
      mended: #"{"aps":{"alert":"Hi","sound":{"name":"ping","volume":0.5}}}"#),
    LintExample(
      .misspelledKey, #"{"aps":{"alert":"Hi","mutable_content":1}}"#,
      mended: #"{"aps":{"alert":"Hi","mutable-content":1}}"#),
    LintExample(
      .misspelledKey, #"{"aps":{"alert":{"titleLocKey":"Hi"}}}"#, mended: #"{"aps":{"alert":{"title-loc-key":"Hi"}}}"#),
    LintExample(.unknownApsKey, #"{"aps":{"alert":"Hi","badges":1}}"#, mended: #"{"aps":{"alert":"Hi","badges":1}}"#),
    LintExample(
      .unknownAlertKey, #"{"aps":{"alert":{"title":"Hi","text":"Ho"}}}"#,
      mended: #"{"aps":{"alert":{"title":"Hi","text":"Ho"}}}"#),
    LintExample(
      .unknownSoundKey, #"{"aps":{"sound":{"name":"ping","loud":1}}}"#,
      mended: #"{"aps":{"sound":{"name":"ping","loud":1}}}"#),
  ]

  static let ofValues: [LintExample] = [
    LintExample(
      .flagNotNumber, #"{"aps":{"alert":"Hi","mutable-content":"1"}}"#,
      mended: #"{"aps":{"alert":"Hi","mutable-content":1}}"#),
    LintExample(.flagNotNumber, #"{"aps":{"content-available":true}}"#, mended: #"{"aps":{"content-available":1}}"#),
    LintExample(
      .flagNotNumber, #"{"aps":{"sound":{"critical":false,"name":"ping"}}}"#,
      mended: #"{"aps":{"sound":{"critical":0,"name":"ping"}}}"#),
    LintExample(
      .flagValue, #"{"aps":{"alert":"Hi","mutable-content":2}}"#, mended: #"{"aps":{"alert":"Hi","mutable-content":2}}"#
    ),
    LintExample(.numberAsText, #"{"aps":{"badge":"1"}}"#, mended: #"{"aps":{"badge":1}}"#),
    LintExample(
      .textAsNumber, #"{"aps":{"alert":"Hi","thread-id":7}}"#, mended: #"{"aps":{"alert":"Hi","thread-id":"7"}}"#),
    LintExample(
      .textAsNumber, #"{"aps":{"alert":{"loc-key":"hi","loc-args":["a",7]}}}"#,
      mended: #"{"aps":{"alert":{"loc-key":"hi","loc-args":["a","7"]}}}"#),
    LintExample(.nullValue, #"{"aps":{"alert":"Hi","badge":null}}"#, mended: hi),
    LintExample(.wrongType, #"{"aps":{"alert":"Hi","sound":1}}"#, mended: #"{"aps":{"alert":"Hi","sound":1}}"#),
    LintExample(.wrongType, #"{"aps":{"alert":["Hi"]}}"#),
    LintExample(.wrongType, #"{"aps":"Hi"}"#, mended: #"{"aps":"Hi"}"#),
    LintExample(.wrongType, #"{"aps":{"alert":"Hi","badge":true}}"#),
    LintExample(.wrongType, #"{"aps":{"alert":{"loc-key":"hi","loc-args":"a"}}}"#),
    LintExample(.wrongType, #"{"aps":{"alert":"Hi","mutable-content":"yes"}}"#),
    LintExample(.badgeRange, #"{"aps":{"badge":-1}}"#, mended: #"{"aps":{"badge":-1}}"#),
    LintExample(.badgeRange, #"{"aps":{"badge":1.5}}"#, mended: #"{"aps":{"badge":1.5}}"#),
    LintExample(.badgeRange, #"{"aps":{"badge":1e300}}"#, mended: #"{"aps":{"badge":1e300}}"#),
    LintExample(
      .relevanceRange, #"{"aps":{"alert":"Hi","relevance-score":1.01}}"#,
      mended: #"{"aps":{"alert":"Hi","relevance-score":1.01}}"#),
    LintExample(
      .volumeRange, #"{"aps":{"sound":{"name":"ping","volume":11}}}"#,
      mended: #"{"aps":{"sound":{"name":"ping","volume":11}}}"#),
    LintExample(
      .levelSpelling, #"{"aps":{"alert":"Hi","interruption-level":"timeSensitive"}}"#,
      mended: #"{"aps":{"alert":"Hi","interruption-level":"time-sensitive"}}"#),
    LintExample(
      .levelUnknown, #"{"aps":{"alert":"Hi","interruption-level":"urgent"}}"#,
      mended: #"{"aps":{"alert":"Hi","interruption-level":"urgent"}}"#),
    LintExample(
      .eventUnknown, #"{"aps":{"timestamp":1700000000,"event":"begin","content-state":{}}}"#,
      mended: #"{"aps":{"timestamp":1700000000,"event":"begin","content-state":{}}}"#),
    LintExample(
      .dateMilliseconds, #"{"aps":{"timestamp":1700000000123,"event":"update","content-state":{}}}"#,
      mended: #"{"aps":{"timestamp":1700000000,"event":"update","content-state":{}}}"#),
  ]

  static let ofCombinations: [LintExample] = [
    LintExample(.backgroundShows, #"{"aps":{"alert":"Hi","content-available":1}}"#),
    LintExample(.mutableWithoutText, #"{"aps":{"mutable-content":1}}"#),
    LintExample(.mutableWithoutText, #"{"aps":{"badge":1,"mutable-content":1}}"#),
    LintExample(.emptyAlert, #"{"aps":{"alert":" ","mutable-content":1}}"#),
    LintExample(.emptyAlert, #"{"aps":{"alert":{"title":"","launch-image":"x"}}}"#),
    LintExample(.showsNothing, #"{"aps":{"thread-id":"tea"}}"#),
    LintExample(.argsWithoutKey, #"{"aps":{"alert":{"body":"Hi","title-loc-args":["a"]}}}"#),
    LintExample(.textAndKey, #"{"aps":{"alert":{"body":"Hi","loc-key":"hi"}}}"#),
    LintExample(
      .criticalSoundLevel, #"{"aps":{"alert":"Hi","sound":{"critical":1,"name":"ping"},"interruption-level":"active"}}"#
    ),
    LintExample(.criticalLevelSound, #"{"aps":{"alert":"Hi","sound":"ping","interruption-level":"critical"}}"#),
    LintExample(.passiveSound, #"{"aps":{"alert":"Hi","sound":"ping","interruption-level":"passive"}}"#),
    LintExample(.noSound, #"{"aps":{"alert":"Hi"}}"#),
    LintExample(.noSound, #"{"aps":{"alert":"Hi","interruption-level":"critical"}}"#, headers: alert),
    LintExample(.summaryDeprecated, #"{"aps":{"alert":{"body":"Hi","summary-arg":"tea"}}}"#),
    LintExample(.actionDeprecated, #"{"aps":{"alert":{"body":"Hi","action-loc-key":"tea"}}}"#),
    LintExample(.activityWithoutTimestamp, #"{"aps":{"event":"update","content-state":{}}}"#),
    LintExample(.activityWithoutEvent, #"{"aps":{"timestamp":1700000000,"content-state":{}}}"#),
    LintExample(.activityWithoutState, #"{"aps":{"timestamp":1700000000,"event":"update","stale-date":1700000001}}"#),
    LintExample(
      .activityStartIncomplete,
      #"{"aps":{"timestamp":1700000000,"event":"start","content-state":{},"attributes-type":"Tea","attributes":{}}}"#),
    LintExample(.activityStartOnly, #"{"aps":{\#(activity),"attributes":{}}}"#),
    LintExample(.activityEndOnly, #"{"aps":{\#(activity),"dismissal-date":1700000001}}"#),
    LintExample(.voipShows, hi, headers: ["apns-push-type": "voip", "apns-topic": "org.example.chat.voip"]),
    LintExample(
      .voipExpiration, #"{"call":1}"#,
      headers: ["apns-push-type": "voip", "apns-topic": "org.example.chat.voip", "apns-expiration": "1700000000"]),
    LintExample(.communicationNotMutable, talk(aps: "")),
    LintExample(.communicationKind, talk(kind: "chat")),
    LintExample(.communicationID, talk(#""id":7"#)),
    LintExample(.communicationID, talk(#""name":"Ann""#)),
    LintExample(.communicationID, talk(#""id":"""#)),
    LintExample(.communicationEmpty, talk(#""id":"ann","handle":"""#)),
    LintExample(.communicationAvatar, talk(#""id":"ann","avatar":"http://example.org/a.png""#)),
    LintExample(.communicationAvatar, talk(#""id":"ann""#, #""id":"tea","avatar":"tea.png""#)),
    LintExample(.communicationGroupCount, talk(#""id":"ann""#, #""id":"tea","group":true"#)),
    LintExample(.communicationGroupCount, talk(#""id":"ann""#, #""id":"tea","group":true,"recipientCount":0"#)),
    LintExample(.deviceToken, #"{"aps":{"alert":"Hi"},"own":["\#(token)"]}"#),
    LintExample(.secret, #"{"aps":{"alert":"Hi"},"api_key":"x"}"#),
    LintExample(.secret, #"{"aps":{"alert":"Hi"},"own":"-----BEGIN PRIVATE KEY-----"}"#),
    LintExample(.secret, #"{"aps":{"alert":"Hi"},"own":"eyJhbGciOiJIUzI1NiJ9.e30.x"}"#),
    LintExample(.payloadTooLarge, #"{"aps":{"alert":"\#(String(repeating: "ж", count: 2039))"}}"#),
    LintExample(.payloadTooLarge, hi + String(repeating: " ", count: 4075)),
  ]

  static let ofHeaders: [LintExample] = [
    LintExample(.headerUnknown, hi, headers: sent(["apns-thread-id": "tea"])),
    LintExample(.pushTypeUnknown, hi, headers: sent(["apns-push-type": "Alert"])),
    LintExample(.pushTypeMissing, hi, headers: ["apns-topic": "org.example.chat"]),
    LintExample(.pushTypeMismatch, hi, headers: sent(["apns-push-type": "background", "apns-priority": "5"])),
    LintExample(.pushTypeMismatch, #"{"aps":{"content-available":1}}"#, headers: sent(["apns-priority": "5"])),
    LintExample(.pushTypeMismatch, #"{"aps":{\#(activity)}}"#, headers: alert),
    LintExample(.priorityValue, hi, headers: sent(["apns-priority": "high"])),
    LintExample(
      .priorityBackground, #"{"aps":{"content-available":1}}"#, headers: sent(["apns-push-type": "background"])),
    LintExample(
      .priorityBackground, #"{"aps":{"content-available":1}}"#,
      headers: sent(["apns-push-type": "background", "apns-priority": "10"])),
    LintExample(.topicMissing, hi, headers: ["apns-push-type": "alert"]),
    LintExample(.topicSuffix, hi, headers: sent(["apns-topic": "org.example.chat.voip"])),
    LintExample(.topicSuffix, #"{"call":1}"#, headers: sent(["apns-push-type": "voip"])),
    LintExample(.topicSuffix, #"{"aps":{\#(activity)}}"#, headers: sent(["apns-push-type": "liveactivity"])),
    LintExample(.collapseIDLength, hi, headers: sent(["apns-collapse-id": String(repeating: "ж", count: 32) + "x"])),
    LintExample(.pushIDForm, hi, headers: sent(["apns-id": uuid.uppercased()])),
    LintExample(.expirationValue, hi, headers: sent(["apns-expiration": "1.5"])),
    LintExample(.expirationMilliseconds, hi, headers: sent(["apns-expiration": "1700000000123"])),
    LintExample(.expirationNoDate, hi, headers: sent(["apns-expiration": "3600"])),
    LintExample(.expirationOnce, hi, headers: sent(["apns-expiration": "0"])),
  ]

  static let all = ofTexts + ofLocations + ofValues + ofCombinations + ofHeaders
}
