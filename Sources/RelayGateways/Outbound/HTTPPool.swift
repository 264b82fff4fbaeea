// SPDX-License-Identifier: Apache-2.0
import Logging
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import RelayProtocol
import Synchronization

/// How a pool connects.
struct HTTPPoolSettings: Sendable {
  var tls: NIOSSLContext
  var clock: GatewayClock
  /// Whom it may reach; nil: whomever it is told.
  var policy: AddressPolicy?
  /// For a connection and an answer together.
  var timeout = Duration.seconds(10)
  /// Connections to one destination at most.
  var connections = 16
  /// Requests to one destination at most that wait for a connection: with those under way, as many as the queue of
  /// pushes hands over at once.
  var queue = 240
  /// For how long a connection is kept that nobody uses.
  var idle = Duration.seconds(30)
  /// Bytes of an answer's body: services answer with a few words.
  var maxAnswer = 16 * 1024
}

/// The connections to services of any number, and the requests that wait for one.
///
/// Nothing is followed or tried again here: a request is sent once, and its answer is of bounded size and time.
///
/// Safe to send: all that changes is touched on `loop` alone.
final class HTTPPool: @unchecked Sendable {
  private struct Lane {
    var connections: [Int: HTTPConnection] = [:]
    /// Connections that do not stand yet.
    var opening = 0
    var waiting = CircularBuffer<HTTPExchange>()

    var isUnused: Bool { connections.isEmpty && opening == 0 && waiting.isEmpty }
    /// Connections that may take a request soon.
    var coming: Int { opening + connections.values.count { !$0.isReady } }
  }

  private let loop: any EventLoop
  private let settings: HTTPPoolSettings
  private let reportFailure: @Sendable (HTTPDestination, any Error) -> Void
  private var lanes: [HTTPDestination: Lane] = [:]
  private var exchanges: [Int: HTTPExchange] = [:]
  private var nextNumber = 0
  private var isClosed = false

  /// - Parameter reportFailure: Receives each error of a connection, on the pool's event loop.
  init(settings: HTTPPoolSettings, reportFailure: @escaping @Sendable (HTTPDestination, any Error) -> Void) {
    loop = MultiThreadedEventLoopGroup.singleton.any()
    self.settings = settings
    self.reportFailure = reportFailure
  }

  /// Logs errors of connections at level debug: a push has its own result, and strangers name hosts, which must not fill
  /// the log.
  convenience init(settings: HTTPPoolSettings, log: Logger) {
    self.init(settings: settings) { destination, error in
      log.debug(
        "a connection of a gateway failed", metadata: ["service": "\(destination.authority)", "error": "\(error)"])
    }
  }

  /// Sends a request once. When the task is cancelled, what became of it is not known.
  func send(_ request: OutboundRequest) async -> HTTPResult {
    let promise = loop.makePromise(of: HTTPResult.self)
    let number = Mutex<Int?>(nil)
    loop.execute {
      let id = self.enqueue(request, promise)
      number.withLock { $0 = id }
    }
    return await withTaskCancellationHandler {
      // The promise is only ever fulfilled.
      (try? await promise.futureResult.get()) ?? .unknown(.connectionLost)
    } onCancel: {
      loop.execute { if let id = number.withLock({ $0 }) { self.giveUp(id, .cancelled) } }
    }
  }

  /// What is under way may be answered; nothing new is sent.
  func close() {
    loop.execute {
      self.isClosed = true
      for (destination, lane) in self.lanes {
        self.failWaiting(at: destination, .connectionLost)
        for connection in lane.connections.values where connection.isIdle { connection.close() }
      }
    }
  }

  // MARK: Requests

  private func enqueue(_ request: OutboundRequest, _ promise: EventLoopPromise<HTTPResult>) -> Int {
    loop.preconditionInEventLoop()
    nextNumber += 1
    let id = nextNumber
    let exchange = HTTPExchange(id: id, request: request, promise: promise)
    let waiting = lanes[request.destination]?.waiting.count ?? 0
    guard !isClosed, waiting < settings.queue else {
      exchange.end(.unprocessed(isClosed ? .connectionLost : .tooManyWaiting))
      return id
    }
    exchange.deadline = loop.scheduleTask(in: TimeAmount(settings.timeout)) { self.giveUp(id, .timeout) }
    promise.futureResult.whenComplete { _ in self.exchanges[id] = nil }
    exchanges[id] = exchange
    lanes[request.destination, default: Lane()].waiting.append(exchange)
    pump(request.destination)
    return id
  }

  private func giveUp(_ id: Int, _ reason: GatewayReason) {
    loop.preconditionInEventLoop()
    guard let exchange = exchanges[id] else { return }
    if let connection = exchange.connection {
      connection.giveUp(reason)
    } else {
      lanes[exchange.request.destination]?.waiting.removeAll { $0 === exchange }
      exchange.end(.unprocessed(reason))
    }
  }

  private func pump(_ destination: HTTPDestination) {
    while let lane = lanes[destination], !lane.waiting.isEmpty,
      let connection = lane.connections.values.first(where: \.isIdle)
    {
      guard let exchange = lanes[destination]?.waiting.popFirst() else { return }
      if let expires = exchange.request.expires, settings.clock.wall() >= expires {
        exchange.end(.unprocessed(.expired))
      } else {
        connection.expiry?.cancel()
        connection.send(exchange)
      }
    }
    guard let lane = lanes[destination], !isClosed else { return }
    let room = settings.connections - lane.connections.count - lane.opening
    for _ in 0..<max(0, min(lane.waiting.count - lane.coming, room)) { connect(to: destination) }
  }

  private func failWaiting(at destination: HTTPDestination, _ reason: GatewayReason) {
    let failed = lanes[destination]?.waiting ?? []
    lanes[destination]?.waiting.removeAll()
    for exchange in failed { exchange.end(.unprocessed(reason)) }
  }

  // MARK: Connections

  private func connect(to destination: HTTPDestination) {
    lanes[destination]?.opening += 1
    ClientBootstrap(group: loop)
      .connectTimeout(TimeAmount(settings.timeout))
      .resolver(settings.policy.map { HostLookup(policy: $0, loop: loop) })
      .channelOption(.socketOption(.tcp_nodelay), value: 1)
      .channelInitializer { channel in
        channel.eventLoop.makeCompletedFuture { try self.fill(channel.pipeline.syncOperations, to: destination) }
      }
      .connect(host: destination.host, port: destination.port)
      .whenComplete { result in
        self.lanes[destination]?.opening -= 1
        switch result {
        case .success(let channel): self.adopt(channel, at: destination)
        case .failure(let error):
          self.hasFailed(error, at: destination)
          self.couldNotConnect(to: destination, Self.isRefusal(error) ? .addressRefused : .connectFailed)
        }
      }
  }

  /// Whether the host has no address that may be reached.
  private static func isRefusal(_ error: any Error) -> Bool {
    guard let error = error as? NIOConnectionError else { return false }
    return error.connectionErrors.isEmpty
      && [error.dnsAError, error.dnsAAAAError].contains { $0 is HostLookup.Refused }
  }

  /// Once for each address of the host that is tried: one of these channels becomes the connection.
  private func fill(
    _ pipeline: ChannelPipeline.SynchronousOperations, to destination: HTTPDestination
  ) throws {
    nextNumber += 1
    if destination.isSecure { try pipeline.addTLSClient(settings.tls, host: destination.host) }
    try pipeline.addHTTPClientHandlers()
    try pipeline.addHandler(
      HTTPConnection(
        number: nextNumber, destination: destination, pool: self, maxAnswer: settings.maxAnswer,
        now: settings.clock.wall))
  }

  private func adopt(_ channel: any Channel, at destination: HTTPDestination) {
    loop.preconditionInEventLoop()
    guard channel.isActive, let connection = try? channel.pipeline.syncOperations.handler(type: HTTPConnection.self)
    else { return couldNotConnect(to: destination, .connectFailed) }
    lanes[destination]?.connections[connection.number] = connection
    connection.connected()
    let number = connection.number
    // A handshake that does not end is no connection.
    loop.scheduleTask(in: TimeAmount(settings.timeout)) {
      guard let connection = self.lanes[destination]?.connections[number], !connection.isReady else { return }
      connection.close()
    }
    roomChanged(at: destination)
  }

  /// A connection may have room.
  func roomChanged(at destination: HTTPDestination) {
    loop.preconditionInEventLoop()
    pump(destination)
    for connection in lanes[destination]?.connections.values.filter(\.isIdle) ?? [] {
      guard !isClosed else {
        connection.close()
        continue
      }
      connection.expiry?.cancel()
      let number = connection.number
      connection.expiry = loop.scheduleTask(in: TimeAmount(settings.idle)) {
        self.lanes[destination]?.connections[number]?.close()
      }
    }
  }

  func hasFailed(_ error: any Error, at destination: HTTPDestination) { reportFailure(destination, error) }

  func hasClosed(_ connection: HTTPConnection) {
    loop.preconditionInEventLoop()
    let destination = connection.destination
    // Of an address that was slower than another one nobody knows.
    guard lanes[destination]?.connections.removeValue(forKey: connection.number) != nil else { return }
    if connection.isReady {
      pump(destination)
      forgetIfUnused(destination)
    } else {
      couldNotConnect(to: destination, .connectFailed)
    }
  }

  /// Whoever waits hears of it, unless another connection may take them; the queue of pushes has the longer breath.
  private func couldNotConnect(to destination: HTTPDestination, _ reason: GatewayReason) {
    if let lane = lanes[destination], lane.opening == 0, lane.connections.isEmpty {
      failWaiting(at: destination, reason)
    }
    forgetIfUnused(destination)
  }

  private func forgetIfUnused(_ destination: HTTPDestination) {
    if lanes[destination]?.isUnused == true { lanes[destination] = nil }
  }
}
