// SPDX-License-Identifier: Apache-2.0
import Crypto
import Foundation
import RelayJSON
import RelayProtocol
import Testing

@testable import AppleSimulator

/// Tests the bodies of the control API.
@Suite struct AppleSimulatorControlTests {
  private func members(_ text: String) throws -> [String: JSON] {
    guard case .object(let members) = try #require(JSON(reading: Array(text.utf8))) else { return [:] }
    return members
  }

  private func text(_ value: some Encodable) -> String { String(decoding: JSONEncoder.body(value), as: UTF8.self) }

  @Test func `the JSON of settings has all members, with durations in seconds`() throws {
    var settings = AppleSimulator.Settings()
    settings.topics = ["chat"]
    settings.latency = .milliseconds(50) ... .seconds(1)
    settings.requestsPerConnection = 3
    #expect(
      text(settings) == """
        {"acceptsAnyKey":false,"clockOffset":0,"clockSkew":60,"countsUpdatesAcrossConnections":false,\
        "environment":"sandbox","keys":[],"latency":[0.05,1],"readDelay":0,"requestsPerConnection":3,"streams":1000,\
        "tokenDigits":64,"topics":["chat"],"window":65535}
        """)
  }

  @Test func `a change keeps the members that it does not name, and null removes a member`() throws {
    var settings = AppleSimulator.Settings()
    settings.mostPerDevice = 5
    settings.requestsPerConnection = 7
    let key = P256.Signing.PrivateKey().publicKey
    settings.add(.init(id: "KEY4567890", team: "TEAM567890", publicKey: key, topics: ["chat"], related: "OTHER67890"))
    try settings.change(
      members(#"{"environment":"production","latency":0.25,"clockOffset":-90,"mostPerDevice":null}"#))
    #expect(settings.environment == .production && settings.latency == .milliseconds(250) ... .milliseconds(250))
    #expect(settings.clockOffset == .seconds(-90) && settings.clockSkew == .seconds(60))
    #expect(settings.mostPerDevice == nil && settings.requestsPerConnection == 7)
    let kept = try #require(settings.key("KEY4567890"))
    #expect(kept.publicKey.rawRepresentation == key.rawRepresentation)
    #expect(kept.topics == ["chat"] && kept.related == "OTHER67890" && kept.environment == nil)
  }

  @Test(arguments: [
    (#"{"latncy":1}"#, "/latncy"), (#"{"streams":-1}"#, "/streams"), (#"{"streams":1.5}"#, "/streams"),
    (#"{"streams":"many"}"#, "/streams"), (#"{"streams":null}"#, "/streams"), (#"{"window":0}"#, "/window"),
    (#"{"tokenDigits":201}"#, "/tokenDigits"), (#"{"mostPerDevice":0}"#, "/mostPerDevice"),
    (#"{"clockSkew":-1}"#, "/clockSkew"), (#"{"clockOffset":1e300}"#, "/clockOffset"),
    (#"{"latency":[2,1]}"#, "/latency"), (#"{"latency":[1,2,3]}"#, "/latency"), (#"{"latency":3601}"#, "/latency"),
    (#"{"latency":-1}"#, "/latency"), (#"{"environment":"moon"}"#, "/environment"), (#"{"topics":[1]}"#, "/topics/0"),
    (#"{"keys":[{"id":"A","publicKey":"x"}]}"#, "/keys/0/team"),
    (#"{"streams":7,"keys":[{"id":"A","team":"B","publicKey":"x"}]}"#, "/keys/0/publicKey"),
  ])
  func `an error names the wrong setting, and nothing changes`(_ patch: String, _ pointer: String) throws {
    var settings = AppleSimulator.Settings()
    let before = text(settings)
    let error = try #require(throws: RequestError.self) { try settings.change(members(patch)) }
    #expect(error.at == pointer && error.status == 422)
    #expect(error.message.hasPrefix("\(pointer.split(separator: "/").last ?? ""): "))
    #expect(text(settings) == before)
  }

  @Test(arguments: [
    #"{"action":"hang","share":1}"#, #"{"action":"goAway","share":0.5,"times":3}"#,
    #"{"action":"resetStream","code":2,"share":1,"tokens":["ab"]}"#, #"{"action":"resetConnection","share":1}"#,
    #"{"action":"answer","reason":"Unregistered","share":1,"status":410,"timestamp":5}"#,
    #"{"action":"answer","reason":"Busy","retryAfter":7,"share":1,"status":599}"#,
  ])
  func `a decoded fault is encoded unchanged`(_ body: String) throws {
    #expect(text(try JSONDecoder.value(AppleSimulator.Fault.self, from: Array(body.utf8))) == body)
  }

  @Test func `a fault has default values`() throws {
    let body = #"{"action":"answer","reason":"BadTopic","tokens":["AB"]}"#
    let fault = try JSONDecoder.value(AppleSimulator.Fault.self, from: Array(body.utf8))
    #expect(fault == .init(.answer(.init(.badTopic)), tokens: ["ab"]))
    let reset = try JSONDecoder.value(AppleSimulator.Fault.self, from: Array(#"{"action":"resetStream"}"#.utf8))
    #expect(reset == .init(.resetStream(code: 2)))
  }

  @Test(arguments: [
    ("{}", "/action"), (#"{"action":"explode"}"#, "/action"), (#"{"action":"answer"}"#, "/reason"),
    (#"{"action":"answer","reason":"Busy"}"#, "/status"),
    (#"{"action":"answer","reason":"Busy","status":600}"#, "/status"),
    (#"{"action":"answer","reason":"BadTopic","retryAfter":-1}"#, "/retryAfter"),
    (#"{"action":"hang","share":1.5}"#, "/share"), (#"{"action":"hang","times":0}"#, "/times"),
    (#"{"action":"hang","times":1.5}"#, "/times"),
    (#"{"action":"resetStream","code":4294967296}"#, "/code"), (#"{"action":"hang","tokens":"ab"}"#, "/tokens"),
    ("[]", ""),
  ])
  func `an error names the wrong member of a fault`(_ body: String, _ pointer: String) throws {
    let error = try #require(throws: RequestError.self) {
      try JSONDecoder.value(AppleSimulator.Fault.self, from: Array(body.utf8))
    }
    #expect(error.at == pointer && error.status == 422)
  }

  @Test(arguments: ["", "{", #"{"action":"hang","action":"hang"}"#, String(repeating: "[", count: 1000)])
  func `a body that is not JSON is an error with status 400`(_ body: String) throws {
    let error = try #require(throws: RequestError.self) {
      try JSONDecoder.value(AppleSimulator.Fault.self, from: Array(body.utf8))
    }
    #expect(error.status == 400)
  }

  @Test func `the JSON of a phone contains its script and unchanged payloads`() throws {
    let script = #"{"isOn":false,"topics":["chat"],"unregistered":5,"shown":[]}"#
    var phone = AppleSimulator.Phone(
      try JSONDecoder.value(AppleSimulator.Phone.Script.self, from: Array(script.utf8)))
    let payload = #"{"aps":{"alert":"a/b","badge":1.50}, "list":[null,true]}"#
    phone.stored["chat"] = .init(
      id: "1", bundle: "chat", collapseID: nil, expiration: 0, time: Timestamp(rawValue: 7),
      payload: Array(payload.utf8))
    #expect(
      String(decoding: phone.json, as: UTF8.self) == """
        {"isOn":false,"topics":["chat"],"unregistered":5,\
        "stored":[{"id":"1","topic":"chat","expiration":0,"time":7,"payload":\(payload)}],"shown":[]}
        """)
    let usual = AppleSimulator.Phone(try JSONDecoder.value(AppleSimulator.Phone.Script.self, from: Array("{}".utf8)))
    #expect(usual == AppleSimulator.Phone())
  }
}
