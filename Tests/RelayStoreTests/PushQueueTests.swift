// SPDX-License-Identifier: Apache-2.0
import GRDB
import RelayDelivery
import RelayProtocol
import SeededRandom
import Testing

@testable import RelayStore

/// The table of transitions between the states of a job.
@Suite struct JobStateTests {
  /// All transitions: a line for each state, a column for each event, and `-` for an impossible event.
  private static let table = """
              waitEnded held released merged claimed leaseEnded retried  sent refused expired cancelled revived repeated
    waiting   ready     held ready    merged -       -          -        sent dead    expired cancelled -       -
    held      -         held ready    merged -       -          -        sent dead    expired cancelled -       -
    merged    -         held ready    -      -       -          -        -    -       expired cancelled -       -
    ready     -         held ready    merged sending -          -        sent dead    expired cancelled -       -
    sending   -         -    -        -      -       ready      retrying sent dead    expired cancelled -       ready
    retrying  -         held -        merged sending -          -        sent dead    expired cancelled -       -
    sent      -         -    -        -      -       -          -        -    -       -       -         -       -
    cancelled -         -    -        -      -       -          -        sent -       -       -         -       -
    expired   -         -    -        -      -       -          -        -    -       -       -         -       -
    dead      -         -    -        -      -       -          -        -    -       -       -         held       -
    """.split(separator: "\n").map { $0.split(separator: " ").map(String.init) }

  @Test func `this test's table has every state and every event`() {
    #expect(Self.table[0] == JobEvent.allCases.map { "\($0)" })
    #expect(Self.table.dropFirst().map { $0[0] } == JobState.allCases.map(\.rawValue))
  }

  @Test(arguments: JobState.allCases)
  func `an event leads to the state in the table, or is not possible`(state: JobState) throws {
    let line = try #require(Self.table.first { $0[0] == state.rawValue })
    #expect(JobEvent.allCases.map { state.next(on: $0)?.rawValue ?? "-" } == Array(line.dropFirst()))
  }

  @Test(arguments: JobEvent.allCases) func `the SQL of an event agrees with the table`(event: JobEvent) throws {
    let database = try DatabaseQueue()
    for state in JobState.allCases {
      let next = try database.write { db in
        try db.execute(sql: "CREATE TABLE IF NOT EXISTS jobs (state TEXT); DELETE FROM jobs")
        try db.execute(sql: "INSERT INTO jobs VALUES (?)", arguments: [state.rawValue])
        try db.execute(sql: "UPDATE jobs SET \(event.assignment) WHERE \(event.condition)")
        return db.changesCount == 0 ? nil : try String.fetchOne(db, sql: "SELECT state FROM jobs")
      }
      #expect(next == state.next(on: event)?.rawValue)
    }
  }
}

/// Random sequences of all operations on the queue. Each change of a job's state must be a transition that the
/// operation may cause. The order follows from a seed.
@Suite struct JobTransitionTests {
  let test: TestStore
  init() throws { test = try TestStore() }

  private static let rooms = ["a", "b"].map { RoomID(unchecked: $0) }
  private static let devices = [phone(), phone("tablet", token: "other")]
  private static let messages: ClosedRange<Int64> = 1...12

  fileprivate enum Operation: String, CaseIterable {
    case insert, notifyAnyway, claim, renewLeases, finish, retry, releaseLeases, push, hold, wait, cancel, expire,
      merge,
      read, delete, forget, leave, revive, restore, moveDue, edit, claimUpdate, finishUpdate, retryUpdate

    /// The events that the operation may cause, for one job or for several.
    var events: Set<JobEvent> {
      switch self {
      case .insert, .renewLeases, .moveDue, .edit: []
      // A digest is split, or a hold or a wait ends.
      case .notifyAnyway: [.released, .held, .expired]
      // Waits and leases end, late jobs are merged, and jobs without a device or a message are cancelled.
      case .claim: [.leaseEnded, .waitEnded, .merged, .claimed, .expired, .cancelled, .released, .refused]
      // A digest is handed over when its head is cancelled or expires.
      case .finish: [.sent, .refused, .expired, .cancelled, .released]
      case .retry: [.retried, .cancelled, .released, .expired]
      case .releaseLeases: [.leaseEnded]
      case .push: [.released]
      case .hold: [.held, .released, .expired]
      case .wait: [.held, .released, .expired]
      case .cancel: [.cancelled, .released, .held, .expired]
      case .expire: [.expired, .released, .held]
      case .merge: [.merged]
      case .read, .delete, .forget, .leave: [.cancelled, .released, .held, .expired]
      case .revive: [.revived]
      case .restore: [.cancelled]
      case .claimUpdate: [.claimed]
      case .finishUpdate: [.repeated]
      case .retryUpdate: [.retried]
      }
    }
  }

  /// Records every change of a state, even if a later statement of the same transaction undoes it.
  private func watch() throws {
    try test.store.pool.writeWithoutTransaction { db in
      try db.execute(
        sql: """
          CREATE TEMP TABLE transitions (old TEXT, new TEXT);
          CREATE TEMP TRIGGER changed AFTER UPDATE OF state ON main.jobs BEGIN
            INSERT INTO transitions VALUES (OLD.state, NEW.state);
          END;
          CREATE TEMP TRIGGER made AFTER INSERT ON main.jobs BEGIN
            INSERT INTO transitions VALUES (NULL, NEW.state);
          END;
          """)
    }
  }

  private static func prepare(_ transaction: Transaction) throws {
    for room in rooms { try transaction.prepareRoom(room) }
    for device in devices { try transaction.devices.register(device, of: bob.id, now: .at(0)) }
    // A user who joins again has read everything, which would leave no jobs.
    try transaction.db.run("UPDATE members SET read = 0, received = 0")
  }

  @Test func `each operation causes only its events, and every event occurs`() async throws {
    try watch()
    try await test.write { transaction in
      try Self.prepare(transaction)
      for room in Self.rooms { for _ in Self.messages { _ = try transaction.messages.append(draft(in: room)) } }
    }
    var happened: Set<JobEvent> = []
    for seed in 1...12 {
      for (operation, old, new) in try await test.write({ try Self.play(seed, $0) }) {
        guard let old else {
          #expect(JobState.initial.contains(new), "\(operation) makes a job that is \(new)")
          continue
        }
        let events = operation.events.filter { old.next(on: $0) == new }
        #expect(!events.isEmpty, "\(operation) changes \(old) to \(new), seed \(seed)")
        happened.formUnion(events)
      }
    }
    #expect(happened == Set(JobEvent.allCases))
  }

  /// Plays operations on an empty queue. Returns all changes of states.
  private static func play(
    _ seed: Int, _ transaction: Transaction
  ) throws -> [(operation: Operation, old: JobState?, new: JobState)] {
    try transaction.db.run("DELETE FROM jobs WHERE true")
    _ = try takeTransitions(transaction.db)
    var random = SeededGenerator(seed: seed)
    var claimed: [String] = []
    var all: [(operation: Operation, old: JobState?, new: JobState)] = []
    for step in 0..<250 {
      let change = Change(now: .at(Int64(seed) * 10_000 + Int64(step)), random: &random)
      claimed += try change.apply(to: transaction, claimed)
      if change.endsClaim, !claimed.isEmpty { claimed.removeFirst() }
      all += try takeTransitions(transaction.db).map { (change.operation, $0.old, $0.new) }
    }
    return all
  }

  private static func takeTransitions(_ db: Database) throws -> [(old: JobState?, new: JobState)] {
    let rows = try db.all("SELECT old, new FROM temp.transitions")
    try db.run("DELETE FROM temp.transitions")
    return try rows.map { row in
      let old: String? = row["old"]
      return (old.flatMap(JobState.init(rawValue:)), try row.choice("new"))
    }
  }

  private struct Change {
    let now: Timestamp
    let operation: Operation
    let room: RoomID
    let device: Device
    let seq: Int64
    let state: FinishedState
    let flag: Bool
    /// Random numbers that choose the jobs.
    let picks: [Int]

    init(now: Timestamp, random: inout SeededGenerator) {
      self.now = now
      // Most operations are those that keep the queue busy.
      let isUsual = Int.random(in: 0..<4, using: &random) > 0
      let usual: [Operation] = [
        .insert, .insert, .claim, .claim, .finish, .retry, .hold, .merge, .push, .revive, .edit, .claimUpdate,
        .finishUpdate,
      ]
      operation =
        (isUsual ? usual.randomElement(using: &random) : Operation.allCases.randomElement(using: &random)) ?? .claim
      room = rooms.randomElement(using: &random) ?? rooms[0]
      device = devices.randomElement(using: &random) ?? devices[0]
      seq = Int64.random(in: messages, using: &random)
      state = FinishedState.allCases.randomElement(using: &random) ?? .sent
      flag = Bool.random(using: &random)
      picks = (0..<3).map { _ in Int.random(in: 0..<1_000, using: &random) }
    }

    var endsClaim: Bool { operation == .finish || operation == .retry }

    /// Applies the operation. Returns the ids of the claimed jobs.
    func apply(to transaction: Transaction, _ claimed: [String]) throws -> [String] {
      switch operation {
      case .insert, .notifyAnyway:
        // The store's clock is at 0.
        var draft = job(device, due: picks[0].isMultiple(of: 3) ? now + .milliseconds(20) : .at(0))
        draft.isHeld = flag
        draft.explanation.facts.message.expires = picks[1].isMultiple(of: 4) ? now + .milliseconds(25) : .never
        draft.explanation.facts.message.isNotifyAnyway = operation == .notifyAnyway
        try transaction.queue.insert([draft], room: room, seq: seq)
      case .claim:
        return try transaction.queue.claim(limit: 2, now: now, leaseUntil: now + .milliseconds(15)).map(\.id)
      case .renewLeases: try transaction.queue.renewLeases(of: Set(claimed), now: now, until: now + .milliseconds(9))
      case .finish: if let id = claimed.first { try transaction.queue.finish(id, state: state, now: now) }
      case .retry:
        if let id = claimed.first { try transaction.queue.retry(id, due: now + .milliseconds(4), isUnknown: flag) }
      case .releaseLeases: try transaction.queue.releaseLeases()
      case .read: try transaction.queue.cancel(room, bob.id, upTo: min(seq, 3), reason: "read")
      case .delete:
        if let job = try transaction.reader.queue.openJobs(of: bob.id).jobs.first {
          try transaction.queue.cancelJobs(
            "room = (SELECT id FROM rooms WHERE name = ?) AND seq = ?", [job.room.rawValue, job.message.seq],
            note: "deleted")
        }
      case .forget, .leave:
        if operation == .forget {
          try transaction.devices.forget(device.id, of: bob.id)
        } else {
          try transaction.rooms.leave(bob.id, room: room)
        }
        try prepare(transaction)
      case .revive:
        let dead = try transaction.reader.queue.jobs(in: .dead, limit: 9).map(\.id)
        if let id = dead.first { _ = try transaction.queue.revive(id) }
      case .restore: if picks[0].isMultiple(of: 3) { try transaction.repair(.restored) }
      case .moveDue: try transaction.queue.moveDue(by: .milliseconds(flag ? 5 : -5), setTo: now)
      case .edit:
        // Prefers a message whose earlier edit is being sent.
        let inProgress = try transaction.db.first(
          "SELECT rooms.name, jobs.seq FROM jobs JOIN rooms ON rooms.id = room WHERE \(Schema.updates) AND state = 'sending'"
        )
        _ = try transaction.messages.edit(
          inProgress.map { RoomID(unchecked: $0["name"]) } ?? room, inProgress?["seq"] ?? seq, body: [])
      case .claimUpdate: _ = try transaction.updates.claim(limit: 2, now: now, leaseUntil: now + .milliseconds(15))
      case .finishUpdate: for id in try updatesInProgress(transaction.db) { try transaction.updates.finish(id) }
      case .retryUpdate:
        for id in try updatesInProgress(transaction.db) { try transaction.updates.retry(id, due: now, wasTried: flag) }
      case .push, .hold, .wait, .cancel, .expire, .merge: try rule(transaction)
      }
      return []
    }

    private func updatesInProgress(_ db: Database) throws -> [String] {
      try db.all("SELECT id FROM jobs WHERE \(Schema.updates) AND state = 'sending'").map { $0["id"] }
    }

    private func rule(_ transaction: Transaction) throws {
      let open = try transaction.reader.queue.openJobs(of: bob.id).jobs.map(\.id)
      guard !open.isEmpty else { return }
      let ids = picks.map { open[$0 % open.count] }
      switch operation {
      case .push: try transaction.queue.decide(ids[0], .push(.active))
      case .hold: try transaction.queue.decide(ids[0], .hold(until: now + .milliseconds(20)))
      case .wait: try transaction.queue.decide(ids[0], .wait(until: now + .milliseconds(20)))
      case .cancel: try transaction.queue.decide(ids[0], .cancel(.muted))
      case .expire: try transaction.queue.decide(ids[0], .expire)
      default: for id in ids.dropLast() { try transaction.queue.decide(id, .merge(into: ids[2])) }
      }
    }
  }
}
