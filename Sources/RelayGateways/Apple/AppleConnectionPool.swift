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
/// Hand-written, because a retry depends on details that general HTTP clients hide: which streams a GOAWAY leaves
/// unprocessed, Apple's limit on streams before the first accepted token, and the connection that a refused token
/// belongs to.
///
/// A request goes on the connection that has the fewest under way. Another one is opened when all are full, one at a
/// time and after failures not at once; they are kept open.
///
/// Safe to send: all that changes is touched on `loop` alone, but for `load`, which has a lock.
final class AppleConnectionPool: @unchecked Sendable {
  /// The token of a request that leaves; called on the loop.
  typealias Authorization = @Sendable () throws -> ProviderTokens.Token

  /// What is in use.
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

  /// Sends a request once. When the task is cancelled, what became of it is not known.
  func send(_ request: AppleRequest) async -> AppleFate {
    let promise = loop.makePromise(of: AppleFate.self)
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

  /// Lets nothing more go out on a connection.
  func retire(_ number: Int) { loop.execute { self.connections[number]?.retire() } }

  /// What is under way may be answered; nothing new is sent.
  func close() {
    loop.execute {
      self.isClosed = true
      self.failWaiting(.connectionLost)
      for connection in self.connections.values { connection.retire() }
    }
  }

  // MARK: Requests

  private func enqueue(_ request: AppleRequest, _ promise: EventLoopPromise<AppleFate>) -> Int {
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
    if let place = exchange.place, let left = exchange.left {
      exchange.end(.unknown(reason))
      place.connection.abandon(place.stream, sentAt: left)
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
    // One that is not proven yet may soon have room for all.
    let isComing = isConnecting || live.contains { $0.state.phase == .connecting || $0.state.phase == .unproven }
    // A service that turns every connection away soon is not flooded with new ones.
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

  /// Once for each address of the host that is tried: one of these channels becomes the connection.
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
    // A connection that says nothing is none.
    loop.scheduleTask(in: TimeAmount(settings.timeout)) {
      if self.connections[number]?.state.phase == .connecting { channel.close(promise: nil) }
    }
    roomChanged()
  }

  /// A connection may have room, or none any more.
  func roomChanged() {
    loop.preconditionInEventLoop()
    if connections.values.contains(where: { $0.state.phase == .open }) { pause.succeeded() }
    pump()
  }

  /// - Parameter words: JSON with a reason, or nothing.
  func wasToldToGo(_ words: [UInt8]) {
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
    // Of an address that was slower than another one nobody knows.
    guard let connection = connections.removeValue(forKey: number) else { return }
    if connection.wasProven { pump() } else { couldNotConnect() }
    note()
  }

  private func couldNotConnect() {
    // Whoever waits hears of it, unless another connection may take them; the queue of pushes has the longer breath.
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
