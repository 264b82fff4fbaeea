// SPDX-License-Identifier: Apache-2.0
import GRDB
import RelayDelivery
import RelayProtocol
import SeededRandom
import Testing

@testable import RelayStore

/// Random sequences of operations on jobs. The order follows from a seed.
@Suite struct JobPropertyTests {
  let test: TestStore
  init() throws { test = try TestStore() }

  static let rooms = ["a", "b"].map { RoomID(unchecked: $0) }
  static let devices = [phone(), phone("tablet", token: "other")]
  static let messages: ClosedRange<Int64> = 1...20

  /// Laws that hold between any two transactions. Each query returns the rows that break a law.
  private static let laws = [
    "exactly the first queued job of a room and device is the next": """
    SELECT * FROM jobs AS job WHERE \(Schema.queued) AND is_next <> NOT EXISTS (
      SELECT 1 FROM jobs AS earlier WHERE earlier.\(Schema.queued) AND earlier.user = job.user
        AND earlier.device = job.device AND earlier.room = job.room
        AND (earlier.seq, earlier.round) < (job.seq, job.round))
    """,
    "what is set aside is not the next": "SELECT * FROM jobs WHERE \(Schema.aside) AND is_next",
    "what has ended has a time, and nothing else": """
    SELECT * FROM jobs WHERE state <> 'merged'
      AND (finished_at IS NULL) = (state IN ('sent', 'cancelled', 'expired', 'dead'))
    """,
    "what is merged goes with a job of its device that is under way and not merged itself": """
    SELECT * FROM jobs AS job WHERE state = 'merged' AND finished_at IS NULL AND NOT EXISTS (
      SELECT 1 FROM jobs AS carrier
      WHERE carrier.id = job.merged_into AND carrier.finished_at IS NULL AND carrier.state <> 'merged'
        AND carrier.user = job.user AND carrier.device = job.device AND carrier.digest IS NOT NULL)
    """,
    "what was merged and has ended was sent or is dead": """
    SELECT * FROM jobs AS job WHERE state = 'merged' AND finished_at IS NOT NULL AND NOT EXISTS (
      SELECT 1 FROM jobs AS carrier
      WHERE carrier.id = job.merged_into AND carrier.state IN ('sent', 'dead'))
    """,
    "a lease belongs to what is being sent": "SELECT * FROM jobs WHERE (lease IS NULL) = (state = 'sending')",
    "a hold has an end": "SELECT * FROM jobs WHERE state = 'held' AND due > created + 43200000",
  ]

  private func checkLaws() async throws {
    let broken = try await test.read { reader in
      try Self.laws.filter { try Row.fetchOne(reader.db.cachedStatement(sql: "\($0.value) LIMIT 1")) != nil }
    }
    #expect(broken.keys.sorted() == [])
  }

  @Test(arguments: 1...8) func `no job is lost in a random sequence of operations`(seed: Int) async throws {
    var random = SeededGenerator(seed: seed)
    try await test.write { transaction in
      for room in Self.rooms { try transaction.prepareRoom(room) }
      for device in Self.devices { try transaction.devices.register(device, of: bob.id, now: .at(0)) }
      for room in Self.rooms { for _ in Self.messages { _ = try transaction.messages.append(draft(in: room)) } }
    }
    var claimed: [Claim] = []
    for step in 0..<200 {
      let now = Timestamp.at(Int64(step))
      let change = Change(now: now, random: &random)
      claimed += try await test.write { [claimed] in try change.apply(to: $0, claimed) }
      if change.endsClaim, !claimed.isEmpty { claimed.removeFirst() }
      try await checkLaws()
    }
    try await drain()
    try await checkLaws()
  }

  /// Ends all holds and sends all jobs.
  private func drain() async throws {
    let end = Timestamp.at(99_999)
    try await test.write { transaction in
      try transaction.queue.releaseLeases()
      for job in try transaction.reader.queue.openJobs(of: bob.id).jobs {
        try transaction.queue.decide(job.id, .push(.active))
      }
    }
    // Each round ends at least one job of each device with jobs.
    for _ in 0..<400 where try await test.read({ try $0.queue.nextDue() }) != nil {
      try await test.write { transaction in
        for claim in try transaction.queue.claim(limit: 9, now: end, leaseUntil: end + .seconds(1)) {
          try transaction.queue.finish(claim.id, state: .sent, now: end)
        }
      }
    }
    #expect(try await test.read { try $0.queue.unfinishedJobs(at: Moment(now: .at(0))).counts } == [:])
  }

  /// A random operation.
  struct Change {
    let now: Timestamp
    let kind: Int
    let room: RoomID
    let device: Device
    let seq: Int64
    let flag: Bool
    /// Random numbers that choose the jobs.
    let picks: [Int]

    init(now: Timestamp, random: inout SeededGenerator) {
      self.now = now
      kind = Int.random(in: 0..<14, using: &random)
      room = rooms.randomElement(using: &random) ?? rooms[0]
      device = devices.randomElement(using: &random) ?? devices[0]
      seq = Int64.random(in: messages, using: &random)
      flag = Bool.random(using: &random)
      picks = (0..<3).map { _ in Int.random(in: 0..<1_000, using: &random) }
    }

    var endsClaim: Bool { kind == 3 || kind == 4 || kind == 5 }

    /// Applies the operation. Returns the claims.
    func apply(to transaction: Transaction, _ claimed: [Claim]) throws -> [Claim] {
      switch kind {
      case 0, 1, 2:
        // One third of the jobs are throttled.
        var draft = job(device, due: now + .milliseconds(picks[0].isMultiple(of: 3) ? 20 : 0))
        draft.isHeld = flag
        draft.explanation.facts.message.isNotifyAnyway = kind == 2
        try transaction.queue.insert([draft], room: room, seq: seq)
      case 3:
        if let claim = claimed.first { try transaction.queue.finish(claim.id, state: flag ? .sent : .dead, now: now) }
      case 4:
        if let claim = claimed.first { try transaction.queue.finish(claim.id, state: .expired, now: now) }
      case 5:
        if let claim = claimed.first {
          try transaction.queue.retry(claim.id, due: now + .milliseconds(9), isUnknown: picks[0].isMultiple(of: 3))
        }
      case 6, 7: return try transaction.queue.claim(limit: 1, now: now, leaseUntil: now + .milliseconds(30))
      case 8: try transaction.queue.cancel(room, bob.id, upTo: min(seq, 4), reason: "read")
      case 9: if flag { _ = try transaction.messages.delete(room, seq) }
      default:
        let open = try transaction.reader.queue.openJobs(of: bob.id).jobs.map(\.id)
        guard !open.isEmpty else { break }
        let ids = picks.map { open[$0 % open.count] }
        switch kind {
        case 10: try transaction.queue.decide(ids[0], .push(.active))
        case 11: try transaction.queue.decide(ids[0], .hold(until: flag ? now + .milliseconds(20) : .at(.max / 2)))
        case 12: try transaction.queue.decide(ids[0], flag ? .cancel(.muted) : .merge(into: ids[1]))
        default: for id in ids.dropLast() { try transaction.queue.decide(id, .merge(into: ids[2])) }
        }
      }
      return []
    }
  }
}
