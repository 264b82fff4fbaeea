// SPDX-License-Identifier: Apache-2.0
import NIOCore

#if canImport(NIOTransportServices)
  import NIOTransportServices
  import Network

  /// Network.framework: the system's trust, proxies, and the way from one network to the next.
  enum Transport {
    enum Trust { case system }

    /// Lives as long as the process.
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
      /// Of tests: what the system trusts is not theirs to change.
      case these([NIOSSLCertificate])
    }

    /// Lives as long as the process.
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
              // The name of a server is none where it is an address (RFC 6066, section 3).
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
