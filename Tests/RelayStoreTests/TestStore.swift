// SPDX-License-Identifier: Apache-2.0
import Foundation
import RelayDelivery
import RelayJSON
import RelayProtocol
import Synchronization
import Testing

@testable import RelayStore

/// The two clocks of a test, which stand still until the test moves them.
final class TestClocks: Sendable {
  private let state = Mutex((now: TestStore.time, elapsed: Duration.zero))

  var store: StoreClock { StoreClock(now: { self.now }, elapsed: { self.elapsed }) }
  var now: Timestamp { state.withLock { $0.now } }
  private var elapsed: Duration { state.withLock { $0.elapsed } }

  /// Sets the wall clock.
  func set(by step: Duration) { state.withLock { $0.now = $0.now + step } }

  func pass(_ time: Duration) {
    state.withLock { ($0.now, $0.elapsed) = ($0.now + time, $0.elapsed + time) }
  }

  /// Sets the wall clock back, and lets time pass until it shows the present time again.
  func rewind(by step: Duration) {
    set(by: .zero - step)
    pass(step)
  }
}

/// A store in a temporary folder, which is deleted with it. Its clock is at `time` until a test moves it.
final class TestStore: Sendable {
  static let time = Timestamp(rawValue: 1_700_000_000_000)

  let folder: String
  let store: Store
  let clocks = TestClocks()
  /// The sizes of the committed groups.
  let groups: GroupSizes

  /// - Parameter journal: If it is not `nil`, the file follows the journal from position 0.
  init(journal: MemoryJournal? = nil) throws {
    folder = temporaryPath()
    let groups = GroupSizes()
    if journal != nil { try followLog(folder) }
    store = try Store(folder: folder, journal: journal, clock: clocks.store) { completions in
      groups.append(completions.count)
      for completion in completions { completion() }
    }
    self.groups = groups
  }

  /// A store with messages of Alice in `room`. Their texts are their seqs.
  static func withMessages(_ count: Int) async throws -> TestStore {
    let test = try TestStore()
    try await test.write { transaction in
      try transaction.prepareRoom()
      for number in 1...count { _ = try transaction.messages.append(draft("\(number)")) }
    }
    return test
  }

  deinit {
    store.close()
    try? FileManager.default.removeItem(atPath: folder)
  }

  @discardableResult
  func write<T: Sendable>(_ work: @escaping @Sendable (Transaction) throws -> T) async throws -> T {
    try await store.write(work)
  }

  func read<T: Sendable>(_ work: @escaping @Sendable (Reader) throws -> T) async throws -> T {
    try await store.read(work)
  }

  /// Claims the pushes of messages that are due, for a minute.
  func claim(_ limit: Int = 99, now: Timestamp = .at(0)) async throws -> [Claim] {
    try await write { try $0.queue.claim(limit: limit, now: now, leaseUntil: now + .seconds(60)) }
  }

  /// Claims the updates of phones that are due, for a minute.
  func claimUpdates(at time: Timestamp = .at(0)) async throws -> [Claim] {
    try await write { try $0.updates.claim(limit: 9, now: time, leaseUntil: time + .seconds(60)) }
  }

  /// Ends an update as sent.
  func finish(_ update: Claim) async throws { try await write { try $0.updates.finish(update) } }

  func record(_ id: String) async throws -> JobRecord { try #require(try await read { try $0.queue.job(id) }) }

  /// Combines everything that `submit` passes to the store into one group.
  func gather(_ submit: () -> Void) {
    let hasBegun = DispatchSemaphore(value: 0)
    let gate = DispatchSemaphore(value: 0)
    let block: @Sendable (Transaction) throws -> Void = { _ in
      hasBegun.signal()
      gate.wait()
    }
    store.submit(block, completion: { _ in })
    hasBegun.wait()
    submit()
    gate.signal()
  }
}

final class GroupSizes: Sendable {
  private let sizes = Mutex<[Int]>([])
  func append(_ size: Int) { sizes.withLock { $0.append(size) } }
  var all: [Int] { sizes.withLock { $0 } }
}

func temporaryPath() -> String {
  FileManager.default.temporaryDirectory.path + "/stillwire-store-\(UUID().uuidString)"
}

let room = RoomID(unchecked: "room")
let alice = User(id: UserID(unchecked: "alice"), name: "Alice", avatar: "https://example.org/a.png")
let bob = User(id: UserID(unchecked: "bob"), name: "Bob")

extension PushRequest {
  /// Parses `push` as a sender with all rights requests it.
  init(_ text: String) {
    guard let value = JSON(reading: Array(text.utf8)),
      let request = try? PushRequest(Fields(["push": value]), rights: .standard)
    else { preconditionFailure("\(text) is no push") }
    self = request
  }
}

extension Timestamp {
  /// The time this many milliseconds after the clock of ``TestStore``.
  static func at(_ milliseconds: Int64) -> Timestamp {
    TestStore.time + .milliseconds(milliseconds)
  }

  /// A time after all tests.
  static let never = Timestamp(rawValue: 1 << 52)
}

func draft(
  _ text: String = "hi", in room: RoomID = room, from user: User = alice, at time: Timestamp = TestStore.time,
  key: String? = nil, jobs: [PlannedPush] = [], cursorFollows: Bool = false
) -> MessageDraft {
  MessageDraft(
    room: room, from: user, time: time, body: Array("\"\(text)\"".utf8), key: key, jobs: jobs,
    cursorFollows: cursorFollows)
}

func phone(_ id: String = "phone", token: String = "token") -> Device {
  Device(id: DeviceID(unchecked: id), app: "org.example.chat", platform: .simulator, token: token)
}

extension Device {
  /// The device as the store returns it.
  func registered(at time: Timestamp = .at(0)) -> Device {
    var device = self
    device.registered = time
    return device
  }
}

func job(to user: User = bob, _ device: Device = phone(), due: Timestamp = TestStore.time) -> PlannedPush {
  var recipient = Recipient()
  recipient.devices = [phone()]
  let member = PlanMember(user.id, recipient, as: Membership(Marks(read: 0, received: 0), nil, at: 1, shown: .at(0)))
  let message = PlanMessage(MessageTraits(from: UserID(unchecked: "sender")), in: room, at: .at(0))
  guard var push = Planner().decisions(about: message, for: member, now: .at(0)).first?.push else {
    preconditionFailure("nothing is against the push")
  }
  push.device = device
  push.level = nil
  push.due = due
  push.explanation.facts.message.expires = .never
  return push
}

extension Transaction {
  /// Makes Alice and Bob members of the room, and Bob's phone a device.
  func prepareRoom(_ room: RoomID = room) throws {
    for user in [alice, bob] { _ = try rooms.join(user, room: room, epoch: "epoch", now: TestStore.time) }
    try devices.register(phone(), of: bob.id, now: TestStore.time)
  }
}

extension Store {
  func append(_ draft: MessageDraft, completion: @escaping @Sendable (Result<Appended, StoreError>) -> Void) {
    append(QueuedMessage(draft), completion: completion)
  }
}
