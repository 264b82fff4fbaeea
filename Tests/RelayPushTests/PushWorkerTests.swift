// SPDX-License-Identifier: Apache-2.0
import Foundation
import Logging
import RelayDelivery
import RelayGateways
import RelayProtocol
import RelayStore
import Synchronization
import Testing

@testable import RelayPush

@Suite struct PushWorkerTests {
  /// A gateway that gives its outcomes in order, and then the last one.
  private final class Recorder: Gateway {
    private let state: Mutex<(outcomes: [PushOutcome], sent: [PhonePush])>

    init(_ outcomes: PushOutcome...) { state = Mutex((outcomes, [])) }

    var sent: [PhonePush] { state.withLock { $0.sent } }

    func use(_ outcomes: PushOutcome...) { state.withLock { $0.outcomes = outcomes } }

    func send(_ push: PhonePush, to device: Device, noting log: AttemptLog) async -> PushOutcome {
      state.withLock { state in
        state.sent.append(push)
        return state.outcomes.count > 1 ? state.outcomes.removeFirst() : state.outcomes[0]
      }
    }
  }

  private final class Clock: Sendable {
    private let start = ContinuousClock.now
    private let time = Mutex((now: PushWorkerTests.time, elapsed: Duration.zero))

    var now: Timestamp { time.withLock { $0.now } }
    var elapsed: Duration { time.withLock { $0.elapsed } }
    var instant: ContinuousClock.Instant { start + elapsed }

    func advance(_ duration: Duration) {
      time.withLock { ($0.now, $0.elapsed) = ($0.now + duration, $0.elapsed + duration) }
    }

    /// Sets the wall clock.
    func set(by step: Duration) { time.withLock { $0.now = $0.now + step } }
  }

  private static let room = RoomID(unchecked: "room")
  private static let bob = UserID(unchecked: "bob")
  private static let ann = User(id: UserID(unchecked: "ann"), name: "Ann")
  private static let phone = Device(
    id: DeviceID(unchecked: "phone"), app: "org.example.chat", platform: .simulator, token: "token")
  private static let time = Timestamp(rawValue: 1_700_000_000_000)

  /// A message of Ann, with a push to Bob's phone that is due.
  private static func message(
    _ push: PushRequest?, at now: Timestamp, to users: [UserID] = [bob], phone: Device = phone
  ) -> MessageDraft {
    var recipient = Recipient()
    recipient.devices = [phone]
    let message = PlanMessage(MessageTraits(from: ann.id, push: push ?? PushRequest()), in: room, at: now)
    let decisions = users.flatMap { user in
      let member = PlanMember(user, recipient, as: Membership(Marks(read: 0, received: 0), nil, at: 1, shown: now))
      return Planner().decisions(about: message, for: member, now: now)
    }
    return MessageDraft(
      room: room, from: ann, time: now, body: Array("1".utf8), push: push, jobs: decisions.compactMap(\.push))
  }

  /// Runs a test with a store in which Ann has sent Bob a message, with a push that is due.
  private func withMessage(
    _ clock: Clock, push: PushRequest? = nil, phone: Device = phone, _ body: (Store) async throws -> Void
  ) async throws {
    let folder = FileManager.default.temporaryDirectory.path + "/stillwire-push-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let store = try Store(folder: folder, clock: StoreClock(now: { clock.now }, elapsed: { clock.elapsed })) {
      for completion in $0 { completion() }
    }
    defer { store.close() }
    try await store.write { transaction in
      for user in [Self.ann, User(id: Self.bob, name: "Bob")] {
        _ = try transaction.rooms.join(user, room: Self.room, epoch: "epoch", now: Self.time)
      }
      try transaction.devices.register(phone, of: Self.bob, now: Self.time)
      _ = try transaction.messages.append(Self.message(push, at: Self.time, phone: phone))
    }
    try await body(store)
  }

  private func worker(
    _ store: Store, _ gateway: any Gateway, _ clock: Clock,
    ownsClaims: @escaping @Sendable () async -> Bool = { true }, log: Lines = Lines()
  ) -> PushWorker {
    PushWorker(
      store: store, gateways: [.simulator: gateway, .http: gateway], now: { clock.now }, instant: { clock.instant },
      ownsClaims: ownsClaims, log: Logger(label: "test") { _ in log })
  }

  /// The lines of a log.
  private final class Lines: LogHandler, Sendable {
    private let lines = Mutex<[(text: String, metadata: Logger.Metadata)]>([])
    var texts: [String] { lines.withLock { $0.map(\.text) } }
    var facts: [Logger.Metadata] { lines.withLock { $0.map(\.metadata) } }
    var metadata: Logger.Metadata {
      get { [:] }
      set {}
    }
    var logLevel: Logger.Level {
      get { .notice }
      set {}
    }
    subscript(metadataKey _: String) -> Logger.Metadata.Value? {
      get { nil }
      set {}
    }

    func log(event: LogEvent) {
      lines.withLock { $0.append(("\(event.message)", event.metadata ?? [:])) }
    }
  }

  /// Runs the worker until it has sent a number of pushes.
  private func run(_ worker: PushWorker, until isDone: () -> Bool) async throws {
    let running = Task { await worker.run() }
    while !isDone() { try await Task.sleep(for: .milliseconds(5)) }
    running.cancel()
    await running.value
  }

  @Test(.timeLimit(.minutes(20))) func `the end of a push begins the next push of its device`() async throws {
    let clock = Clock()
    try await withMessage(clock) { store in
      try await store.write { transaction in
        for _ in 2...3 { _ = try transaction.messages.append(Self.message(nil, at: clock.now)) }
      }
      let gateway = Recorder(.sent(.shown))
      try await run(worker(store, gateway, clock)) { gateway.sent.count >= 3 }
      #expect(gateway.sent.count == 3)
    }
  }

  /// A gateway that answers no push before a number of pushes are in progress.
  private final class Dam: Gateway {
    private let count = Mutex(0)
    private let height: Int

    init(height: Int) { self.height = height }

    var sent: Int { count.withLock { $0 } }

    func send(_ push: PhonePush, to device: Device, noting log: AttemptLog) async -> PushOutcome {
      count.withLock { $0 += 1 }
      while sent < height, (try? await Task.sleep(for: .milliseconds(1))) != nil {}
      return .sent(.shown)
    }
  }

  @Test(.timeLimit(.minutes(20))) func `the end of a push begins another push of a full lane`() async throws {
    let clock = Clock()
    try await withMessage(clock) { store in
      let users = (0..<PushesInProgress.maxInLane + 20).map { UserID(unchecked: "user-\($0)") }
      try await store.write { transaction in
        for user in users {
          _ = try transaction.rooms.join(User(id: user), room: Self.room, epoch: "epoch", now: Self.time)
          var phone = Self.phone
          phone.token = user.rawValue
          try transaction.devices.register(phone, of: user, now: Self.time)
        }
        _ = try transaction.messages.append(Self.message(nil, at: clock.now, to: users))
      }
      let gateway = Dam(height: PushesInProgress.maxInLane)
      try await run(worker(store, gateway, clock)) { gateway.sent > users.count }
      // One more is the push of the first message.
      #expect(gateway.sent == users.count + 1)
    }
  }

  @Test func `a push is not sent while another node may have its claim`() async throws {
    let clock = Clock()
    try await withMessage(clock) { store in
      let gateway = Recorder(.dead(.other))
      // The number of pushes that were sent before each question.
      let questions = Mutex<[Int]>([])
      let worker = worker(store, gateway, clock) {
        let sent = gateway.sent.count
        return questions.withLock { questions in
          questions.append(sent)
          return questions.count > 1
        }
      }
      await worker.workOff()
      let jobs = try await store.read { try $0.queue.jobs(limit: 9) }
      #expect(questions.withLock { $0 } == [0, 0])
      #expect(gateway.sent.count == 1)
      // The claim that was not used does not count as an attempt.
      #expect(jobs.map(\.attempts) == [1], "\(jobs)")
    }
  }

  @Test func `an update that a gateway cannot send is sent again unchanged`() async throws {
    let clock = Clock()
    try await withMessage(clock) { store in
      let gateway = Recorder(.sent(.shown), .retry(after: nil, .connectFailed), .sent(.accepted))
      let worker = worker(store, gateway, clock)
      func pass(_ seconds: Int) async {
        clock.advance(.seconds(seconds))
        await worker.workOff()
      }
      await worker.workOff()
      #expect(gateway.sent.map(\.badge) == [1])
      try await store.write { transaction in
        try transaction.updates.read(Self.room, Self.bob, upTo: 1)
        try transaction.rooms.mark(Self.room, Self.bob, read: 1, received: 1)
      }
      await pass(1)
      #expect(gateway.sent.count == 2)
      await pass(3600)
      guard gateway.sent.count == 3 else {
        Issue.record("\(gateway.sent.count) pushes")
        return
      }
      let updates = gateway.sent.dropFirst()
      for update in updates {
        #expect(update.badge == 0)
        #expect(update.carried.read == [MessageReference(room: Self.room, seq: 1)])
      }
      #expect(Set(updates.map(\.id)).count == 1)
      // Nothing is left to send.
      await pass(3600)
      #expect(gateway.sent.count == 3)
    }
  }

  @Test func `the first success after an outage sends the pushes that wait for a retry`() async throws {
    let clock = Clock()
    let users = (0..<5).map { UserID(unchecked: "user-\($0)") }
    let log = Lines()
    let phone = Device(id: Self.phone.id, app: "org.example.chat", platform: .http, token: "token")
    try await withMessage(clock, phone: phone) { store in
      try await store.write { transaction in
        for user in users {
          _ = try transaction.rooms.join(User(id: user), room: Self.room, epoch: "epoch", now: Self.time)
          var phone = phone
          phone.token = user.rawValue
          try transaction.devices.register(phone, of: user, now: Self.time)
        }
        _ = try transaction.messages.append(Self.message(nil, at: clock.now, to: users, phone: phone))
      }
      let gateway = Recorder(.retry(after: nil, .connectFailed))
      let worker = worker(store, gateway, clock, log: log)
      func count(_ state: JobState) async throws -> Int {
        try await store.read { try $0.queue.jobs(limit: 99).count { $0.state == state } }
      }
      await worker.workOff()
      #expect(try await count(.retrying) == 6)
      #expect(worker.serviceOutages.map(\.reason) == [.connectFailed])
      #expect(log.texts == ["a push service fails; the relay tries its pushes again"])
      // The delays of retries become long.
      for _ in 1...8 {
        clock.advance(.seconds(1_000))
        await worker.workOff()
      }
      // After 5 s something new is due: one push is tried as a probe, and then waits again.
      clock.advance(.seconds(4))
      await worker.workOff()
      let tried = gateway.sent.count
      clock.advance(.seconds(1))
      await worker.workOff()
      #expect(gateway.sent.count == tried + 1)
      // The next probe arrives. The others follow it without a wait.
      gateway.use(.sent(.accepted))
      clock.advance(.seconds(5))
      await worker.workOff()
      await worker.workOff()
      #expect(try await count(.sent) == 6)
      #expect(worker.serviceOutages.isEmpty)
      #expect(log.texts.last == "a push service works again" && log.texts.count == 2)
    }
  }

  @Test func `pushes that fail for good are logged once, with their number in the next line`() async throws {
    let clock = Clock()
    try await withMessage(clock) { store in
      let log = Lines()
      let worker = worker(store, Recorder(.dead(.badTopic)), clock, log: log)
      await worker.workOff()
      for seconds in [1, 1, 10] {
        clock.advance(.seconds(seconds))
        try await store.write { _ = try $0.messages.append(Self.message(nil, at: clock.now)) }
        await worker.workOff()
      }
      #expect(log.texts == ["a push has failed for good", "a push has failed for good"])
      #expect(log.facts.map { $0["pushes"] } == ["1", "3"])
      #expect(log.facts.last?["reason"] == "BadTopic")
    }
  }

  @Test(arguments: [-3600, 600, 40 * 86_400])
  func `the time in which a push is retried keeps its length when the wall clock is set`(step: Int) async throws {
    let clock = Clock()
    try await withMessage(clock, push: PushRequest(lifetime: .seconds(45))) { store in
      let gateway = Recorder(.retry(after: nil, .connectFailed))
      let worker = worker(store, gateway, clock)
      await worker.workOff()
      clock.set(by: .seconds(step))
      _ = try await store.write { try $0.queue.moveDue(by: .seconds(step), setTo: clock.now) }
      clock.advance(.seconds(44))
      await worker.workOff()
      #expect(gateway.sent.count == 2)
      #expect(gateway.sent.last?.expires == clock.now + .seconds(1))
      clock.advance(.seconds(3600))
      await worker.workOff()
      #expect(gateway.sent.count == 2)
      #expect(try await store.read { try $0.queue.jobs(limit: 9).map(\.state) } == [.expired])
    }
  }

  @Test func `an update does not expire by a large step of the wall clock`() async throws {
    let clock = Clock()
    try await withMessage(clock) { store in
      let gateway = Recorder(.sent(.shown))
      let worker = worker(store, gateway, clock)
      await worker.workOff()
      try await store.write { transaction in
        try transaction.updates.read(Self.room, Self.bob, upTo: 1)
        try transaction.rooms.mark(Self.room, Self.bob, read: 1, received: 1)
      }
      // The first attempt is before the step, and the second one fails after it.
      gateway.use(.retry(after: nil, .connectFailed), .retry(after: nil, .connectFailed), .sent(.accepted))
      clock.advance(.seconds(1))
      await worker.workOff()
      clock.set(by: .seconds(40 * 86_400))
      for _ in 1...2 {
        clock.advance(.seconds(3600))
        await worker.workOff()
      }
      #expect(gateway.sent.count == 4)
      #expect(gateway.sent.dropFirst().allSatisfy { $0.badge == 0 })
    }
  }

  @Test func `a silent push does not expire by a large step of the wall clock`() async throws {
    let clock = Clock()
    try await withMessage(clock) { store in
      let gateway = Recorder(.sent(.shown))
      let worker = worker(store, gateway, clock)
      await worker.workOff()
      try await store.write { transaction in
        _ = try transaction.messages.append(Self.message(PushRequest(isSilent: true), at: clock.now))
      }
      clock.set(by: .seconds(40 * 86_400))
      await worker.workOff()
      #expect(gateway.sent.count == 2)
    }
  }

  @Test func `a removal that a payload does not have stays due`() async throws {
    let clock = Clock()
    try await withMessage(clock) { store in
      let gateway = Recorder(.sent(.shown))
      let worker = worker(store, gateway, clock)
      await worker.workOff()
      try await store.write { transaction in
        try transaction.updates.read(Self.room, Self.bob, upTo: 1)
        try transaction.rooms.mark(Self.room, Self.bob, read: 1, received: 1)
      }
      // The gateway accepts only a payload without capacity for the removal.
      gateway.use(.tooLarge(.payloadTooLarge, maxSize: 80), .sent(.accepted))
      clock.advance(.seconds(1))
      await worker.workOff()
      #expect(gateway.sent.map { $0.carried.count } == [0, 1, 0])
      gateway.use(.sent(.accepted))
      clock.advance(.seconds(3600))
      await worker.workOff()
      #expect(gateway.sent.last?.carried.count == 1)
    }
  }

  @Test func `a refused size makes the next try shorter, and never longer`() async throws {
    let clock = Clock()
    try await withMessage(clock) { store in
      let gateway = Recorder(
        .tooLarge(.payloadTooLarge, maxSize: 2_000), .tooLarge(.payloadTooLarge, maxSize: nil), .sent(.shown))
      await worker(store, gateway, clock).workOff()
      #expect(gateway.sent.map(\.maxSize) == [Push.maxPayload, 2_000, 2_000])
    }
    try await withMessage(clock) { store in
      let gateway = Recorder(.tooLarge(.payloadTooLarge, maxSize: nil), .sent(.shown))
      await worker(store, gateway, clock).workOff()
      #expect(gateway.sent.map(\.maxSize) == [Push.maxPayload, PushWorker.shortened])
    }
  }

  @Test(arguments: [-3_600, 600, 40 * 86_400])
  func `a pause of forgetting tokens keeps its length when the wall clock is set`(step: Int) async throws {
    let clock = Clock()
    try await withMessage(clock) { store in
      let worker = worker(store, Recorder(.sent(.shown)), clock)
      let phones = (0..<23).map { number in
        Device(
          id: DeviceID(unchecked: "phone-\(number)"), app: "org.example.chat", platform: .simulator,
          token: "token-\(number)")
      }
      try await store.write { transaction in
        for phone in phones { try transaction.devices.register(phone, of: Self.bob, now: Self.time) }
      }
      /// Refuses the tokens. Returns the numbers of all forgotten and kept ones.
      func refuse(_ numbers: Range<Int>) async -> [UInt64] {
        for number in numbers { await worker.forget(phones[number], registeredBefore: clock.now + .seconds(1)) }
        let tally = await worker.tally
        return [tally.forgotten, tally.kept]
      }
      let first = await refuse(0..<21)
      #expect(first == [20, 1])
      clock.set(by: .seconds(step))
      #expect(worker.pausedForgetting.map(\.until) == [clock.now + .seconds(3_600)])
      clock.advance(.seconds(3_599))
      #expect(worker.pausedForgetting.map(\.until) == [clock.now + .seconds(1)])
      let second = await refuse(21..<22)
      #expect(second == [20, 2])
      clock.advance(.seconds(1))
      #expect(worker.pausedForgetting.isEmpty)
      let third = await refuse(22..<23)
      #expect(third == [21, 2])
    }
  }
}
