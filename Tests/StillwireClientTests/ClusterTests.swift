// SPDX-License-Identifier: Apache-2.0
import RelayJSON
import Testing

@testable import StillwireClient
@testable import StillwireExtension

/// The Swift client with the nodes of a cluster, over HTTP and a socket. Tests/Conformance has the cases of the socket.
@Suite(.timeLimit(.minutes(15))) struct ClusterTests {
  /// An answer of a standby node.
  private static func answer(_ status: String, leader: String?) -> [UInt8] {
    let header = leader.map { "Stillwire-Leader: \($0)\r\nLocation: \($0)/v1/categories\r\n" } ?? ""
    return Array("HTTP/1.1 \(status)\r\n\(header)Content-Length: 0\r\nConnection: close\r\n\r\n".utf8)
  }

  private static func isUnreachable(_ error: any Error) -> Bool {
    (error as? StillwireError)?.code == .unreachable
  }

  @Test(arguments: ["307 Temporary Redirect", "503 Service Unavailable"])
  func `a request over HTTP reaches the leader that a standby node names`(_ status: String) async throws {
    let nobody = try #require(RelayAddress("http://127.0.0.1:1"))
    try await LiveRelay().serve { leader in
      let bytes = Self.answer(status, leader: leader.description)
      try await HostileServer.serve(.raw, bytes: bytes) { standby in
        for nodes in [[standby, leader], [standby, nobody, leader], [nobody, standby, leader], [nobody, leader]] {
          let api = RelayAPI(nodes, patience: patience) { .open("ann") }
          let found = try await api.categories()
          #expect(found != nil)
        }
      }
    }
  }

  @Test func `a request over HTTP follows no redirect to another host`() async throws {
    try await LiveRelay().serve { stranger in
      let bytes = Self.answer("307 Temporary Redirect", leader: stranger.description)
      try await HostileServer.serve(.raw, bytes: bytes) { standby in
        try await HostileServer.serve(.raw, bytes: Self.answer("503 Service Unavailable", leader: nil)) { other in
          let api = RelayAPI([standby, other], patience: patience) { .open("ann") }
          await #expect(performing: { _ = try await api.categories() }, throws: Self.isUnreachable)
        }
      }
    }
  }

  @Test func `a session begins with the leader that a standby node names`() async throws {
    try await LiveRelay().serve { leader in
      let bytes = Self.answer("503 Service Unavailable", leader: leader.description)
      try await HostileServer.serve(.raw, bytes: bytes) { standby in
        let silent = try #require(RelayAddress("http://127.0.0.1:1"))
        let change: (inout Stillwire.Configuration) -> Void = { $0.addresses = [standby, silent, leader] }
        try await withClient(of: "ann", at: standby, change) { client in
          try await client.room("tea").join()
          try await client.room("tea").send(text: "Kettle is on")
        }
      }
    }
  }

  @Test func `watched users are watched again after a reconnect`() async throws {
    let relay = LiveRelay()
    let port = try await relay.serve { UInt16($0.port) }
    let address = try #require(RelayAddress("http://127.0.0.1:\(port)"))
    try await withClient(of: "ann", at: address) { ann in
      let events = ann.events()
      try await relay.serve(port: port) { _ in
        await ann.connect()
        // A common room gives the right to watch.
        try await ann.room("tea").join()
        try await withClient(of: "bob", at: address) { try await $0.room("tea").join() }
        let watched = try await ann.watch(["bob"])
        #expect(watched.map(\.user) == ["bob"])
        try await ann.room("tea").leave(stay: true)
      }
      _ = await events.first { if case .stateChanged(.waiting) = $0 { true } else { false } }
      try await relay.serve(port: port) { _ in
        await ann.connect()
        try await withClient(of: "bob", at: address) { bob in
          try await bob.room("tea").join()
          let seen = await events.first {
            if case .frame(let frame) = $0 { frame.type == "presence" && frame["online"] == true } else { false }
          }
          #expect(seen != nil)
        }
      }
    }
  }
}
