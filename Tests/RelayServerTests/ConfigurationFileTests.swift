// SPDX-License-Identifier: Apache-2.0
import RelayCommands
import RelayIdentity
import RelayPush
import RelayStore
import Testing

@testable import RelayRequests
@testable import RelayServer

/// `ConfigurationFile`: its types, its lists of objects, and its errors.
@Suite struct ConfigurationFileTests {
  private static func file(_ text: String) throws(StartupError) -> ConfigurationFile {
    try ConfigurationFile(Array(text.utf8), path: "/etc/relay.json")
  }

  @Test(arguments: [
    (#"{"address":5}"#, "/address: must be a string"),
    (#"{"logLevel":true}"#, "/logLevel: must be a string"),
    (#"{"data":1}"#, "/data: must be a string"),
    (#"{"data":""}"#, "/data: must not be empty"),
    (#"{"port":"80"}"#, "/port: must be a number"),
    (#"{"port":null}"#, "/port: must be a number"),
    (#"{"limits":{"history":[]}}"#, "/limits/history: must be a number"),
    (#"{"openToNetwork":1}"#, "/openToNetwork: must be true or false"),
    (#"{"hosts":"a"}"#, "/hosts: must be a list of strings"),
    (#"{"hosts":["a","b c"]}"#, "/hosts/1: must be a string without spaces"),
    (#"{"rooms":1}"#, "/rooms: must be a list of objects"),
    (#"{"rooms":{"invitation":"none"}}"#, "/rooms/invitation: is not known here; did you mean invitations?"),
    (#"{"rooms":[1]}"#, "/rooms/0: must be an object"),
    (#"{"rooms":[{"history":{"count":true}}]}"#, "/rooms/0/history/count: must be a number"),
    (#"{"rooms":[{"history.count":5}]}"#, "/rooms/0/history.count: is not known here"),
    (#"{"limits":5}"#, "/limits: must be an object"),
    (#"{"prot":1}"#, "/prot: is not known here; did you mean port?"),
    (#"{"config":"a"}"#, "/config: is not known here"),
    (
      #"{"limits.sendRate":5,"limits":{"sendRate":6}}"#,
      "/limits.sendRate: must be sendRate in limits, because the file has both"
    ),
    (
      #"{"limits":{},"limits.sendRate":5}"#, "/limits.sendRate: must be sendRate in limits, because the file has both"
    ),
    (
      #"{"rooms":[{"match":"a","history.count":5,"history":{"age":6}}]}"#,
      "/rooms/0/history.count: must be count in history, because the file has both"
    ),
    (#"{"secretFile":"a"}"#, "/secretFile: is not known here"),
    (#"{"limits":{"sendrate":1}}"#, "/limits/sendrate: is not known here; did you mean sendRate?"),
    (
      #"{"apps":[{"credential":{"keyfile":"a"}}]}"#,
      "/apps/0/credential/keyfile: is not known here; did you mean keyFile?"
    ),
    (#"{"apiKeyScopes":[{"rooms":["a b"]}]}"#, "/apiKeyScopes/0/rooms/0: must be a string without spaces"),
    (#"{"apiKeyScopes":[{"rate":"1"}]}"#, "/apiKeyScopes/0/rate: must be a number"),
  ])
  func `a file with a wrong type or an unknown key is an error with its position`(text: String, message: String) {
    let error = startupError { () throws(StartupError) in _ = try Self.file(text) }
    #expect(error == "/etc/relay.json: \(message)")
  }

  @Test(arguments: [
    (#"{"rooms":[{"push":true}]}"#, "/rooms/0/match: match is missing"),
    (#"{"rooms":[{"match":"a","history":{"age":-1}}]}"#, "/rooms/0/history/age: age must be from 0 to 3153600000"),
    (
      #"{"rooms":[{"match":"a","history":{"count":5,"minimum":6}}]}"#,
      "/rooms/0/history/minimum: minimum exceeds `count` (5)"
    ),
    (
      #"{"apps":[{"app":"a","environment":"moon"}]}"#,
      "/apps/0/environment: environment must be one of production, sandbox"
    ),
    (#"{"texts":[{"language":"de_AT"}]}"#, "/texts/0/language: language is not a language tag, such as pt-BR"),
    (#"{"tokens":{"keys":[{"file":"a"}]}}"#, "/tokens/keys/0/algorithm: algorithm is missing"),
    (
      #"{"apiKeyScopes":[{"scope":"a","operations":["sendMesage"]}]}"#,
      "/apiKeyScopes/0/operations/0: operations/0 is not an operation; did you mean sendMessage?"
    ),
  ])
  func `a wrong object of a list is an error with its position`(text: String, message: String) throws {
    let file = try Self.file(text)
    let error = startupError { () throws(StartupError) in _ = try ServerConfiguration.read([:], file: file) }
    #expect(error == "/etc/relay.json: \(message)")
  }

  @Test(arguments: [
    (#"{"texts":[{"missedCall":"x"}]}"#, "/texts/0/language", "is missing"),
    (#"{"texts":[{"language":"de"},{"language":"DE"}]}"#, "/texts/1/language", "already"),
    (#"{"texts":[{"language":"de","messages":"%@ in %@"}]}"#, "/texts/0/messages", "at most 1"),
    (
      #"{"texts":[{"language":"de","missedCall":"\#(String(repeating: "x", count: 257))"}]}"#, "/texts/0/missedCall",
      "256"
    ),
    (#"{"texts":[{"language":"de","missedCal":"x"}]}"#, "/texts/0/missedCal", "did you mean missedCall?"),
    (#"{"apps":[{"app":"a","ringtone":""}]}"#, "/apps/0/ringtone", "name of a sound file"),
    (#"{"apps":[{"app":"a","ringtone":"a\"b"}]}"#, "/apps/0/ringtone", "name of a sound file"),
    (#"{"apps":[{"app":"a","credential":{"keyFile":"a.p8"}}]}"#, "/apps/0/credential/keyID", ""),
    (#"{"apps":[{"app":"a"},{"app":"a"}]}"#, "/apps/1/app", ""),
    (#"{"apps":[{"app":"a"},{"app":"b","topics":["b","a"]}]}"#, "/apps/1/topics/1", "topics/1 is a topic of a"),
    (#"{"apps":[{"app":"a","entitlements":["loud"]}]}"#, "/apps/0/entitlements/0", ""),
    (#"{"apps":[{"app":""}]}"#, "/apps/0/app", ""), (#"{"apps":[{"topics":["a"]}]}"#, "/apps/0/app", ""),
    (#"{"apps":[{"app":"a","topics":[]}]}"#, "/apps/0/topics", ""),
    (#"{"apps":[{"app":"a","credentials":{}}]}"#, "/apps/0/credentials", "did you mean credential?"),
    (#"{"rooms":[{"match":""}]}"#, "/rooms/0/match", ""), (#"{"rooms":[{"match":"a b"}]}"#, "/rooms/0/match", ""),
    (#"{"rooms":[{"match":"a","history":{"count":-1}}]}"#, "/rooms/0/history/count", ""),
    (#"{"rooms":[{"match":"a","history":{"count":1.5}}]}"#, "/rooms/0/history/count", ""),
    (#"{"rooms":[{"match":"a","history":{"cuont":1}}]}"#, "/rooms/0/history/cuont", ""),
    (#"{"rooms":[{"match":"a","history":{"count":0},"push":true}]}"#, "/rooms/0/push", ""),
    (#"{"rooms":[{"match":"a","memberList":-1}]}"#, "/rooms/0/memberList", ""),
    (#"{"rooms":[{"match":"a","members":"5"}]}"#, "/rooms/0/members", ""),
    (#"{"rooms":[{"match":"a","recipts":true}]}"#, "/rooms/0/recipts", ""),
    (#"{"rooms":[{"match":"a","can":["fly"]}]}"#, "/rooms/0/can", ""),
    (#"{"rooms":[{"match":"a*"},{"match":"b"},{"match":"a*"}]}"#, "/rooms/2/match", ""),
  ])
  func `a wrong value is an error with its position and words`(text: String, place: String, words: String) throws {
    let error = startupError { () throws(StartupError) in
      _ = try ServerConfiguration.read([:], file: Self.file(text))
    }
    #expect(error?.contains("\(place): ") == true && error?.contains(words) == true)
  }

  @Test func `a key with dots sets the same as nested objects`() throws {
    let file = try Self.file(#"{"limits.sendRate":5,"store.synchronous":"normal"}"#)
    #expect(file.values == ["limits.sendRate": "5", "store.synchronous": "normal"])
  }

  @Test(arguments: [
    #"{"rooms":[{"match":"a"}],"rooms.invitations":"none"}"#, #"{"rooms":{"invitations":"none"}}"#,
  ])
  func `a key may be a list and the beginning of another key`(text: String) throws {
    let file = try Self.file(text)
    #expect(file.values["rooms.invitations"] == "none")
    #expect(file.lists["rooms"]?.count == (text.contains("match") ? 1 : nil))
  }

  @Test(arguments: [("/", "a folder"), ("/dev/null", "a device")])
  func `a configuration that is no regular file is an error`(path: String, kind: String) {
    let error = startupError { () throws(StartupError) in _ = try ConfigurationFile(path: path) }
    #expect(error == "the configuration \(path) cannot be read: it is \(kind), and not a regular file")
  }

  @Test func `each list of objects accepts all of its members`() throws {
    let file = try Self.file(
      """
      {
        "tokens": {"keys": [{"algorithm": "HS256", "kid": "a", "file": "secret"}]},
        "rooms": [{
          "match": "a*", "history": {"count": 5, "age": 60, "minimum": 2}, "push": true, "preview": "none",
          "receipts": true, "memberList": 1, "members": 2, "can": ["join"]
        }],
        "apps": [{
          "app": "a", "topics": ["a"], "environment": "sandbox", "entitlements": ["voip"], "ringtone": "ring.caf",
          "credential": {"keyFile": "a.p8", "keyID": "k", "team": "t"},
          "matrix": {"url": "https://a.example/", "secretFile": "s"}
        }],
        "apiKeyScopes": [{
          "scope": "a", "operations": ["read", "sendMessage"], "rooms": ["a*"], "users": ["a*"], "rate": 0.5, "burst": 2
        }],
        "texts": [{"language": "de", "missedCall": "Verpasster Anruf", "messages": "%@ Nachrichten"}]
      }
      """)
    let configuration = try ServerConfiguration.read([:], file: file)
    #expect(configuration.identity.keys.map(\.path) == ["/etc/secret"])
    #expect(configuration.rooms.patterns.first?.policy.members == 2)
    #expect(configuration.rooms.patterns.first?.policy.history.minimum == 2)
    #expect(configuration.apps["a"]?.credential?.keyFile == "/etc/a.p8")
    #expect(configuration.identity.scopes["a"]?.rate == KeyRate(perSecond: 0.5, burst: 2))
    #expect(configuration.identity.scopes["a"]?.rights.include(operation: "listMessages") == true)
    #expect(configuration.pushTexts != .init())
  }
}
