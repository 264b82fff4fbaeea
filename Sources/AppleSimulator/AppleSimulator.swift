// SPDX-License-Identifier: Apache-2.0
import NIOCore
import NIOHTTP1
import NIOHTTP2
import NIOPosix
import NIOSSL
import RelayProtocol
import Synchronization

/// Apple's push service as its pages describe it, over HTTP/2 and TLS, for tests, benches and development.
///
/// It checks what Apple's service checks and answers in its words; it goes wrong on command; and it tells what arrived.
/// Any thread.
///
///     var configuration = AppleSimulator.Configuration()
///     configuration.settings.acceptsAnyKey = true
///     let simulator = try await AppleSimulator.start(configuration)
///     // … a gateway that trusts simulator.certificates talks to 127.0.0.1, simulator.port
///     try await simulator.stop()
public final class AppleSimulator: Sendable {
  /// Digits of a device token at most.
  public static let longestToken = 200

  /// Where it listens.
  public let port: Int
  /// What it proves itself with, as PEM: the only trust root that a client needs.
  public let certificates: String
  let service: Service
  let loops: [Loop]
  let group: MultiThreadedEventLoopGroup
  private let listener: any Channel

  /// Listens when it returns. Throws what the system says of the address, or NIOSSL of the certificate.
  public static func start(_ configuration: Configuration = Configuration()) async throws -> AppleSimulator {
    let group = MultiThreadedEventLoopGroup(numberOfThreads: configuration.threads)
    do {
      return try await AppleSimulator(configuration, group: group)
    } catch {
      try? await group.shutdownGracefully()
      throw error
    }
  }

  private init(_ configuration: Configuration, group: MultiThreadedEventLoopGroup) async throws {
    let identity = try configuration.identity ?? Self.makeIdentity(for: configuration.host)
    let service = Service(configuration.settings, clock: configuration.now)
    let idleTime = TimeAmount.nanoseconds(configuration.idleTime.nanoseconds)
    let loops = group.makeIterator().map {
      Loop($0, service: service, mostArrivals: configuration.mostArrivals, idleTime: idleTime)
    }
    let tls = try Self.tls(identity)
    let mostConnections = configuration.mostConnections
    let listener = try await ServerBootstrap(group: group)
      .serverChannelOption(.backlog, value: 256)
      .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
      .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
      .childChannelInitializer { channel in
        guard service.openConnections.load(ordering: .relaxed) < mostConnections else { return channel.close() }
        service.openConnections.add(1, ordering: .relaxed)
        channel.closeFuture.whenComplete { _ in service.openConnections.subtract(1, ordering: .relaxed) }
        return channel.eventLoop.makeCompletedFuture {
          guard let loop = loops.first(where: { $0.eventLoop === channel.eventLoop }) else {
            preconditionFailure("every event loop of the group has its state")
          }
          try Self.add(to: channel, loop: loop, tls: tls)
        }
      }
      .bind(host: configuration.host, port: configuration.port).get()
    self.service = service
    self.loops = loops
    self.group = group
    certificates = identity.certificates
    port = listener.localAddress?.port ?? configuration.port
    self.listener = listener
  }

  private static func tls(_ identity: (certificates: String, key: String)) throws -> NIOSSLContext {
    let chain = try NIOSSLCertificate.fromPEMBytes(Array(identity.certificates.utf8))
    let key = try NIOSSLPrivateKey(bytes: Array(identity.key.utf8), format: .pem)
    var configuration = TLSConfiguration.makeServerConfiguration(
      certificateChain: chain.map { .certificate($0) }, privateKey: .privateKey(key))
    configuration.minimumTLSVersion = .tlsv12
    configuration.applicationProtocols = ["h2"]
    return try NIOSSLContext(configuration: configuration)
  }

  private static func add(to channel: any Channel, loop: Loop, tls: NIOSSLContext) throws {
    let connection = Connection(number: loop.service.nextConnection(), loop: loop)
    var http2 = NIOHTTP2Handler.ConnectionConfiguration()
    // A client that knows no limit yet may have opened so many that are refused, and goes on with their bodies.
    http2.maximumRecentlyResetStreams = Settings.mostStreams
    http2.initialSettings = [
      HTTP2Setting(parameter: .maxConcurrentStreams, value: 1),
      HTTP2Setting(parameter: .maxHeaderListSize, value: Connection.longestHeaders),
      HTTP2Setting(parameter: .initialWindowSize, value: loop.settings.window),
    ]
    let pipeline = channel.pipeline.syncOperations
    try pipeline.addHandler(NIOSSLServerHandler(context: tls))
    try pipeline.addHandler(
      NIOHTTP2Handler(mode: .server, frameDelegate: connection, connectionConfiguration: http2))
    try pipeline.addHandler(connection)
  }

  /// Says goodbye to all connections, then closes them.
  public func stop() async throws {
    try? await listener.close()
    await goAway()
    try await group.shutdownGracefully()
  }
}
