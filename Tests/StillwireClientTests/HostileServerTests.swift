// SPDX-License-Identifier: Apache-2.0
import RelayJSON
import RelayProtocol
import Testing

@testable import StillwireClient

/// Hostile servers: the client closes the connection, and reconnects later.
@Suite(.timeLimit(.minutes(15))) struct HostileServerTests {
  private static let relay = HostileServer.Handshake.upgrade(subprotocol: "stillwire.v1.json")
  private static let many = 1_000_000

  static let table: [(name: String, HostileServer.Handshake, bytes: [UInt8], times: Int)] = [
    ("bytes that are not HTTP", .raw, Array("SSH-2.0-OpenSSH\r\n".utf8), 1),
    ("an answer without upgrade", .raw, Array("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok".utf8), 1),
    (
      "a redirection", .raw,
      Array("HTTP/1.1 302 Found\r\nLocation: http://example.org/\r\nContent-Length: 0\r\n\r\n".utf8), 1
    ),
    (
      "an upgrade with the accept value of another key", .raw,
      Array(
        """
        HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: upgrade\r\n\
        Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\nSec-WebSocket-Protocol: stillwire.v1.json\r\n\r\n
        """.utf8), 1
    ),
    (
      "a header without an end", .raw,
      Array("HTTP/1.1 101 Switching Protocols\r\nX: ".utf8) + [UInt8](repeating: 0x78, count: 200_000), 1
    ),
    ("headers without an end", .raw, Array("X-Header: value\r\n".utf8), many),
    ("no subprotocol", .upgrade(subprotocol: nil), [], 0),
    ("another subprotocol", .upgrade(subprotocol: "chat"), [], 0),
    ("bytes that are not a frame", relay, [0xFF, 0xFF, 0xFF, 0xFF], 1),
    ("a frame with a length of 8 EiB", relay, [0x81, 0x7F, 0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF], 1),
    ("a frame with a length of 16 MiB and a byte", relay, [0x81, 0x7F, 0, 0, 0, 0, 1, 0, 0, 1], 1),
    ("fragments without an end", relay, [0x01, 0x01, 0x7B] + [UInt8](repeating: 0, count: 0), 2),
    ("empty fragments without an end", relay, [0x00, 0x00], many),
    ("a text that is not UTF-8", relay, [0x81, 0x02, 0xC3, 0x28], 1),
    ("a text that is not JSON", relay, [0x81, 0x02, 0x68, 0x69], 1),
    ("a binary message", relay, [0x82, 0x02, 0x7B, 0x7D], 1),
    // The client answers pings, but a ping does not replace a welcome.
    ("only pings", relay, [0x89, 0x01, 0x21], 20_000),
    ("a ping that is too long", relay, [0x89, 0x7E, 0x00, 0x80] + [UInt8](repeating: 0, count: 128), 1),
  ]

  @Test(arguments: table.indices) func `invalid data only ends the connection`(_ index: Int) async throws {
    let (name, handshake, bytes, times) = Self.table[index]
    try await HostileServer.serve(handshake, bytes: bytes, times: times) { address in
      var configuration = Stillwire.Configuration(address) { _ in .open("ann") }
      configuration.clock = FastClock()
      let client = Stillwire(configuration)
      let events = client.events()
      let running = Task { await client.run() }
      let event = await events.first { if case .stateChanged(.waiting) = $0 { true } else { false } }
      #expect(event != nil, "\(name)")
      running.cancel()
      await running.value
      #expect(client.state == .closed)
    }
  }

  @Test func `the client reads frames that arrive together with the answer to the handshake`() async throws {
    try await HostileServer.serve(.upgradeAtOnce, bytes: HostileServer.finalGoodbye) { address in
      try await withClient(of: "ann", at: address) { client in
        let events = client.events()
        let end = await events.first { event in
          switch event {
          case .stateChanged(.waiting), .stateChanged(.refused): true
          default: false
          }
        }
        #expect(end == .stateChanged(.refused(Refusal(code: 4506, reason: "no"))))
      }
    }
  }

  @Test func `JSON that is nested too deeply is rejected`() {
    func nested(_ depth: Int) -> [UInt8] {
      Array(#"{"a":"#.utf8) + Array(repeating: UInt8(ascii: "["), count: depth)
        + Array(repeating: UInt8(ascii: "]"), count: depth) + Array("}".utf8)
    }
    #expect(Frame(reading: nested(250)) != nil)
    #expect(Frame(reading: nested(100_000)) == nil)
  }
}

/// A clock that runs ten times as fast as real time.
private struct FastClock: Clock {
  private let clock = ContinuousClock()
  private let start = ContinuousClock.now

  var now: ContinuousClock.Instant { start + (clock.now - start) * 10 }
  var minimumResolution: Duration { clock.minimumResolution * 10 }

  func sleep(until deadline: ContinuousClock.Instant, tolerance: Duration?) async throws {
    try await clock.sleep(until: start + (deadline - start) / 10, tolerance: tolerance)
  }
}
