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

@testable import RelayCore
@testable import RelayHTTP
@testable import RelayPush
@testable import RelayStore

/// The parts of a server, put together as ``Server`` does, but for the clock, the gateway, and that only one of them is
/// at work at a time: the hub, or, when that rests, one step of the store or of the push worker. So the same seed has
/// the same course. Belongs to one thread, which waits in every call.
final class SimulatedRelay {
  let port: UInt16
  let store: Store
  let fuse: Fuse
  private let relay: Relay
  private let worker: PushWorker
  private let thread: HubThread
  private let clock: VirtualClock
  private let gateway: RecordingGateway
  private let turns: Turns
  private var work: Answer<Result<Void, any Error>>?

  /// Opens the folder, decides again what an earlier run left, and listens.
  /// - Parameters:
  ///   - image: Where a crash leaves its files.
  ///   - seed: Of the order in which what could be done at the same time is done.
  init(
    folder: String, image: String, clock: VirtualClock, gateway: RecordingGateway, policy: DeliveryPolicy, seed: Int
  ) throws {
    let thread = HubThread()
    let turns = Turns(seed: seed)
    let fuse = Fuse(folder: folder, image: image)
    let threads = StoreThreads.given { turns.add(.store, $0) }
    store = try Store(folder: folder, synchronous: .normal, threads: threads, now: { clock.now }) { completions in
      fuse.pass(completions) { completions in
        thread.perform { for completion in completions { completion() } }
      }
    }
    gateway.serve(fuse)
    let limits = Self.limits
    let hub = try Hub(
      HubConfiguration(
        address: "127.0.0.1", port: 0, subprotocol: "stillwire.v1.json", path: "/v1/connect", origins: [],
        requests: Commands.frames, limits: limits, grace: policy.grace),
      thread: thread
    ) { _, _ in }
    hub.setClock(clock.now)
    port = hub.port
    let log = Logger(label: "simulation") { _ in SwiftLogNoOpLogHandler() }
    let worker = PushWorker(
      store: store, gateways: [.simulator: gateway], now: { clock.now }, log: log)
    relay = Relay(
      hub: hub, store: store,
      settings: Relay.Settings(
        authentication: .open, apiKeys: APIKeys(), identityGrace: .zero, limits: limits, policy: policy,
        rooms: RoomPatterns(), isMetricsOpen: true),
      gateways: Gateways(SimulatedGateway(now: { clock.now })), http: HTTPService(site: Site()), worker: worker,
      log: log)
    self.worker = worker
    self.thread = thread
    self.fuse = fuse
    self.clock = clock
    self.gateway = gateway
    self.turns = turns
    try finish(
      begin { [relay] in
        await worker.takeOver()
        try await relay.start()
      })
    onHub { $0.deliveries.use(PushPace(most: 3)) }
  }

  /// The defaults, but nobody is told to be slower.
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

  /// When the next timer of the hub is due.
  var nextTimer: Timestamp? { onHub { $0.hub.nextDue } }

  // MARK: Turns

  /// Returns when the hub has done all that it can do by itself: everything that clients had written before this call
  /// has been read, and what they are told is written.
  func rest() {
    let done = Answer<Void>()
    thread.perform { [thread] in Self.look(thread, jobs: -1, quietRounds: 0, done) }
    done.wait()
  }

  /// A round in which nothing came but this job was quiet; what the sockets held in the first is done in the second.
  private static func look(_ thread: HubThread, jobs: Int, quietRounds: Int, _ done: Answer<Void>) {
    let count = thread.jobCount
    let quietRounds = count == jobs + 1 ? quietRounds + 1 : 0
    guard quietRounds < 2 else { return done.give(()) }
    thread.perform { look(thread, jobs: count, quietRounds: quietRounds, done) }
  }

  /// One step of the store or of the worker, for when the hub rests; false: there is none.
  func takeTurn() -> Bool { turns.take() }

  /// Whether nothing is left that the hub waits for.
  /// - Parameter sessions: How many connections there are to be.
  func isAtRest(sessions: Int) -> Bool {
    onHub { relay in
      let isDue = relay.hub.nextDue.map { $0 <= relay.hub.now } ?? false
      return !isDue && !relay.isBusy && relay.hub.sessionCount == sessions
    }
  }

  /// Keeps the hub from doing anything meanwhile, so that what is written to it comes at once and in this order.
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

  /// Has the worker work off what is due, unless it is at it.
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
    onHub { $0.flush() }
    rest()
    while takeTurn() { rest() }
    onHub { $0.stopHub() }
    finish()
  }

  /// An end by a crash: what is on disk now is in the image, and nobody hears anything more.
  func crash() {
    fuse.blow()
    rest()  // what was told in the last moment
    onHub { $0.stopHub() }
    let untold = fuse.release()
    thread.perform { for completion in untold { completion() } }
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

  /// Does something where the relay lives, and waits for it.
  private func onHub<T: Sendable>(_ body: @escaping @Sendable (isolated Relay) -> T) -> T {
    let answer = Answer<T>()
    thread.perform { [relay] in answer.give(relay.assumeIsolated { body($0) }) }
    return answer.wait()
  }
}

extension Relay {
  /// True if something is under way that others wait for.
  fileprivate var isBusy: Bool {
    deliveries.holds.isBusy || rooms.isBusy || people.isReading
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

  var isGiven: Bool { value.withLock { $0 != nil } }

  /// Waits for it; once.
  func wait() -> Value {
    done.wait()
    guard let value = value.withLock({ $0 }) else { preconditionFailure("it is signalled when it is given") }
    return value
  }
}
