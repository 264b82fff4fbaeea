// SPDX-License-Identifier: Apache-2.0
import RelayProtocol
import Testing

@testable import AppleSimulator

/// Returns the headers of a valid request, with some changes. The value `nil` removes a header.
func head(_ changes: [String: String?] = [:]) -> AppleSimulator.Head {
  var fields: [String: String] = [
    ":method": "POST", ":path": "/3/device/" + String(repeating: "aB", count: 32), "apns-topic": "org.example.chat",
    "apns-push-type": "alert", "apns-priority": "10", "apns-expiration": "1800000000",
    "apns-id": "00000000-0000-4000-8000-000000000001",
    "apns-collapse-id": "room",
  ]
  for (name, value) in changes { fields[name] = value }
  return AppleSimulator.Head(fields.map { (name: $0.key, value: $0.value) })
}

let alert = #"{"aps":{"alert":"Kettle is on"}}"#

/// Returns the reason for which a request is refused, or `nil` if it is valid.
func reason(
  _ changes: [String: String?] = [:], payload: String = alert, topics: Set<String> = [], keyTopics: Set<String>? = nil
) -> AppleSimulator.Reason? {
  let head = head(changes)
  do throws(AppleSimulator.Reason) {
    try AppleSimulator.Checks.destination(of: head)
    _ = try AppleSimulator.Checks.notification(
      head, payload: Array(payload.utf8), topics: topics, keyTopics: keyTopics)
    return nil
  } catch {
    return error
  }
}

@Suite struct AppleSimulatorChecksTests {
  @Test func `a valid request is a notification for its device and app`() throws {
    let notification = try AppleSimulator.Checks.notification(
      head(["apns-topic": "org.example.chat.voip", "apns-push-type": "voip", "apns-expiration": "0"]),
      payload: Array(#"{"call":"7"}"#.utf8), topics: ["org.example.chat"], keyTopics: ["org.example.chat"])
    #expect(
      notification
        == AppleSimulator.Notification(
          token: String(repeating: "ab", count: 32), bundle: "org.example.chat", expiration: 0, collapseID: "room"))
  }

  @Test(arguments: [
    ("GET", "/3/device/aa", AppleSimulator.Reason.methodNotAllowed), ("PUT", "/3/device/aa", .methodNotAllowed),
    ("POST", "/", .badPath), ("POST", "/3/device/aa/", .badPath),
    ("POST", "/3/devices/aa", .badPath), ("POST", "/2/device/aa", .badPath), ("POST", "/3/device/aa/bb", .badPath),
    ("POST", "/3/device", .missingDeviceToken), ("POST", "/3/device/", .missingDeviceToken),
  ])
  func `only a POST to a device is accepted`(method: String, path: String, expected: AppleSimulator.Reason) {
    #expect(reason([":method": method, ":path": path]) == expected)
  }

  @Test(arguments: [
    "authorization", "apns-id", "apns-topic", "apns-push-type", "apns-priority", "apns-expiration", "apns-collapse-id",
  ])
  func `a repeated header is refused, even with the same value`(name: String) {
    var head = head()
    head.note(name, "x")
    if name == "authorization" { head.note(name, "x") }
    #expect(throws: AppleSimulator.Reason.duplicateHeaders) { try AppleSimulator.Checks.destination(of: head) }
  }

  @Test(
    arguments: [
      ("apns-topic", nil, AppleSimulator.Reason.missingTopic), ("apns-topic", "", .missingTopic),
      ("apns-topic", "org example", .badTopic), ("apns-topic", "org/example", .badTopic),
      ("apns-topic", ".voip", .badTopic),
      ("apns-topic", "org.example.chat.voip", .badTopic), ("apns-id", "1", .badMessageID),
      ("apns-id", "0000000G-0000-4000-8000-000000000001", .badMessageID),
      ("apns-id", "0000000A-0000-4000-8000-000000000001", .badMessageID), ("apns-id", nil, nil),
      ("apns-expiration", "", .badExpirationDate), ("apns-expiration", "-1", .badExpirationDate),
      ("apns-expiration", "1.5", .badExpirationDate), ("apns-expiration", "soon", .badExpirationDate),
      ("apns-expiration", "1800000000000", .badExpirationDate), ("apns-expiration", "0", nil),
      ("apns-expiration", nil, nil), ("apns-priority", "1", nil), ("apns-priority", "5", nil),
      ("apns-priority", nil, nil), ("apns-priority", "7", .badPriority), ("apns-priority", "high", .badPriority),
      ("apns-push-type", "Alert", .invalidPushType), ("apns-push-type", "voip", .badTopic),
      ("apns-push-type", nil, nil),
    ] as [(String, String?, AppleSimulator.Reason?)])
  func `each header is checked by Apple's rules`(name: String, value: String?, expected: AppleSimulator.Reason?) {
    #expect(reason([name: value]) == expected)
  }

  @Test func `a collapse id has at most 64 bytes of UTF-8`() {
    #expect(reason(["apns-collapse-id": String(repeating: "a", count: 64)]) == nil)
    #expect(reason(["apns-collapse-id": String(repeating: "ä", count: 32)]) == nil)
    #expect(reason(["apns-collapse-id": String(repeating: "a", count: 65)]) == .badCollapseID)
    #expect(reason(["apns-collapse-id": String(repeating: "ä", count: 32) + "a"]) == .badCollapseID)
  }

  @Test func `a topic that is not in the list of the service or of the key is refused`() {
    #expect(reason(topics: ["org.example.chat"]) == nil)
    #expect(reason(topics: ["org.example.other"]) == .topicDisallowed)
    #expect(reason(keyTopics: ["org.example.other"]) == .topicDisallowed)
  }

  @Test(arguments: [(4096, nil), (4097, AppleSimulator.Reason.payloadTooLarge)])
  func `a payload has at most 4096 bytes`(size: Int, expected: AppleSimulator.Reason?) {
    let filling = String(repeating: "a", count: size - alert.utf8.count)
    let payload = #"{"aps":{"alert":"Kettle is on\#(filling)"}}"#
    #expect(payload.utf8.count == size)
    #expect(reason(payload: payload) == expected)
  }

  @Test(arguments: [(5120, nil), (5121, AppleSimulator.Reason.payloadTooLarge)])
  func `a VoIP payload has at most 5120 bytes`(size: Int, expected: AppleSimulator.Reason?) {
    let payload = #"{"a":""# + String(repeating: "a", count: size - 8) + #""}"#
    let call = ["apns-topic": "org.example.chat.voip", "apns-push-type": "voip"]
    #expect(payload.utf8.count == size)
    #expect(reason(call, payload: payload) == expected)
  }

  @Test(arguments: ["", "{}", "[]", "7", "{", #"{"aps":{“alert”:"a"}}"#, #"{"aps":{"alert":"a"}},"#])
  func `a payload that is not an object with members counts as empty`(payload: String) {
    #expect(reason(payload: payload) == .payloadEmpty)
  }

  @Test(
    arguments: [
      ("alert", #"{"aps":{"badge":0}}"#, "10", nil), ("alert", #"{"aps":{"sound":"a"}}"#, "10", nil),
      ("alert", #"{"aps":{"content-available":1}}"#, "10", AppleSimulator.Reason.invalidPushType),
      ("alert", #"{"alert":"a"}"#, "10", .invalidPushType),
      ("background", #"{"aps":{"content-available":1}}"#, "5", nil),
      ("background", #"{"aps":{"content-available":1}}"#, "10", .badPriority),
      ("background", #"{"aps":{"content-available":1}}"#, nil, .badPriority),
      ("background", #"{"aps":{"content-available":1,"sound":"a"}}"#, "5", .invalidPushType),
      ("background", #"{"aps":{"content-available":"1"}}"#, "5", .invalidPushType),
      ("mdm", #"{"mdm":"magic"}"#, "10", nil), ("mdm", #"{"aps":{}}"#, "10", .invalidPushType),
    ] as [(String, String, String?, AppleSimulator.Reason?)])
  func `the push type must match the payload and the priority`(
    type: String, payload: String, priority: String?, expected: AppleSimulator.Reason?
  ) {
    #expect(reason(["apns-push-type": type, "apns-priority": priority], payload: payload) == expected)
  }

  @Test func `a push to a Live Activity needs its topic and an event`() {
    let headers = ["apns-push-type": "liveactivity", "apns-topic": "org.example.chat.push-type.liveactivity"]
    #expect(reason(headers, payload: #"{"aps":{"event":"update"}}"#) == nil)
    #expect(reason(headers, payload: #"{"aps":{"event":"begin"}}"#) == .invalidPushType)
  }

  @Test(arguments: [
    ("aB", true), ("", true), ("abc", false), ("ag", false), ("a b0", false), ("ä", false), ("abcdef", false),
  ])
  func `a device token is pairs of hexadecimal digits`(token: String, expected: Bool) {
    #expect(AppleSimulator.Checks.isToken(token, digits: 0...4) == expected)
  }

  @Test(arguments: [
    (400, ["BadCollapseId", "BadDeviceToken", "BadExpirationDate", "BadMessageId", "BadPriority", "BadTopic"]),
    (400, ["DeviceTokenNotForTopic", "DuplicateHeaders", "IdleTimeout", "InvalidPushType", "MissingDeviceToken"]),
    (400, ["MissingTopic", "PayloadEmpty", "TopicDisallowed"]),
    (403, ["BadCertificateEnvironment", "BadEnvironmentKeyIdInToken", "ExpiredProviderToken", "Forbidden"]),
    (403, ["InvalidProviderToken", "MissingProviderToken", "UnrelatedKeyIdInToken"]),
    (404, ["BadPath"]), (405, ["MethodNotAllowed"]), (410, ["ExpiredToken", "Unregistered"]),
    (413, ["PayloadTooLarge"]),
    (429, ["TooManyProviderTokenUpdates", "TooManyRequests"]), (500, ["InternalServerError"]),
    (503, ["ServiceUnavailable", "Shutdown"]),
  ])
  func `a refusal has Apple's status and JSON`(status: Int, reasons: [String]) throws {
    for reason in reasons {
      let refusal = AppleSimulator.Refusal(try #require(AppleSimulator.Reason(rawValue: reason)))
      #expect(refusal.status == status)
      #expect(String(decoding: refusal.json, as: UTF8.self) == #"{"reason":"\#(reason)"}"#)
    }
  }

  @Test func `the refusal of an unregistered token has its time`() {
    let refusal = AppleSimulator.Refusal(.unregistered, timestamp: .init(rawValue: 1_700_000_000_000))
    #expect(String(decoding: refusal.json, as: UTF8.self) == #"{"reason":"Unregistered","timestamp":1700000000000}"#)
  }
}
