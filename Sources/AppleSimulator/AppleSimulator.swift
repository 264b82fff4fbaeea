// SPDX-License-Identifier: Apache-2.0
import NIOCore
import NIOHTTP1
import NIOHTTP2
import NIOPosix
import NIOSSL
import RelayProtocol
import Synchronization

/// A simulator of Apple's push service, built from Apple's documentation, over HTTP/2 and TLS. Tests, benchmarks and
/// developers use it.
///
/// It makes the same checks and gives the same answers as Apple's service. It can inject faults, and it records the
/// requests. Safe to use from any thread.
///
///     var configuration = AppleSimulator.Configuration()
///     configuration.settings.acceptsAnyKey = true
///     let simulator = try await AppleSimulator.start(configuration)
///     // … connect a gateway that trusts simulator.certificates to 127.0.0.1, simulator.port
///     try await simulator.stop()
public final class AppleSimulator: Sendable {
  /// The maximum number of digits in a device token.
  public static let maxTokenLength = 200

  /// The port of the service.
  public let port: Int
  /// The certificate of the service in PEM: the only trust root that a client needs.
  public let certificates: String
  let service: Service
  let loops: [Loop]
  let group: MultiThreadedEventLoopGroup
  private let listener: any Channel

  /// Starts a simulator. It listens when this returns.
  /// - Throws: The system's error for the address, or the error of NIOSSL for the certificate.
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
      Loop($0, service: service, maxArrivals: configuration.maxArrivals, idleTime: idleTime)
    }
    let tls = try Self.tls(identity)
    let maxConnections = configuration.maxConnections
    let listener = try await ServerBootstrap(group: group)
      .serverChannelOption(.backlog, value: 256)
      .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
      .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
      .childChannelInitializer { channel in
        guard service.openConnections.load(ordering: .relaxed) < maxConnections else { return channel.close() }
        service.openConnections.add(1, ordering: .relaxed)
        channel.closeFuture.whenComplete { _ in service.openConnections.subtract(1, ordering: .relaxed) }
        return channel.eventLoop.makeCompletedFuture {
          guard let loop = loops.first(where: { $0.eventLoop === channel.eventLoop }) else {
            preconditionFailure("an event loop of the group has no state")
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
    // A client that has not received the limit yet may open this many streams. They are refused, and their bodies
    // arrive.
    http2.maximumRecentlyResetStreams = Settings.maxStreams
    http2.initialSettings = [
      HTTP2Setting(parameter: .maxConcurrentStreams, value: 1),
      HTTP2Setting(parameter: .maxHeaderListSize, value: Connection.maxHeaders),
      HTTP2Setting(parameter: .initialWindowSize, value: loop.settings.window),
    ]
    let pipeline = channel.pipeline.syncOperations
    try pipeline.addHandler(NIOSSLServerHandler(context: tls))
    try pipeline.addHandler(
      NIOHTTP2Handler(mode: .server, frameDelegate: connection, connectionConfiguration: http2))
    try pipeline.addHandler(connection)
  }

  /// Sends GOAWAY on all connections, then closes them.
  public func stop() async throws {
    try? await listener.close()
    await goAway()
    try await group.shutdownGracefully()
  }
}
