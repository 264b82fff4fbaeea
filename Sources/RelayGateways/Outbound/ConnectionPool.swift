// SPDX-License-Identifier: Apache-2.0
// The pool of connections for Apple's service, browsers' push services, Matrix gateways and the command line, on NIO.
import NIOCore
import NIOPosix
import RelayProtocol
import Synchronization

/// A pool of connections to any number of servers, with a queue of requests for each server.
///
/// The pool follows no redirects and does not retry. It sends a request once, on the connection with the fewest
/// requests, and limits the size and time of the answer.
///
/// `@unchecked Sendable`: only `loop` accesses the mutable state, except `loads`, which has a lock.
final class ConnectionPool<Connection: PooledConnection>: @unchecked Sendable {
  /// Adds the handlers of a connection with this number to a pipeline, the connection last.
  typealias Fill =
    @Sendable (
      ChannelPipeline.SynchronousOperations, ConnectionPool<Connection>, _ number: Int, HTTPDestination
    ) throws -> Void

  /// The established connections and the requests in progress.
  struct Load: Equatable {
    var connections = 0
    var requests = 0
  }

  private struct Lane {
    var connections: [Int: Connection] = [:]
    /// TCP connections that are not established yet.
    var opening = 0
    var waiting = CircularBuffer<Exchange<Connection>>()
    var pause = ReconnectPause()
    /// The last error of a connection, in an operator's words.
    var lastError: String?
    /// True during the wait after a failure.
    var isHeldBack = false

    /// Connections that take requests, or will.
    var live: Int { opening + connections.values.count { !$0.isEnding } }
    /// Connections that may soon have more capacity.
    var coming: Int { opening + connections.values.count(where: \.isComing) }

    var leastBusy: Connection? {
      connections.values.filter { $0.capacity > 0 }.min { $0.load < $1.load }
    }
  }

  let settings: PoolSettings
  private let loop: any EventLoop
  private let fill: Fill
  private let loads = Mutex<[HTTPDestination: Load]>([:])

  private var lanes: [HTTPDestination: Lane] = [:]
  private var exchanges: [Int: Exchange<Connection>] = [:]
  private var nextNumber = 0
  private var isClosed = false

  init(_ settings: PoolSettings, fill: @escaping Fill) {
    loop = MultiThreadedEventLoopGroup.singleton.any()
    self.settings = settings
    self.fill = fill
  }

  var currentLoad: Load {
    loads.withLock { loads in
      loads.values.reduce(into: Load()) {
        $0.connections += $1.connections
        $0.requests += $1.requests
      }
    }
  }

  /// Sends a request once. If the task is cancelled after the request was sent, its result is unknown.
  func send(_ request: Connection.Request, to destination: HTTPDestination) async -> PoolResult<Connection.Answer> {
    let promise = loop.makePromise(of: PoolResult<Connection.Answer>.self)
    let number = Mutex<Int?>(nil)
    loop.execute {
      let id = self.enqueue(Exchange(request, to: destination, promise: promise))
      promise.futureResult.whenComplete { _ in self.exchanges[id] = nil }
      number.withLock { $0 = id }
    }
    return await withTaskCancellationHandler {
      // The promise never fails.
      (try? await promise.futureResult.get()) ?? .unknown(.connectionLost)
    } onCancel: {
      loop.execute { if let id = number.withLock({ $0 }) { self.giveUp(id, .cancelled) } }
    }
  }

  /// Sends no more requests on a connection.
  func retire(_ number: Int, to destination: HTTPDestination) {
    loop.execute { self.lanes[destination]?.connections[number]?.retire() }
  }

  /// Sends no more requests. Requests that were sent may still be answered.
  func close() {
    loop.execute {
      self.isClosed = true
      for (destination, lane) in self.lanes {
        self.failWaiting(at: destination, .connectionLost)
        for connection in lane.connections.values { connection.retire() }
      }
    }
  }

  // MARK: Requests

  private func enqueue(_ exchange: Exchange<Connection>) -> Int {
    loop.preconditionInEventLoop()
    nextNumber += 1
    let (id, destination) = (nextNumber, exchange.destination)
    let waiting = lanes[destination]?.waiting.count ?? 0
    guard !isClosed, waiting < settings.queue else {
      exchange.end(.unprocessed(isClosed ? .connectionLost : .tooManyWaiting))
      return id
    }
    exchange.deadline = loop.scheduleTask(in: TimeAmount(settings.timeout)) { self.giveUp(id, .timeout) }
    exchanges[id] = exchange
    lanes[destination, default: Lane()].waiting.append(exchange)
    pump(destination)
    return id
  }

  private func giveUp(_ id: Int, _ reason: GatewayReason) {
    loop.preconditionInEventLoop()
    guard let exchange = exchanges[id] else { return }
    if let connection = exchange.connection {
      connection.giveUp(exchange, reason)
    } else {
      lanes[exchange.destination]?.waiting.removeAll { $0 === exchange }
      exchange.end(.unprocessed(reason))
    }
    pump(exchange.destination)
  }

  private func pump(_ destination: HTTPDestination) {
    defer { note(destination) }
    while let connection = lanes[destination]?.leastBusy, let exchange = lanes[destination]?.waiting.popFirst() {
      if let expires = exchange.request.expires, settings.clock.wall() >= expires {
        exchange.end(.unprocessed(.expired))
        continue
      }
      do {
        exchange.connection = connection
        try connection.send(exchange)
      } catch {
        exchange.end(.unprocessed(.invalidProviderToken))
        return failWaiting(at: destination, .invalidProviderToken)
      }
    }
    guard let lane = lanes[destination], !lane.waiting.isEmpty, !isClosed, !lane.isHeldBack else { return }
    // A connection that is coming may soon have capacity for all waiting requests, or for one of them.
    let missing = settings.hasBackoff ? 1 - lane.coming : lane.waiting.count - lane.coming
    // Ending connections count, too: a service may soon close each one. HTTP/2 connections may need long to end, so
    // twice the maximum is the bound for them.
    let all = lane.opening + lane.connections.count
    let available =
      settings.hasBackoff
      ? min(settings.connections - lane.live, 2 * settings.connections - all) : settings.connections - all
    for _ in 0..<max(0, min(missing, available)) { connect(to: destination) }
  }

  private func failWaiting(at destination: HTTPDestination, _ reason: GatewayReason, cause: String? = nil) {
    let failed = lanes[destination]?.waiting ?? []
    lanes[destination]?.waiting.removeAll()
    for exchange in failed { exchange.end(.unprocessed(reason, cause: cause)) }
  }

  private func note(_ destination: HTTPDestination) {
    let load = lanes[destination].map { lane in
      Load(
        connections: lane.connections.values.count(where: \.isReady),
        requests: lane.connections.values.reduce(0) { $0 + $1.load })
    }
    loads.withLock { $0[destination] = load }
  }

  // MARK: Connections

  private func connect(to destination: HTTPDestination) {
    lanes[destination]?.opening += 1
    ClientBootstrap(group: loop)
      .connectTimeout(TimeAmount(settings.timeout))
      .resolver(settings.policy.map { HostLookup(policy: $0, loop: loop) })
      .channelOption(.socketOption(.tcp_nodelay), value: 1)
      .channelInitializer { channel in
        // NIO may try several addresses of a host: each gets a channel, and one becomes the connection.
        channel.eventLoop.makeCompletedFuture {
          self.nextNumber += 1
          try self.fill(channel.pipeline.syncOperations, self, self.nextNumber, destination)
        }
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

  private func adopt(_ channel: any Channel, at destination: HTTPDestination) {
    loop.preconditionInEventLoop()
    guard channel.isActive, let connection = try? channel.pipeline.syncOperations.handler(type: Connection.self)
    else { return couldNotConnect(to: destination, .connectFailed) }
    guard !isClosed else {
      forgetIfUnused(destination)
      return connection.close()
    }
    let number = connection.number
    lanes[destination]?.connections[number] = connection
    connection.connected()
    // Close the connection if the handshake of TLS or of the protocol does not end in time.
    loop.scheduleTask(in: TimeAmount(settings.timeout)) {
      guard self.lanes[destination]?.connections[number]?.isReady == false else { return }
      // It counts as a connection that is coming until it has closed. Then the waiting requests fail.
      channel.close(promise: nil)
    }
    capacityChanged(at: destination)
  }

  /// Sends waiting requests after the capacity of a connection may have changed.
  func capacityChanged(at destination: HTTPDestination) {
    loop.preconditionInEventLoop()
    let isOpen = lanes[destination]?.connections.values.contains { $0.isProven && !$0.isEnding } == true
    if isOpen {
      lanes[destination]?.pause.succeeded()
      lanes[destination]?.lastError = nil
    }
    pump(destination)
  }

  func hasFailed(_ error: any Error, at destination: HTTPDestination) {
    loop.preconditionInEventLoop()
    lanes[destination]?.lastError = ConnectionWords.of(error)
  }

  func hasClosed(_ connection: Connection, at destination: HTTPDestination) {
    loop.preconditionInEventLoop()
    // NIO may have tried several addresses of the host. The channel that was slower is not in the list.
    guard lanes[destination]?.connections.removeValue(forKey: connection.number) != nil else { return }
    if connection.isProven {
      pump(destination)
      forgetIfUnused(destination)
    } else {
      couldNotConnect(to: destination, .connectFailed)
    }
  }

  /// Fails the waiting requests, unless another connection may still take them. The push queue retries the pushes.
  private func couldNotConnect(to destination: HTTPDestination, _ reason: GatewayReason) {
    let hasOther = lanes[destination].map { $0.live > 0 || !settings.hasBackoff && !$0.connections.isEmpty } ?? false
    if !hasOther { failWaiting(at: destination, reason, cause: lanes[destination]?.lastError) }
    if settings.hasBackoff { holdBack(destination) }
    forgetIfUnused(destination)
  }

  private func holdBack(_ destination: HTTPDestination) {
    guard lanes[destination]?.isHeldBack == false, !isClosed else { return }
    lanes[destination]?.isHeldBack = true
    var generator = SystemRandomNumberGenerator()
    let delay = lanes[destination]?.pause.failed(using: &generator) ?? .zero
    loop.scheduleTask(in: TimeAmount(delay)) {
      self.lanes[destination]?.isHeldBack = false
      self.pump(destination)
    }
  }

  /// Forgets a server without connections and requests. The backoff of a server is kept.
  private func forgetIfUnused(_ destination: HTTPDestination) {
    defer { note(destination) }
    guard let lane = lanes[destination], !settings.hasBackoff else { return }
    if lane.connections.isEmpty, lane.opening == 0, lane.waiting.isEmpty { lanes[destination] = nil }
  }
}
