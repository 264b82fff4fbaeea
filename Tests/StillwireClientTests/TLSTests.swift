// SPDX-License-Identifier: Apache-2.0
import NIOCore
import NIOSSL
import Testing

@testable import AppleSimulator
@testable import StillwireClient

#if !canImport(NIOTransportServices)
  /// Who a client speaks to over TLS. On Apple's systems that is the system's to decide.
  @Suite(.timeLimit(.minutes(5))) struct TLSTests {
    private let certificates: [NIOSSLCertificate]
    private let server: NIOSSLContext

    /// A certificate of a server on 127.0.0.1, which nobody vouches for.
    init() throws {
      let identity = try AppleSimulator.makeIdentity(for: "localhost")
      certificates = try NIOSSLCertificate.fromPEMBytes(Array(identity.certificates.utf8))
      let key = try NIOSSLPrivateKey(bytes: Array(identity.key.utf8), format: .pem)
      server = try NIOSSLContext(
        configuration: .makeServerConfiguration(
          certificateChain: certificates.map { .certificate($0) }, privateKey: .privateKey(key)))
    }

    /// What the first socket tells first, of a server that says `{}`.
    private func firstEvent(host: String, trusting trust: Transport.Trust) async throws -> SocketEvent? {
      let bytes = [0x81, 0x02] + Array("{}".utf8)
      return try await HostileServer.serve(
        .upgradeAtOnce, bytes: bytes, host: host, tls: server
      ) { address in
        #expect(address.isSecure)
        let (events, continuation) = AsyncStream.makeStream(of: SocketEvent.self)
        let connector = WebSocketConnector(address: address, largestMessage: 1_024, trust: trust)
        let channel = try await connector.connect(on: Transport.loop) { continuation.yield($0) }
        defer { channel.close(promise: nil) }
        return await events.first { _ in true }
      }
    }

    @Test func `a relay whose certificate is trusted is spoken to`() async throws {
      #expect(try await firstEvent(host: "127.0.0.1", trusting: .these(certificates)) == .textArrived(Array("{}".utf8)))
    }

    @Test func `a relay whose certificate nobody vouches for is not spoken to`() async {
      await #expect(throws: NIOSSLError.self) { try await firstEvent(host: "127.0.0.1", trusting: .system) }
    }

    @Test func `a relay whose certificate is another server's is not spoken to`() async {
      await #expect(throws: NIOSSLExtraError.self) {
        try await firstEvent(host: "127.0.0.2", trusting: .these(certificates))
      }
    }

    @Test func `an app hears of it as of any relay that is not there`() async throws {
      try await HostileServer.serve(.upgradeAtOnce, bytes: HostileServer.finalGoodbye, tls: server) { address in
        try await withClient(of: "ann", at: address) { client in
          let end = await client.events().first { event in
            switch event {
            case .stateChanged(.waiting), .stateChanged(.refused): true
            default: false
            }
          }
          // What such a server says is not heard.
          guard case .stateChanged(.waiting) = end else {
            Issue.record("\(String(describing: end))")
            return
          }
        }
      }
    }
  }
#endif
