// SPDX-License-Identifier: Apache-2.0
import Dispatch
import Logging
import RelayDelivery
import RelayGateways
import RelayHub
import RelayProtocol
import RelayStore
import Synchronization

@testable import RelayServer

/// The parts of a server, put together as ``Server`` does, but for the clock, the gateway, and that the worker works
/// when it is told. Belongs to one thread, which waits in every call.
final class SimulatedRelay {
  let port: UInt16
  let store: Store
  let fuse: Fuse
  private let relay: Relay
  private let worker: PushWorker
  private let thread: HubThread
  private let clock: VirtualClock
  private let gateway: RecordingGateway
  private var work: DispatchSemaphore?

  /// Opens the folder, decides again what an earlier run left, and listens.
  /// - Parameter image: Where a crash leaves its files.
  init(
    folder: String, image: String, clock: VirtualClock, gateway: RecordingGateway, policy: DeliveryPolicy
  ) throws {
    let thread = HubThread()
    let fuse = Fuse(folder: folder, image: image)
    store = try Store(folder: folder, synchronous: .normal, now: { clock.now }) { completions in
      fuse.pass(completions) { completions in
        thread.perform { for completion in completions { completion() } }
      }
    }
    gateway.serve(fuse)
    let limits = Self.limits
    let hub = try Hub(
      HubConfiguration(
        address: "127.0.0.1", port: 0, subprotocol: "stillwire.v1.json", path: "/v1/connect", origins: [],
        requests: Relay.requests, loopbackHostsOnly: false, limits: limits, grace: policy.grace),
      thread: thread
    ) { _, _ in }
    hub.setClock(clock.now)
    port = hub.port
    let log = Logger(label: "simulation") { _ in SwiftLogNoOpLogHandler() }
    let worker = PushWorker(
      store: store, gateways: [.simulator: gateway], policy: Self.retries, now: { clock.now }, log: log)
    relay = Relay(
      hub: hub, store: store,
      settings: Relay.Settings(
        authentication: .open, apiKeys: APIKeys(), identityGrace: .zero, limits: limits, policy: policy,
        rooms: RoomPatterns(), isMetricsOpen: true),
      simulator: SimulatedGateway(now: { clock.now }), site: Site(), worker: worker, log: log)
    self.worker = worker
    self.thread = thread
    self.fuse = fuse
    self.clock = clock
    self.gateway = gateway
    try Self.wait { [relay] in
      await worker.takeOver()
      try await relay.start()
      await relay.reviewPushes()
    }
  }

  /// The defaults, but nobody is told to be slower.
  private static let limits = {
    var limits = Limits()
    limits.sendRate = 0
    limits.requestRate = 0
    limits.focusRate = 0
    return limits
  }()

  /// Without chance, so that the same seed has the same course.
  private static let retries = RetryPolicy(shortest: .seconds(20), longest: .seconds(20))

  // MARK: Time

  func moveClock(to now: Timestamp) {
    clock.move(to: now)
    onHub { $0.hub.setClock(now) }
  }

  /// When the next timer of the hub is due.
  var nextTimer: Timestamp? { onHub { $0.hub.nextDue } }

  // MARK: Rest

  /// Whether nothing is under way but what clients were not told yet; everything that clients had written before
  /// this call has been read.
  /// - Parameter sessions: How many connections there are to be.
  func isAtRest(sessions: Int) -> Bool {
    onHub { _ in }  // a round of the loop, in which all sockets are read
    return onHub { relay in
      let isDue = relay.hub.nextDue.map { $0 <= relay.hub.now } ?? false
      return !isDue && relay.reconsidered.isEmpty && relay.pins.isEmpty && relay.loads.isEmpty && relay.readings == 0
        && relay.hub.sessionCount == sessions
    }
  }

  var isWorking: Bool {
    guard let work else { return false }
    guard work.wait(timeout: .now()) == .success else { return true }
    self.work = nil
    return false
  }

  /// Has the worker work off what is due, unless it is at it.
  func beginWork() {
    guard !isWorking else { return }
    let done = DispatchSemaphore(value: 0)
    work = done
    Task { [worker] in
      await worker.workOff()
      done.signal()
    }
  }

  func read<T: Sendable>(_ work: @escaping @Sendable (Reader) throws -> T) throws -> T {
    try Self.wait { [store] in try await store.read(work) }
  }

  func write<T: Sendable>(_ work: @escaping @Sendable (Transaction) throws -> T) throws -> T {
    try Self.wait { [store] in try await store.write(work) }
  }

  // MARK: The end

  /// Sessions are asked to come back; ``isAtRest(sessions:)`` and the clock tell when they are gone.
  func drain() {
    onHub {
      $0.retire()
      $0.drain()
    }
  }

  /// An orderly end; the sessions that are left are cut.
  func stop() {
    onHub { $0.closeListener() }
    try? Self.wait { [relay] in
      await relay.flush()
      await relay.stopHub()
    }
    finish()
  }

  /// An end by a crash: what is on disk now is in the image, and nobody hears anything more.
  func crash() {
    fuse.blow(store)
    onHub { $0.stopHub() }
    let untold = fuse.release()
    thread.perform { for completion in untold { completion() } }
    finish()
  }

  private func finish() {
    while isWorking { gateway.letGo(.retry(after: nil, .serviceUnavailable)) }
    while onHub({ !$0.pins.isEmpty || !$0.reconsidered.isEmpty || !$0.loads.isEmpty || $0.readings > 0 }) {}
    store.close()
    thread.end()
  }

  // MARK: Threads

  /// Does something where the relay lives, and waits for it.
  private func onHub<T: Sendable>(_ body: @escaping @Sendable (isolated Relay) -> T) -> T {
    let answer = Answer<T>()
    thread.perform { [relay] in answer.give(relay.assumeIsolated { body($0) }) }
    return answer.wait()
  }

  private static func wait<T: Sendable>(_ body: @escaping @Sendable () async throws -> T) throws -> T {
    let answer = Answer<Result<T, any Error>>()
    Task {
      do {
        answer.give(.success(try await body()))
      } catch {
        answer.give(.failure(error))
      }
    }
    return try answer.wait().get()
  }
}

/// Something that another thread works out. Any thread.
private final class Answer<Value: Sendable>: Sendable {
  private let value = Mutex<Value?>(nil)
  private let done = DispatchSemaphore(value: 0)

  func give(_ value: Value) {
    self.value.withLock { $0 = value }
    done.signal()
  }

  /// Waits for it; once.
  func wait() -> Value {
    done.wait()
    guard let value = value.withLock({ $0 }) else { preconditionFailure("it is signalled when it is given") }
    return value
  }
}
