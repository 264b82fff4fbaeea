// SPDX-License-Identifier: Apache-2.0
import RelayIdentity
import RelayProtocol
import Testing

@testable import RelayServer

/// The values that a reload applies, and the values that it keeps.
@Suite struct ReloadTests {
  /// The keys whose change needs a restart, with a value that differs from the default.
  static let fixed = [
    "address": "::1", "port": "1", "data": "other", "web": "other", "origins": "https://a.example",
    "hosts": "a.example", "openToNetwork": "true", "logLevel": "debug", "drain.delay": "7", "connections.most": "7",
    "connections.perAddress": "7", "connections.requestsPerUser": "7", "connections.unsentPerUser": "7",
    "connections.unsent": "7", "connections.idleTimeout": "100", "trustedProxies": "::1", "store.synchronous": "normal",
    "apple.host": "a.example", "apple.port": "7", "apple.caFile": "a", "apple.connections": "7", "webPush.caFile": "a",
    "webPush.allowedAddresses": "10.0.0.0/8", "presence.reconnect": "7", "cluster.servers": "nats://a:1",
    "cluster.name": "a", "cluster.node": "a", "cluster.url": "http://a", "cluster.replicas": "3",
    "cluster.maxLog": "100000000", "cluster.maxSnapshots": "200000000",
    "cluster.credentialsFile": "a",
    "cluster.caFile": "a", "cluster.certificateFile": "a", "cluster.keyFile": "a",
  ]

  @Test func `a reload applies all keys except those that need a restart`() {
    #expect(Set(Setting.all.filter { $0.needsRestart && $0.isInFile }.map(\.key)) == Set(Self.fixed.keys))
  }

  @Test(arguments: fixed.keys.sorted())
  func `a reload keeps a value that needs a restart, and reports its key`(key: String) throws {
    let running = ServerConfiguration()
    var configuration = try ServerConfiguration.read([key: #require(Self.fixed[key])])
    #expect(configuration.keep(fixedOf: running) == [key])
    #expect(configuration.keep(fixedOf: running).isEmpty)
  }

  @Test func `a reload applies the other values`() throws {
    var configuration = try ServerConfiguration.read([
      "limits.sendRate": "7", "presence.grace": "7", "metrics.open": "true",
    ])
    #expect(configuration.keep(fixedOf: ServerConfiguration()).isEmpty)
    #expect(configuration.limits.sendRate == 7)
    #expect(configuration.presenceGrace == .seconds(7))
    #expect(configuration.isMetricsOpen)
  }

  @Test func `a reload does not change open mode to tokens, or back`() throws {
    let tokens = try ServerConfiguration.read(["secretFile": "a", "tokens.audience": "b"])
    for (running, new) in [(ServerConfiguration(), tokens), (tokens, ServerConfiguration())] {
      var configuration = new
      #expect(configuration.keep(fixedOf: running) == ["tokens"])
      #expect(configuration.identity == running.identity)
    }
    var other = try ServerConfiguration.read(["secretFile": "other"])
    #expect(other.keep(fixedOf: tokens).isEmpty)
    #expect(other.identity.secretFile == "other")
  }
}
