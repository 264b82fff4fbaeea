// SPDX-License-Identifier: Apache-2.0
import Configuration
import Logging
import RelayCommands
import RelayDelivery
import RelayGateways
import RelayHub
import RelayIdentity
import RelayProtocol
import RelayStore
import Testing

@testable import RelayRequests
@testable import RelayServer

/// The settings: parsing, errors, names, defaults and environment variables.
@Suite struct SettingTests {
  static let good: [(key: String, text: String, isSet: @Sendable (ServerConfiguration) -> Bool)] = [
    ("address", "::1", { $0.address == "::1" }),
    ("web", "pages", { $0.webFolder == "pages" }),
    ("port", "0", { $0.port == 0 }),
    ("port", "65535", { $0.port == 65_535 }),
    ("logLevel", "debug", { $0.logLevel == .debug }),
    ("store.synchronous", "normal", { $0.synchronous == .normal }),
    ("metrics.open", "true", { $0.isMetricsOpen }),
    ("simulatedPhones", "false", { $0.takesSimulators == false }),
    ("presence.grace", "0.5", { $0.presenceGrace == .milliseconds(500) }),
    ("presence.reconnect", "60", { $0.presenceReconnect == .seconds(60) }),
    ("zoneFolder", "zones", { $0.zoneFolder == "zones" }),
    ("drain.delay", "0", { $0.drainDelay == .zero }),
    ("tokens.maxLifetime", "60", { $0.identity.policy.maxLifetime == .seconds(60) }),
    ("connections.idleTimeout", "5", { $0.connections.idleTimeout == .seconds(5) }),
    ("connections.unsent", "1099511627776", { $0.connections.unsent == 1 << 40 }),
    ("connections.streamsPerKey", "10000", { $0.streamsPerKey == 10_000 }),
    ("audit.retention", "1", { $0.audit.retention == .seconds(1) }),
    ("audit.entries", "0", { $0.audit.maxEntries == 0 }),
    ("rooms.invitations", "all", { $0.invitations == .all }),
    ("rooms.invitations", "none", { $0.invitations == .none }),
    ("limits.newPeoplePerDay", "0", { $0.limits.newPeoplePerDay == 0 }),
    ("audit.operations", "write exportUser", { $0.audit.operations == ["write", "exportUser"] }),
    ("origins", "https://a.example  https://b.example", { $0.origins == ["https://a.example", "https://b.example"] }),
    ("origins", "https://App.Example.org", { $0.origins == ["https://App.Example.org"] }),
    (
      "origins", "capacitor://localhost http://[::1]:8080 http://localhost:3000 null",
      { $0.origins == ["capacitor://localhost", "http://[::1]:8080", "http://localhost:3000", "null"] }
    ),
    ("origins", "", { $0.origins.isEmpty }),
    ("trustedProxies", "::1 10.0.0.0/8", { $0.connections.trustedProxies == ["::1", "10.0.0.0/8"] }),
    ("webPush.allowedAddresses", "10.0.0.0/8", { $0.webPush.service.allowedAddresses.count == 1 }),
    ("webPush.origins", "push.example.org", { $0.webPush.services != .init() }),
    ("tokens.keys", "HS256:a:secret ES256::key", { $0.identity.keys.map(\.path) == ["secret", "key"] }),
    ("limits.history", "10000", { $0.limits.history == 10_000 }),
    ("limits.heartbeat", "0.1", { $0.limits.heartbeat == 0.1 }),
    ("limits.heartbeat", "1.5e1", { $0.limits.heartbeat == 15 }),
    ("pace.messages", "0", { $0.pace.messages == 0 }),
    ("pace.critical", "1", { $0.pace.critical == 1 }),
    ("pace.calls", "10000", { $0.pace.calls == 10_000 }),
    ("secretFile", "a", { $0.identity.secretFile == "a" }),
    ("tokens.secretFile", "a", { $0.identity.secretFile == "a" }),
  ]

  @Test(arguments: good.indices)
  func `a value of each type sets its part of the configuration`(index: Int) throws {
    let (key, text, isSet) = Self.good[index]
    #expect(isSet(try ServerConfiguration.read([key: text])), "\(key) = \(text)")
  }

  @Test func `the short name of the secret has precedence over the key`() throws {
    let configuration = try ServerConfiguration.read(["secretFile": "short", "tokens.secretFile": "long"])
    #expect(configuration.identity.secretFile == "short")
  }

  @Test(arguments: [
    ("port", "65536", "port must be a whole number from 0 to 65535, not 65536"),
    ("port", "-1", "port must be a whole number from 0 to 65535, not -1"),
    ("port", "80.5", "port must be a whole number from 0 to 65535, not 80.5"),
    ("port", "0x50", "port must be a whole number from 0 to 65535, not 0x50"),
    ("port", "0x1p4", "port must be a whole number from 0 to 65535, not 0x1p4"),
    ("port", "nan", "port must be a whole number from 0 to 65535, not nan"),
    ("port", " 80", "port must be a whole number from 0 to 65535, not  80"),
    ("presence.grace", "0x1p3", "presence.grace must be a number from 0 to 3600, not 0x1p3"),
    ("limits.history", "0x10", "limits.history must be a whole number from 1 to 10000, not 0x10"),
    ("port", "", "port must be a whole number from 0 to 65535, not "),
    ("presence.grace", "soon", "presence.grace must be a number from 0 to 3600, not soon"),
    ("presence.grace", "nan", "presence.grace must be a number from 0 to 3600, not nan"),
    ("presence.grace", "inf", "presence.grace must be a number from 0 to 3600, not inf"),
    ("tokens.maxLifetime", "59", "tokens.maxLifetime must be a whole number from 60 to 3153600000, not 59"),
    ("tokens.maxLifetime", "60.5", "tokens.maxLifetime must be a whole number from 60 to 3153600000, not 60.5"),
    ("limits.heartbeat", "0", "limits.heartbeat must be a number from 0.1 to 3600, not 0"),
    ("limits.sendRate", "-1", "limits.sendRate must be a number from 0 to 1000000, not -1"),
    ("apple.port", "0", "apple.port must be a whole number from 1 to 65535, not 0"),
    ("apple.connections", "65", "apple.connections must be a whole number from 1 to 64, not 65"),
    (
      "connections.requestsPerUser", "-1",
      "connections.requestsPerUser must be a whole number from 0 to 1000000, not -1"
    ),
    ("connections.unsent", "-1", "connections.unsent must be a whole number from 0 to 1099511627776, not -1"),
    (
      "connections.unsentPerUser", "1.5",
      "connections.unsentPerUser must be a whole number from 0 to 1099511627776, not 1.5"
    ),
    ("connections.most", "0", "connections.most must be a whole number from 1 to 1000000, not 0"),
    ("connections.perAddress", "1.5", "connections.perAddress must be a whole number from 0 to 1000000, not 1.5"),
    ("limits.sendRate", "1e7", "limits.sendRate must be a number from 0 to 1000000, not 1e7"),
    ("limits.history", "0", "limits.history must be a whole number from 1 to 10000, not 0"),
    ("pace.messages", "-1", "pace.messages must be a whole number from 0 to 10000, not -1"),
    ("pace.critical", "10001", "pace.critical must be a whole number from 0 to 10000, not 10001"),
    ("pace.calls", "0.5", "pace.calls must be a whole number from 0 to 10000, not 0.5"),
    ("connections.idleTimeout", "0", "connections.idleTimeout must be a number from 1 to 3600, not 0"),
    ("metrics.open", "1", "metrics.open must be true or false, not 1"),
    ("audit.retention", "0", "audit.retention must be a number from 1 to 3153600000, not 0"),
    ("audit.entries", "100000001", "audit.entries must be a whole number from 0 to 100000000, not 100000001"),
    (
      "audit.operations", "sendMesage",
      "audit.operations: sendMesage is not an operation of openapi.json, read, or write"
    ),
    ("store.synchronous", "Full", "store.synchronous must be full or normal, not Full"),
    ("rooms.invitations", "some", "rooms.invitations must be one of all, unknown, none, not some"),
    ("limits.invitations", "10001", "limits.invitations must be a whole number from 0 to 10000, not 10001"),
    (
      "logLevel", "loud",
      "logLevel must be one of trace, debug, info, notice, warning, error, critical, not loud"
    ),
    (
      "hosts", "a.example b:80",
      "hosts: b:80 is not a host name, such as relay.example.org; a port is not part of it"
    ),
    ("trustedProxies", "10.0.0.0/33", "trustedProxies: 10.0.0.0/33 is not an address or a network, such as 10.0.0.0/8"),
    (
      "webPush.allowedAddresses", "here",
      "webPush.allowedAddresses: here is not an address or a network, such as 10.0.0.0/8"
    ),
    (
      "webPush.origins", "https://a.example",
      "webPush.origins: https://a.example is not a host, such as push.example.org or push.example.org:8443"
    ),
    ("tokens.keys", "a", "tokens.keys: a is not ALGORITHM:KID:FILE with one of HS256, ES256, RS256, EdDSA, Ed25519"),
  ])
  func `the error for a wrong value contains the key and the range`(key: String, text: String, message: String) {
    #expect(startupError { () throws(StartupError) in _ = try ServerConfiguration.read([key: text]) } == message)
  }

  @Test(arguments: [
    ("https://a.example/", "https://a.example"), ("https://a.example/app?b#c", "https://a.example"),
    ("https://a.example:443", "https://a.example"), ("http://a.example:80", "http://a.example"),
    ("https://a.example:08443", "https://a.example:8443"), ("https://a.example:", "https://a.example"),
    ("https://ann@a.example", "https://a.example"), ("wss://a.example/v1/connect", "https://a.example"),
    ("a.example", "https://a.example"), ("App.Example:8443", "https://app.example:8443"),
    ("localhost:3000", "http://localhost:3000"), ("file:///index.html", "file://"), ("file:/index.html", "file://"),
    ("file:", "file://"),
  ])
  func `the error for an origin that never matches has the right form`(text: String, right: String) throws {
    let message = startupError { () throws(StartupError) in
      _ = try ServerConfiguration.read(["origins": "https://good.example \(text)"])
    }
    #expect(message == "origins: \(text) is not an origin as browsers send it: write \(right)")
    #expect(try ServerConfiguration.read(["origins": right]).origins == [right])
  }

  @Test(arguments: ["https://*.example.org", "*", "*.example.org"])
  func `an origin with a wildcard is an error`(text: String) {
    let message = startupError { () throws(StartupError) in _ = try ServerConfiguration.read(["origins": text]) }
    #expect(
      message
        == "origins: \(text) has a wildcard, which never matches: list each origin, such as https://app.example.org")
  }

  @Test(arguments: [
    "https://", "https://a:b", "https://a:70000", "https://b\u{fc}cher.example", "://a",
    "https://[::1",
  ])
  func `a text that is no origin is an error`(text: String) {
    let message = startupError { () throws(StartupError) in _ = try ServerConfiguration.read(["origins": text]) }
    #expect(message == "origins: \(text) is not an origin, such as https://app.example.org")
  }

  @Test func `the relay keeps an idle connection for longer than the pools of proxies do`() {
    // Caddy and other proxies in Go keep one for up to 120 s.
    #expect(ServerConfiguration().connections.idleTimeout > .seconds(120))
  }

  @Test func `a number of connections above the limit of open files is an error`() {
    let message = startupError { () throws(StartupError) in
      _ = try ServerConfiguration.read(["connections.most": "1000000"])
    }
    // A machine with a high limit accepts the number.
    #expect(message?.hasSuffix("raise ulimit -n") ?? true)
  }

  @Test(arguments: [
    "secretFile", "tokens.secretFile", "tokens.jwksFile", "apiKeysFile", "apple.caFile", "webPush.keyFile",
    "webPush.caFile", "cluster.credentialsFile", "cluster.caFile", "cluster.certificateFile", "cluster.keyFile",
  ])
  func `a path that leads to a folder or a device is no file`(key: String) throws {
    let setting = key == "secretFile" ? "tokens.secretFile" : key
    for (path, kind) in [("/", "a folder"), ("/dev/null", "a device")] {
      let message = startupError { () throws(StartupError) in _ = try ServerConfiguration.read([key: path]) }
      #expect(message == "\(setting): \(path) cannot be read: it is \(kind), and not a regular file")
    }
  }

  @Test func `each setting of a file refuses a folder`() {
    for setting in Setting.all where setting.isInFile && setting.shape.type == "file" {
      #expect(throws: StartupError.self, "\(setting.key)") { try ServerConfiguration.read([setting.key: "/"]) }
    }
  }

  @Test func `the names of keys, options and variables are unique`() {
    for names in [
      Setting.all.map(\.key), Setting.all.compactMap(\.option), Setting.all.flatMap(\.variables),
    ] {
      #expect(Set(names).count == names.count)
    }
  }

  @Test func `each default is within the range of its type`() throws {
    let start = ServerConfiguration()
    for setting in Setting.all where setting.isInFile {
      switch setting.shape.form {
      case .number, .flag: break
      case .text, .path, .texts, .objects: continue
      }
      let text = String(setting.standard.prefix { $0 != "," })
      guard Double(text) != nil || Bool(text) != nil else { continue }
      var configuration = try ServerConfiguration.read([setting.key: text])
      #expect(configuration.keep(fixedOf: start).isEmpty, "\(setting.key)")
    }
  }

  @Test func `each environment variable sets its key`() throws {
    for setting in Setting.all {
      let names = setting.alias.map { [$0, setting.key] } ?? [setting.key]
      for (variable, name) in zip(setting.variables, names) {
        let provider = KeyMappingProvider(
          upstream: EnvironmentVariablesProvider(environmentVariables: [variable: "text"])
        ) { $0.prepending(["stillwire"]) }
        #expect(ConfigReader(provider: provider).string(forKey: ConfigKey(name)) == "text", "\(variable)")
      }
    }
  }
}

/// Defaults of the configuration that the protocol also states.
@Suite struct DefaultsTests {
  @Test func `the default times are those of the protocol`() {
    let configuration = ServerConfiguration()
    #expect(configuration.presenceGrace == .seconds(10))
    #expect(configuration.presenceReconnect == .seconds(20))
    #expect(configuration.identity.grace == .seconds(25))
    #expect(configuration.identity.policy.requiresExpiry)
  }
}
