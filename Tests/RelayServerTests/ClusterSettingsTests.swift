// SPDX-License-Identifier: Apache-2.0
import RelayCluster
import RelayIdentity
import RelayNATS
import Testing

@testable import RelayServer

@Suite struct ClusterSettingsTests {
  private func read(_ values: [String: String]) throws -> ClusterSettings {
    try ServerConfiguration.read(
      values.merging(["cluster.node": "a", "cluster.url": "http://a:8080/"]) { own, _ in own }
    )
    .cluster
  }

  @Test func `a relay without servers is a single node`() throws {
    #expect(try !ServerConfiguration.read([:]).cluster.isOn)
    #expect(try read(["cluster": "nats://a:4222"]).isOn)
  }

  @Test(arguments: ["nats://a:1,nats://b:1,nats://c:1", "nats://a:1 nats://b:1, nats://c:1"])
  func `commas and spaces separate the servers`(_ servers: String) throws {
    let settings = try read(["cluster": servers])
    #expect(settings.servers == ["nats://a:1", "nats://b:1", "nats://c:1"])
    let nats = try settings.nats(settings.leader())
    #expect(nats.servers == "nats://a:1,nats://b:1,nats://c:1")
    #expect(nats.replicas == 3)
    #expect(try settings.leader().url == "http://a:8080")
  }

  @Test func `a record has one copy with fewer than three servers, unless the setting requires more`() throws {
    #expect(try read(["cluster": "nats://a:1,nats://b:1"]).nats(read([:]).leader()).replicas == 1)
    #expect(try read(["cluster": "nats://a:1", "cluster.replicas": "5"]).nats(read([:]).leader()).replicas == 5)
    #expect(throws: StartupError.self) { try read(["cluster.replicas": "2"]) }
  }

  @Test(arguments: ["http://a:1", "a:4222", "nats://"])
  func `a server has the scheme nats or tls`(_ server: String) {
    #expect(throws: StartupError.self) { try read(["cluster": server]) }
  }

  @Test(arguments: [
    ("cluster.node", "a.b"), ("cluster.node", ""), ("cluster.node", String(repeating: "a", count: 33)),
    ("cluster.url", "a:8080"), ("cluster.url", "http://a b"), ("cluster.name", "a.b"), ("cluster.keyFile", "key"),
  ])
  func `a wrong setting is an error`(_ key: String, _ value: String) throws {
    let settings = try read([key: value])
    #expect(throws: StartupError.self) { try settings.nats(settings.leader()) }
  }

  @Test func `the sizes of the streams follow the settings`() throws {
    let settings = try read(["cluster.maxLog": "100000000", "cluster.maxSnapshots": "200000000"])
    let nats = try settings.nats(settings.leader())
    #expect(nats.maxLogBytes == 100_000_000)
    #expect(nats.maxSnapshotBytes == 200_000_000)
    #expect(throws: StartupError.self) { try read(["cluster.maxLog": "1000"]) }
  }

  @Test func `the URL of the node is required`() throws {
    let settings = try ServerConfiguration.read(["cluster": "nats://a:1", "cluster.node": "a"]).cluster
    #expect(throws: StartupError.self) { try settings.leader() }
  }
}
