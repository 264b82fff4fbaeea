// SPDX-License-Identifier: Apache-2.0
import Dispatch
import GRDB
import Logging
import RelayDelivery
import RelayGateways
import RelayHub
import RelayIdentity
import RelayProtocol
import RelayStore
import Synchronization

@testable import RelayCommands
@testable import RelayFollowers
@testable import RelayHTTP
@testable import RelayPush
@testable import RelayRequests
@testable import RelayState
@testable import RelayStore

/// A server in the same composition as ``Server``, except for the clock and the gateway. Only one part works at a time:
/// the hub, or, when the hub is idle, one step of the store or of the push worker. So the same seed gives the same run.
/// Belongs to one thread, which blocks in every call.
final class SimulatedRelay {
  let port: UInt16
  let store: Store
  let fuse: Fuse
  private let core: Core
  private let worker: PushWorker
  private let thread: HubThread
  private let clock: VirtualClock
  private let gateway: RecordingGateway
  private let turns: Turns
  private var work: Answer<Result<Void, any Error>>?

  /// Opens the folder, decides the pushes that an earlier run left, and listens.
  /// - Parameters:
  ///   - image: The folder for the files after a crash.
  ///   - journal: Is `nil` for a single node.
  ///   - seed: Determines the order of concurrent steps.
  init(
    folder: String, image: String, journal: (any Journal)?, clock: VirtualClock, gateway: RecordingGateway,
    policy: DeliveryPolicy, seed: Int
  ) throws {
    let thread = HubThread()
    let turns = Turns(seed: seed)
    let fuse = Fuse(folder: folder, image: image)
    let threads = StoreThreads.given { turns.add(.store, $0) }
    store = try Store(
      folder: folder, synchronous: .normal, journal: journal, threads: threads, clock: StoreClock(now: { clock.now })
    ) { completions in
      fuse.pass(completions) { completions in
        thread.perform { for completion in completions { completion() } }
      }
    }
    gateway.serve(fuse)
    let limits = Self.limits
    var configuration = HubConfiguration(
      address: "127.0.0.1", port: 0, requests: Commands.frames, limits: limits, grace: policy.grace)
    // The model has no frozen clients: those of the simulation send `received` only now and then.
    configuration.receivedTimeout = nil
    let hub = try Hub(configuration, thread: thread) { _, _ in }
    hub.setClock(clock.now)
    port = hub.port
    let log = Logger(label: "simulation") { _ in SwiftLogNoOpLogHandler() }
    let (began, time) = (ContinuousClock.now, clock.now)
    let worker = PushWorker(
      store: store, gateways: [.simulator: gateway], now: { clock.now }, instant: { began + (clock.now - time) },
      log: log)
    var settings = RelaySettings(.open)
    settings.limits = limits
    settings.policy = policy
    settings.isMetricsOpen = true
    settings.pace = PushPace.Limits(messages: 3, critical: 0, calls: 0)
    // The model adds members at once.
    settings.invitations = .none
    core = Core(
      hub: hub, store: store, settings: settings,
      gateways: Gateways(SimulatedGateway(now: { clock.now })), http: HTTPService(site: Site()), worker: worker,
      log: log)
    self.worker = worker
    self.thread = thread
    self.fuse = fuse
    self.clock = clock
    self.gateway = gateway
    self.turns = turns
    try finish(
      begin { [core] in
        await worker.releaseEarlierClaims()
        try await core.start()
      })
  }

  /// The default limits, but without rate limits.
  private static let limits = {
    var limits = Limits()
    limits.sendRate = 0
    limits.requestRate = 0
    limits.focusRate = 0
    return limits
  }()

  // MARK: Time

  func moveClock(to now: Timestamp) {
    clock.move(to: now)
    onHub { $0.hub.setClock(now) }
  }

  /// The due time of the hub's next timer.
  var nextTimer: Timestamp? { onHub { $0.hub.nextDue } }

  // MARK: Turns

  /// Returns when the hub is idle: it has read everything that clients wrote before this call, and has written its
  /// replies.
  func rest() {
    let done = Answer<Void>()
    thread.performLater { [thread] in Self.look(thread, jobs: -1, quietRounds: 0, done) }
    done.wait()
  }

  /// A round without other jobs is quiet. Two quiet rounds are needed: the second one handles what the sockets held in
  /// the first.
  private static func look(_ thread: HubThread, jobs: Int, quietRounds: Int, _ done: Answer<Void>) {
    let count = thread.jobCount
    let quietRounds = count == jobs + 1 ? quietRounds + 1 : 0
    guard quietRounds < 2 else { return done.give(()) }
    thread.performLater { look(thread, jobs: count, quietRounds: quietRounds, done) }
  }

  /// Runs one step of the store or of the worker, while the hub is idle. Returns false if there is none.
  func takeTurn() -> Bool { turns.take() }

  /// True if the hub waits for nothing.
  /// - Parameter sessions: The expected number of connections.
  func isAtRest(sessions: Int) -> Bool {
    onHub { core in
      let isDue = core.hub.nextDue.map { $0 <= core.hub.now } ?? false
      return !isDue && !core.isBusy && core.hub.sessionCount == sessions
    }
  }

  /// Blocks the hub's thread, so that everything that clients write meanwhile arrives at once and in this order.
  func whileStill(_ body: () throws -> Void) rethrows {
    let (still, over) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    thread.perform {
      still.signal()
      over.wait()
    }
    still.wait()
    defer { over.signal() }
    try body()
  }

  var isWorking: Bool { work?.isGiven == false }

  /// Makes the worker process the due jobs, unless it is working.
  func beginWork() {
    guard !isWorking else { return }
    work = begin { [worker] in await worker.workOff() }
  }

  private func begin<T: Sendable>(_ body: @escaping @Sendable () async throws -> T) -> Answer<Result<T, any Error>> {
    let answer = Answer<Result<T, any Error>>()
    Task(executorPreference: turns) {
      do {
        answer.give(.success(try await body()))
      } catch {
        answer.give(.failure(error))
      }
    }
    return answer
  }

  private func finish<T: Sendable>(_ answer: Answer<Result<T, any Error>>) throws -> T {
    while !answer.isGiven {
      rest()
      _ = takeTurn()
    }
    return try answer.wait().get()
  }

  // MARK: The disk

  func read<T>(_ work: (Reader) throws -> T) throws -> T { try store.pool.read { try work(Reader(db: $0)) } }

  func damage(_ sql: String) throws { try store.pool.write { try $0.execute(sql: sql) } }

  // MARK: The end

  /// Begins a graceful shutdown. ``isAtRest(sessions:)`` shows when the sessions have ended.
  func drain() {
    onHub {
      $0.retire()
      $0.drain()
    }
  }

  /// Ends gracefully. Open sessions are cut.
  func stop() {
    onHub { $0.closeListener() }
    onHub { $0.flush() }
    rest()
    while takeTurn() { rest() }
    onHub { $0.stopHub() }
    finish()
  }

  /// Ends with a crash: the image has the present state of the disk, and clients receive nothing more.
  func crash() {
    fuse.blow()
    rest()  // frames of the last moment
    onHub { $0.stopHub() }
    let undelivered = fuse.release()
    thread.perform { for completion in undelivered { completion() } }
    finish()
  }

  private func finish() {
    repeat {
      gateway.letGo(.retry(after: nil, .connectionLost, isUnknown: true))
      while takeTurn() { rest() }
    } while isWorking || onHub { $0.isBusy }
    store.close()
    thread.end()
  }

  // MARK: Threads

  /// Runs a function on the hub's thread, and waits for its result.
  private func onHub<T: Sendable>(_ body: @escaping @Sendable (isolated Core) -> T) -> T {
    let answer = Answer<T>()
    thread.perform { [core] in answer.give(core.assumeIsolated { body($0) }) }
    return answer.wait()
  }
}

extension Core {
  /// True if work is in progress on which other work waits.
  fileprivate var isBusy: Bool {
    relay.deliveries.holds.isBusy || relay.rooms.isBusy(besides: relay.calls.retained) || relay.people.isReading
      || relay.calls.isBusy
  }
}

/// The result of another thread. Any thread.
private final class Answer<Value: Sendable>: Sendable {
  private let value = Mutex<Value?>(nil)
  private let done = DispatchSemaphore(value: 0)

  func give(_ value: Value) {
    self.value.withLock { $0 = value }
    done.signal()
  }

  var isGiven: Bool { value.withLock { $0 != nil } }

  /// Waits for the result. To be called once.
  func wait() -> Value {
    done.wait()
    guard let value = value.withLock({ $0 }) else { preconditionFailure("the signal follows the value") }
    return value
  }
}
