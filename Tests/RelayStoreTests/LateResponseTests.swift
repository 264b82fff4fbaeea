// SPDX-License-Identifier: Apache-2.0
import Foundation
import GRDB
import RelayProtocol
import Synchronization
import Testing

@testable import RelayStore

/// A clock that the test moves.
private final class MovingClock: Sendable {
  private let time = Mutex(TestStore.time)

  var now: Timestamp { time.withLock { $0 } }

  func pass(_ duration: Duration) -> Timestamp {
    time.withLock {
      $0 = $0 + duration
      return $0
    }
  }
}

/// Responses that arrive after hours and restarts.
@Suite final class LateResponseTests {
  private let folder = temporaryPath()
  private let clock = MovingClock()
  private var store: Store

  init() async throws {
    store = try Store(folder: folder) { for completion in $0 { completion() } }
    store.close()
    try restart()
    try await store.write { try $0.prepareRoom() }
  }

  deinit {
    store.close()
    try? FileManager.default.removeItem(atPath: folder)
  }

  private func restart() throws {
    store.close()
    store = try Store(folder: folder, clock: StoreClock(now: { [clock] in clock.now })) {
      for completion in $0 { completion() }
    }
  }

  /// Moves the clock, and purges finished jobs as the push worker does.
  private func pass(_ hours: Int64) async throws {
    let now = clock.pass(.seconds(hours * 3600))
    try await store.write { transaction in
      try transaction.queue.purge(finishedBefore: now - .seconds(3 * 24 * 3600))
      try transaction.responses.purge()
    }
  }

  /// Sends Bob a message of this category from Alice. Returns the id of the push.
  private func notify(_ category: String? = "invitation") async throws -> String {
    let id = try await store.write { transaction in
      var message = draft(jobs: [job()], cursorFollows: true)
      message.push = category.map { PushRequest(#"{"category":"\#($0)"}"#) }
      return try transaction.messages.append(message).jobs.first
    }
    _ = try await store.write { try $0.queue.claim(limit: 9, now: .at(0), leaseUntil: .at(9)) }
    let sent = try #require(id)
    _ = try await store.write { try $0.queue.finish(sent, state: .sent, now: .at(0)) }
    return sent
  }

  /// Sends further messages. The room keeps ten.
  private func talk() async throws {
    try await store.write { transaction in
      for _ in 0..<200 {
        var message = draft(cursorFollows: true)
        message.retention = Retention(count: 10)
        _ = try transaction.messages.append(message)
      }
    }
  }

  private func notification(_ id: String) async throws -> NotificationRecord? {
    try await store.read { try $0.responses.notification(id, of: bob.id) }
  }

  private func accept(_ id: String) async throws -> Responded {
    try await store.write {
      try $0.responses.respond(ResponseDraft(notification: id, user: bob.id, action: ActionID(unchecked: "accept")))
    }
  }

  private func unsent() async throws -> [String] {
    try await store.read { try $0.responses.responses(to: alice.id, after: 0, limit: 9) }.map(\.notification)
  }

  @Test func `a response after 23 hours and restarts waits for the sender`() async throws {
    let id = try await notify()
    try await talk()
    try restart()
    try await pass(23)
    #expect(try await notification(id)?.message == MessageReference(room: room, seq: 1))
    #expect(try await accept(id).needsSending)
    try restart()
    #expect(try await store.read { try $0.responses.sendersWithResponses() } == [alice.id])
    try await pass(27 * 24)
    #expect(try await unsent() == [id])
    try await pass(25)
    #expect(try await unsent().isEmpty)
  }

  @Test func `a notification can be answered for three days, even if the history is trimmed`() async throws {
    let id = try await notify()
    try await talk()
    try await pass(71)
    #expect(try await notification(id) != nil)
    try await pass(2)
    #expect(try await notification(id) == nil)
    #expect(try await store.read { try $0.rooms.aging(after: 0, limit: 9) }.rooms.first?.hasLeftovers == true)
    _ = try await store.write { try $0.messages.trim(room, to: Retention(count: 10), maxDeleted: 999) }
    #expect(try await store.read { try $0.messages.message(room, 1) } == nil)
  }

  @Test func `a message without a category is deleted with the history`() async throws {
    let id = try await notify(nil)
    try await talk()
    #expect(try await notification(id) == nil)
  }

  @Test func `a received response is kept as long as the user could repeat it`() async throws {
    let id = try await notify()
    let response = try await accept(id).response
    _ = try await store.write { try $0.responses.markSent([response.id], to: alice.id) }
    try await pass(71)
    #expect(try await accept(id).isDuplicate)
    try await pass(2)
    #expect(try await store.read { try Int.fetchOne($0.db, sql: "SELECT count(*) FROM responses") } == 0)
  }

  @Test(arguments: [(false, 28), (true, 3)]) func `a purge has a maximum of rows, and reports when it is reached`(
    isSent: Bool, days: Int64
  ) async throws {
    _ = clock.pass(.seconds(days * 24 * 3600) + .milliseconds(1))
    try await store.write { transaction in
      try transaction.db.execute(
        sql: """
          WITH RECURSIVE numbers(seq) AS (SELECT 1 UNION ALL SELECT seq + 1 FROM numbers WHERE seq < ?)
          INSERT INTO responses (notification, room, seq, user, sender, action, time, is_told)
          SELECT 'gone', 1, seq, 1, 2, 'accept', ?, ? FROM numbers
          """,
        arguments: [Transaction.maxPurged + 1, TestStore.time.rawValue, isSent])
    }
    #expect(try await store.write { try $0.responses.purge() })
    #expect(try await store.write { try $0.responses.purge() } == false)
    #expect(try await store.read { try Int.fetchOne($0.db, sql: "SELECT count(*) FROM responses") } == 0)
  }
}
