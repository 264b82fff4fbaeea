// SPDX-License-Identifier: Apache-2.0
import Logging
import NIOCore
import NIOHTTP2
import NIOPosix
import NIOSSL
import RelayProtocol
import Synchronization

/// The connections to one host for one key, and the requests that wait for a stream.
///
/// A general HTTP client cannot replace it, because retries depend on details that such clients hide:
/// - the streams that a GOAWAY leaves unprocessed
/// - Apple's limit on streams before the first accepted token
/// - the connection on which a token was refused
///
/// A request uses the connection with the fewest requests. When all are full, the pool opens another connection: one at
/// a time, and after a failure with backoff. Connections stay open.
///
/// `@unchecked Sendable`: only `loop` accesses the mutable state, except `load`, which has a lock.
final class AppleConnectionPool: @unchecked Sendable {
  /// Returns the token for the next request. The pool calls it on the loop.
  typealias Authorization = @Sendable () throws -> ProviderTokens.Token

  /// The open connections and the streams in use.
  struct Load: Equatable {
    var connections = 0
    var streams = 0
  }

  private let loop: any EventLoop
  private let settings: ApplePoolSettings
  private let authorize: Authorization
  private let log: Logger
  private let load = Mutex(Load())

  private var connections: [Int: AppleConnection] = [:]
  private var isConnecting = false
  private var waiting = CircularBuffer<AppleExchange>()
  private var exchanges: [Int: AppleExchange] = [:]
  private var nextNumber = 0
  private var pause = ReconnectPause()
  private var isHeldBack = false
  private var isClosed = false

  init(settings: ApplePoolSettings, authorize: @escaping Authorization, log: Logger) {
    loop = MultiThreadedEventLoopGroup.singleton.any()
    self.settings = settings
    self.authorize = authorize
    self.log = log
  }

  var currentLoad: Load { load.withLock { $0 } }

  /// Sends a request once. If the task is cancelled after the request was sent, its result is unknown.
  func send(_ request: AppleRequest) async -> AppleResult {
    let promise = loop.makePromise(of: AppleResult.self)
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

  /// Sends no more requests on a connection.
  func retire(_ number: Int) { loop.execute { self.connections[number]?.retire() } }

  /// Sends no more requests. Requests that were sent may still be answered.
  func close() {
    loop.execute {
      self.isClosed = true
      self.failWaiting(.connectionLost)
      for connection in self.connections.values { connection.retire() }
    }
  }

  // MARK: Requests

  private func enqueue(_ request: AppleRequest, _ promise: EventLoopPromise<AppleResult>) -> Int {
    loop.preconditionInEventLoop()
    nextNumber += 1
    let id = nextNumber
    let exchange = AppleExchange(id: id, request: request, promise: promise)
    guard !isClosed, waiting.count < settings.queue else {
      exchange.end(.unprocessed(isClosed ? .connectionLost : .tooManyWaiting))
      return id
    }
    exchange.deadline = loop.scheduleTask(in: TimeAmount(settings.timeout)) { self.giveUp(id, .timeout) }
    promise.futureResult.whenComplete { _ in self.exchanges[id] = nil }
    exchanges[id] = exchange
    waiting.append(exchange)
    pump()
    return id
  }

  private func giveUp(_ id: Int, _ reason: GatewayReason) {
    loop.preconditionInEventLoop()
    guard let exchange = exchanges[id] else { return }
    if let assignment = exchange.assignment, let left = exchange.left {
      exchange.end(.unknown(reason))
      assignment.connection.abandon(assignment.stream, sentAt: left)
    } else {
      waiting.removeAll { $0 === exchange }
      exchange.end(.unprocessed(reason))
    }
    pump()
  }

  private func pump() {
    defer { note() }
    while let next = waiting.first, let connection = leastBusy {
      if let expires = next.request.expires, settings.clock.wall() >= expires {
        waiting.removeFirst().end(.unprocessed(.expired))
        continue
      }
      let token: ProviderTokens.Token
      do {
        token = try authorize()
      } catch {
        return failWaiting(.invalidProviderToken)
      }
      connection.send(waiting.removeFirst(), authorizedBy: token)
    }
    if !waiting.isEmpty { connectIfUseful() }
  }

  private var leastBusy: AppleConnection? {
    connections.values.filter { $0.state.room > 0 }.min { $0.state.requests.count < $1.state.requests.count }
  }

  private func failWaiting(_ reason: GatewayReason) {
    let failed = waiting
    waiting.removeAll()
    for exchange in failed { exchange.end(.unprocessed(reason)) }
  }

  private func note() {
    let now = Load(
      connections: connections.values.count { $0.state.phase != .connecting },
      streams: connections.values.reduce(0) { $0 + $1.state.requests.count })
    load.withLock { $0 = now }
  }

  // MARK: Connections

  private var live: [AppleConnection] {
    connections.values.filter { $0.state.phase != .draining && $0.state.phase != .closed }
  }

  private func connectIfUseful() {
    let live = live
    // A connection that is not proven yet may soon have capacity for all waiting requests.
    let isComing = isConnecting || live.contains { $0.state.phase == .connecting || $0.state.phase == .unproven }
    // The last condition counts draining connections, too. It protects a service that soon closes each connection.
    guard !isComing, !isHeldBack, !isClosed, live.count < settings.connections,
      connections.count < 2 * settings.connections
    else { return }
    connect()
  }

  private func connect() {
    isConnecting = true
    ClientBootstrap(group: loop)
      .connectTimeout(TimeAmount(settings.timeout))
      .channelOption(.socketOption(.tcp_nodelay), value: 1)
      .channelInitializer { channel in
        channel.eventLoop.makeCompletedFuture { try self.fill(channel.pipeline.syncOperations) }
      }
      .connect(host: settings.host, port: settings.port)
      .whenComplete { result in
        self.isConnecting = false
        switch result {
        case .success(let channel): self.adopt(channel)
        case .failure(let error):
          self.hasFailed(error)
          self.couldNotConnect()
        }
      }
  }

  /// Sets up a channel. NIO may try several addresses of a host: each gets a channel, and one becomes the connection.
  private func fill(_ pipeline: ChannelPipeline.SynchronousOperations) throws {
    nextNumber += 1
    try pipeline.addTLSClient(settings.tls, host: settings.host)
    try pipeline.addHandlers([
      NIOHTTP2Handler(mode: .client, initialSettings: [HTTP2Setting(parameter: .enablePush, value: 0)]),
      AppleConnection(number: nextNumber, settings: settings, pool: self),
    ])
  }

  private func adopt(_ channel: any Channel) {
    loop.preconditionInEventLoop()
    guard channel.isActive, let connection = try? channel.pipeline.syncOperations.handler(type: AppleConnection.self)
    else { return couldNotConnect() }
    guard !isClosed else { return connection.close() }
    let number = connection.number
    connections[number] = connection
    // Close the connection if the service's SETTINGS do not arrive in time.
    loop.scheduleTask(in: TimeAmount(settings.timeout)) {
      if self.connections[number]?.state.phase == .connecting { channel.close(promise: nil) }
    }
    capacityChanged()
  }

  /// Sends waiting requests after the capacity of a connection may have changed.
  func capacityChanged() {
    loop.preconditionInEventLoop()
    if connections.values.contains(where: { $0.state.phase == .open }) { pause.succeeded() }
    pump()
  }

  /// Logs that the service closes a connection (GOAWAY).
  /// - Parameter words: The debug data of the frame: JSON with a reason, or empty.
  func logGoAway(_ words: [UInt8]) {
    loop.preconditionInEventLoop()
    let reason = AppleAnswer(status: 0, body: words, retryAfter: nil, date: nil, now: settings.clock.wall()).reason
    log.info(
      "Apple's service closes a connection",
      metadata: ["host": "\(settings.host)", "reason": "\(GatewayReason(words: reason).rawValue)"])
  }

  func hasFailed(_ error: any Error) {
    loop.preconditionInEventLoop()
    log.warning(
      "a connection to Apple's service failed", metadata: ["host": "\(settings.host)", "error": "\(error)"])
  }

  func hasClosed(_ number: Int) {
    loop.preconditionInEventLoop()
    // A channel to an address that was slower than another is not in the list.
    guard let connection = connections.removeValue(forKey: number) else { return }
    if connection.wasProven { pump() } else { couldNotConnect() }
    note()
  }

  private func couldNotConnect() {
    // Fail the waiting requests, unless another connection may still take them. The push queue retries the pushes.
    if !isConnecting, live.isEmpty { failWaiting(.connectFailed) }
    guard !isHeldBack, !isClosed else { return }
    isHeldBack = true
    var generator = SystemRandomNumberGenerator()
    loop.scheduleTask(in: TimeAmount(pause.failed(using: &generator))) {
      self.isHeldBack = false
      self.pump()
    }
  }
}
