// SPDX-License-Identifier: Apache-2.0
import Foundation
import RelayProtocol
import Testing

@testable import RelayStore

/// Measures the first page of a user with many rooms, while messages are stored. Runs only with `STILLWIRE_INBOX_BENCH`:
/// the number of all rooms. The user is in 10,000 of them.
@Suite(.enabled(if: ProcessInfo.processInfo.environment["STILLWIRE_INBOX_BENCH"] != nil)) struct InboxBenchmark {
  private static let own = 10_000
  private static let messagesPerSecond = 2_000
  private static let pages = 1_000

  @Test func `the first page`() async throws {
    let all = Int(ProcessInfo.processInfo.environment["STILLWIRE_INBOX_BENCH"] ?? "") ?? Self.own
    let test = try TestStore()
    let step = max(1, all / Self.own)
    for start in stride(from: 0, to: all, by: 500) {
      try await test.write { transaction in
        for number in start..<min(start + 500, all) {
          let name = RoomID(unchecked: "room-\(number)")
          let members = number % step == 0 ? [bob, alice] : [alice]
          for user in members { _ = try transaction.rooms.join(user, room: name, epoch: "epoch", now: .at(0)) }
          _ = try transaction.messages.append(draft("hello", in: name))
        }
      }
    }
    print("rooms \(all), of the user \(Self.own)")
    let idle = try await measure(test)
    print("idle: \(idle)")
    let isOver = Flag()
    let load = Task { await store(test, rooms: all, until: isOver) }
    let busy = try await measure(test)
    isOver.set()
    let stored = await load.value
    print("with \(stored) messages a second: \(busy)")
    // Without the rooms of this user among the newest ones, the page needs the scan.
    try await test.write { transaction in
      for number in 0..<InboxReader.maxWalked {
        _ = try transaction.rooms.join(alice, room: RoomID(unchecked: "new-\(number)"), epoch: "e", now: .at(0))
      }
    }
    print("by the scan: \(try await measure(test))")
    print("the other query in the same run: the unread count of all rooms: \(try await unread(test)) ms")
  }

  private func unread(_ test: TestStore) async throws -> Double {
    var times: [Double] = []
    for _ in 0..<30 {
      times.append(
        try await test.read { reader in
          let start = ContinuousClock.now
          _ = try reader.messages.unread(of: bob.id, now: .at(0))
          return (ContinuousClock.now - start) / .milliseconds(1)
        })
    }
    return times.sorted()[15]
  }

  private func measure(_ test: TestStore) async throws -> String {
    var times: [Double] = []
    for _ in 0..<Self.pages {
      times.append(
        try await test.read { reader in
          let start = ContinuousClock.now
          let page = try reader.inbox.rooms(of: bob.id, limit: 50, now: .at(0))
          #expect(page.entries.count == 50)
          return (ContinuousClock.now - start) / .milliseconds(1)
        })
      try await Task.sleep(for: .milliseconds(3))
    }
    times.sort()
    return [50, 90, 99].map { "p\($0) \(times[times.count * $0 / 100]) ms" }.joined(separator: ", ")
  }

  /// Appends messages at the rate, and returns the rate that was reached.
  private func store(_ test: TestStore, rooms: Int, until isOver: Flag) async -> Int {
    let start = ContinuousClock.now
    var count = 0
    while !isOver.isSet {
      let due = Int((ContinuousClock.now - start) / .milliseconds(1)) * Self.messagesPerSecond / 1_000
      while count < due {
        test.store.append(draft("hello", in: RoomID(unchecked: "room-\(Int.random(in: 0..<rooms))"))) { _ in }
        count += 1
      }
      try? await Task.sleep(for: .milliseconds(2))
    }
    return Int(Double(count) / ((ContinuousClock.now - start) / .seconds(1)))
  }
}

private final class Flag: @unchecked Sendable {
  private let lock = NSLock()
  private var value = false
  var isSet: Bool { lock.withLock { value } }
  func set() { lock.withLock { value = true } }
}
