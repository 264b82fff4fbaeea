// SPDX-License-Identifier: Apache-2.0
// Opens TCP and TLS connections: with Network.framework on Apple's systems, with NIOPosix and NIOSSL elsewhere.
import NIOCore

#if canImport(Network)
  import NIOTransportServices
  import Network

  /// Connections of Network.framework, with the system's certificates and proxies. They survive a change of the
  /// network.
  enum Transport {
    enum Trust { case system }

    /// An event loop that exists as long as the process.
    static var loop: any EventLoop { NIOTSEventLoopGroup.singleton.next() }

    static func connect<Output: Sendable>(
      to address: RelayAddress, trusting trust: Trust, on loop: any EventLoop, patience: TimeAmount,
      _ initialize: @escaping @Sendable (any Channel) throws -> Output
    ) async throws -> Output {
      var bootstrap = NIOTSConnectionBootstrap(group: loop).connectTimeout(patience)
      if address.isSecure { bootstrap = bootstrap.tlsOptions(NWProtocolTLS.Options()) }
      return try await bootstrap.connect(host: address.host, port: address.port) { channel in
        channel.eventLoop.makeCompletedFuture { try initialize(channel) }
      }
    }
  }
#else
  import NIOPosix
  import NIOSSL

  /// Sockets, and TLS by BoringSSL with the system's certificates.
  enum Transport {
    enum Trust {
      case system
      /// Only these root certificates, for tests: a test cannot change the certificates of the system.
      case these([NIOSSLCertificate])
    }

    /// An event loop that exists as long as the process.
    static var loop: any EventLoop { MultiThreadedEventLoopGroup.singleton.next() }

    static func connect<Output: Sendable>(
      to address: RelayAddress, trusting trust: Trust, on loop: any EventLoop, patience: TimeAmount,
      _ initialize: @escaping @Sendable (any Channel) throws -> Output
    ) async throws -> Output {
      var configuration = TLSConfiguration.makeClientConfiguration()
      if case .these(let roots) = trust { configuration.trustRoots = .certificates(roots) }
      let tls = address.isSecure ? try NIOSSLContext(configuration: configuration) : nil
      return try await ClientBootstrap(group: loop).connectTimeout(patience)
        .connect(host: address.host, port: address.port) { channel in
          channel.eventLoop.makeCompletedFuture {
            if let tls {
              // An IP address must not be sent as the server's name (RFC 6066, section 3).
              let isAddress = (try? SocketAddress(ipAddress: address.host, port: 0)) != nil
              try channel.pipeline.syncOperations.addHandler(
                NIOSSLClientHandler(context: tls, serverHostname: isAddress ? nil : address.host))
            }
            return try initialize(channel)
          }
        }
    }
  }
#endif
