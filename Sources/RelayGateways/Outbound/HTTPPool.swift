// SPDX-License-Identifier: Apache-2.0
// The pool of HTTP/1.1 connections for browsers' push services, Matrix's gateways and the command line, on NIO.
import Logging
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import RelayProtocol
import Synchronization

/// The settings and limits of a pool.
struct HTTPPoolSettings: Sendable {
  var tls: NIOSSLContext
  var clock: GatewayClock
  /// The addresses that the pool may connect to. Is `nil` when the operator chose the destinations.
  var policy: AddressPolicy?
  /// The timeout of a request: for the connection and the answer together.
  var timeout = Duration.seconds(10)
  /// The maximum number of connections to one destination.
  var connections = 16
  /// The maximum number of requests to one destination that wait for a connection. Together with the 16 that are in
  /// progress, these are the pushes that the push worker sends at once.
  var queue = 240
  /// The time after which an idle connection is closed.
  var idle = Duration.seconds(30)
  /// The largest body of an answer in bytes. Push services answer with a few words.
  var maxAnswer = 16 * 1024
}

/// A pool of HTTP/1.1 connections to any number of servers, with a queue of requests for each server.
///
/// The pool follows no redirects and does not retry. It sends a request once, and limits the size and time of the
/// answer.
///
/// `@unchecked Sendable`: only `loop` accesses the mutable state.
final class HTTPPool: @unchecked Sendable {
  private struct Lane {
    var connections: [Int: HTTPConnection] = [:]
    /// TCP connections that are not established yet.
    var opening = 0
    var waiting = CircularBuffer<HTTPExchange>()

    var isUnused: Bool { connections.isEmpty && opening == 0 && waiting.isEmpty }
    /// Connections that may become ready soon.
    var coming: Int { opening + connections.values.count { !$0.isReady } }
  }

  private let loop: any EventLoop
  private let settings: HTTPPoolSettings
  private let reportFailure: @Sendable (HTTPDestination, any Error) -> Void
  private var lanes: [HTTPDestination: Lane] = [:]
  private var exchanges: [Int: HTTPExchange] = [:]
  private var nextNumber = 0
  private var isClosed = false

  /// - Parameter reportFailure: Receives each error of a connection on the pool's event loop.
  init(settings: HTTPPoolSettings, reportFailure: @escaping @Sendable (HTTPDestination, any Error) -> Void) {
    loop = MultiThreadedEventLoopGroup.singleton.any()
    self.settings = settings
    self.reportFailure = reportFailure
  }

  /// Logs errors of connections at level debug. A push has its own result, and clients that choose hosts must not be
  /// able to fill the log.
  convenience init(settings: HTTPPoolSettings, log: Logger) {
    self.init(settings: settings) { destination, error in
      log.debug(
        "a connection of a gateway failed", metadata: ["service": "\(destination.authority)", "error": "\(error)"])
    }
  }

  /// Sends a request once. If the task is cancelled after the request was sent, its result is unknown.
  func send(_ request: OutboundRequest) async -> HTTPResult {
    let promise = loop.makePromise(of: HTTPResult.self)
    let number = Mutex<Int?>(nil)
    loop.execute {
      let id = self.enqueue(request, promise)
      number.withLock { $0 = id }
    }
    return await withTaskCancellationHandler {
      // The promise never fails.
      (try? await promise.futureResult.get()) ?? .unknown(.connectionLost)
    } onCancel: {
      loop.execute { if let id = number.withLock({ $0 }) { self.giveUp(id, .cancelled) } }
    }
  }

  /// Sends no more requests. Requests that were sent may still be answered.
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
    let available = settings.connections - lane.connections.count - lane.opening
    for _ in 0..<max(0, min(lane.waiting.count - lane.coming, available)) { connect(to: destination) }
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

  /// True if the policy permits no address of the host.
  private static func isRefusal(_ error: any Error) -> Bool {
    guard let error = error as? NIOConnectionError else { return false }
    return error.connectionErrors.isEmpty
      && [error.dnsAError, error.dnsAAAAError].contains { $0 is HostLookup.Refused }
  }

  /// Sets up a channel. NIO may try several addresses of a host: each gets a channel, and one becomes the connection.
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
    // Close the connection if the TLS handshake does not end in time.
    loop.scheduleTask(in: TimeAmount(settings.timeout)) {
      guard let connection = self.lanes[destination]?.connections[number], !connection.isReady else { return }
      connection.close()
    }
    capacityChanged(at: destination)
  }

  /// Sends waiting requests after a connection became idle or ready, and starts the idle timers.
  func capacityChanged(at destination: HTTPDestination) {
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
    // A channel to an address that was slower than another is not in the list.
    guard lanes[destination]?.connections.removeValue(forKey: connection.number) != nil else { return }
    if connection.isReady {
      pump(destination)
      forgetIfUnused(destination)
    } else {
      couldNotConnect(to: destination, .connectFailed)
    }
  }

  /// Fails the waiting requests, unless another connection may still take them. The push queue retries the pushes.
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
