// SPDX-License-Identifier: Apache-2.0
import RelayCore
import RelayDelivery
import RelayProtocol
import RelayPush

/// What a configuration file may hold under a key.
///
/// ``ServerConfiguration`` judges the values; here stands which keys there are and of which type, so that a
/// misspelled one is an error.
indirect enum ConfigurationKey: Sendable {
  case text, number, flag
  /// A file or a folder, relative to the configuration file.
  case path
  /// A list of texts without spaces.
  case texts
  /// A list of objects.
  case objects([String: ConfigurationKey])

  /// Every key, with dots between the names of objects.
  static let all: [String: ConfigurationKey] = {
    var keys: [String: ConfigurationKey] = [
      "address": .text, "port": .number, "data": .path, "web": .path, "origins": .texts, "hosts": .texts,
      "logLevel": .text,
      "openToNetwork": .flag, "simulatedPhones": .flag, "metrics.open": .flag, "presence.grace": .number,
      "drain.delay": .number,
      "store.synchronous": .text,
      "connections.most": .number, "connections.perAddress": .number,
      "connections.requestsPerUser": .number, "connections.unsentPerUser": .number, "connections.unsent": .number,
      "trustedProxies": .texts,
      "tokens.secretFile": .path, "tokens.keys": .objects(["algorithm": .text, "kid": .text, "file": .path]),
      "tokens.jwksFile": .path, "tokens.audience": .text, "tokens.issuer": .text, "tokens.requireExpiry": .flag,
      "tokens.grace": .number, "tokens.maxLifetime": .number, "apiKeysFile": .path,
      "rooms": .objects(RoomPatterns.keys), "apps": .objects(Apps.keys), "texts": .objects(PushTextTable.keys),
      "apple.host": .text, "apple.port": .number, "apple.caFile": .path, "apple.connections": .number,
      "webPush.keyFile": .path, "webPush.subject": .text, "webPush.origins": .texts, "webPush.caFile": .path,
      "webPush.allowedAddresses": .texts,
    ]
    for entry in Limits.entries { keys["limits.\(entry.name)"] = .number }
    return keys
  }()

  var noun: String {
    switch self {
    case .text, .path: "a string"
    case .number: "a number"
    case .flag: "true or false"
    case .texts: "a list of strings"
    case .objects: "a list of objects"
    }
  }
}

extension Apps {
  /// The keys of an app in a configuration file.
  static let keys: [String: ConfigurationKey] = [
    "app": .text, "topics": .texts, "environment": .text, "entitlements": .texts, "credential.keyFile": .path,
    "credential.keyID": .text, "credential.team": .text, "gateway.url": .text, "gateway.secretFile": .path,
    "ringtone": .text,
  ]
}

extension PushTextTable {
  /// The keys of one language in a configuration file.
  static let keys: [String: ConfigurationKey] = Dictionary(
    uniqueKeysWithValues: ["language"].map { ($0, .text) } + PushTextKey.allCases.map { ($0.field, .text) })
}
