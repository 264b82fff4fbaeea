// SPDX-License-Identifier: Apache-2.0
import NIOCore
import NIOSSL
import Testing

@testable import AppleSimulator
@testable import StillwireClient

#if !canImport(NIOTransportServices)
  /// The servers that a client trusts over TLS. On Apple's systems the system decides that.
  @Suite(.timeLimit(.minutes(15))) struct TLSTests {
    private let certificates: [NIOSSLCertificate]
    private let server: NIOSSLContext

    /// Makes a self-signed certificate for a server on 127.0.0.1.
    init() throws {
      let identity = try AppleSimulator.makeIdentity(for: "localhost")
      certificates = try NIOSSLCertificate.fromPEMBytes(Array(identity.certificates.utf8))
      let key = try NIOSSLPrivateKey(bytes: Array(identity.key.utf8), format: .pem)
      server = try NIOSSLContext(
        configuration: .makeServerConfiguration(
          certificateChain: certificates.map { .certificate($0) }, privateKey: .privateKey(key)))
    }

    /// Connects to a server that sends `{}`, and returns the first event of the socket.
    private func firstEvent(host: String, trusting trust: Transport.Trust) async throws -> SocketEvent? {
      let bytes = [0x81, 0x02] + Array("{}".utf8)
      return try await HostileServer.serve(
        .upgradeAtOnce, bytes: bytes, host: host, tls: server
      ) { address in
        #expect(address.isSecure)
        let (events, continuation) = AsyncStream.makeStream(of: SocketEvent.self)
        let connector = WebSocketConnector(maxMessageSize: 1_024, trust: trust)
        let channel = try await connector.connect(to: address, on: Transport.loop) { continuation.yield($0) }
        defer { channel.close(promise: nil) }
        return await events.first { _ in true }
      }
    }

    @Test func `the client connects to a relay with a trusted certificate`() async throws {
      #expect(try await firstEvent(host: "127.0.0.1", trusting: .these(certificates)) == .textArrived(Array("{}".utf8)))
    }

    @Test func `the client refuses a self-signed certificate`() async {
      await #expect(throws: NIOSSLError.self) { try await firstEvent(host: "127.0.0.1", trusting: .system) }
    }

    @Test func `the client refuses the certificate of another server`() async {
      await #expect(throws: NIOSSLExtraError.self) {
        try await firstEvent(host: "127.0.0.2", trusting: .these(certificates))
      }
    }

    @Test func `for an app an untrusted relay is the same as an unreachable one`() async throws {
      try await HostileServer.serve(.upgradeAtOnce, bytes: HostileServer.finalGoodbye, tls: server) { address in
        try await withClient(of: "ann", at: address) { client in
          let end = await client.events().first { event in
            switch event {
            case .stateChanged(.waiting), .stateChanged(.refused): true
            default: false
            }
          }
          // The client ignores the data of such a server.
          guard case .stateChanged(.waiting) = end else {
            Issue.record("\(String(describing: end))")
            return
          }
        }
      }
    }
  }
#endif
