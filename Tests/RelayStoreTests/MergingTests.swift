// SPDX-License-Identifier: Apache-2.0
import RelayDelivery
import RelayProtocol
import Testing

@testable import RelayStore

/// Digests: jobs that are merged into one push.
@Suite struct MergingTests {
  let test: TestStore
  init() async throws {
    test = try TestStore()
    try await test.write { transaction in for room in Self.rooms { try transaction.prepareRoom(room) } }
  }

  private static let rooms = ["a", "b", "c"].map { RoomID(unchecked: $0) }
  private static let held: PlannedPush = {
    var draft = job(due: .at(9_000))
    draft.isHeld = true
    return draft
  }()

  /// Makes messages, each with a held job. Returns the ids of the jobs.
  /// - Parameter time: The time of a message by its index. By default the messages are a millisecond apart.
  private func hold(
    _ rooms: [RoomID], expiring: [Int: Timestamp] = [:],
    at time: @escaping @Sendable (Int) -> Int64 = { Int64($0) - 1_000 }
  ) async throws -> [String] {
    try await test.write { transaction in
      for (index, room) in rooms.enumerated() {
        var job = Self.held
        job.explanation.facts.message.expires = expiring[index] ?? .never
        _ = try transaction.messages.append(
          draft("\(index)", in: room, from: alice, at: .at(time(index)), jobs: [job]))
      }
      return try transaction.reader.queue.jobs(limit: rooms.count).reversed().map(\.id)
    }
  }

  /// Merges all jobs into the last one and releases it.
  private func release(_ ids: [String]) async throws {
    let newest = ids[ids.count - 1]
    let results = try await test.write { transaction in
      try ids.dropLast().map { try transaction.queue.decide($0, .merge(into: newest)) }
        + [transaction.queue.decide(newest, .push(.active))]
    }
    #expect(!results.contains(false))
  }

  private func states(_ ids: [String]) async throws -> [JobState] {
    try await test.read { reader in try ids.compactMap { try reader.queue.job($0)?.state } }
  }

  private static let (a, b, c) = (rooms[0], rooms[1], rooms[2])

  @Test func `a digest has the newest message and the number of messages of each room`() async throws {
    let ids = try await hold([Self.a, Self.a, Self.b, Self.c, Self.b, Self.a, Self.c, Self.a])
    try await release(ids)
    let claims = try await test.claim()
    #expect(claims.map(\.id) == [ids[7]])
    let claim = claims[0]
    #expect(claim.shown?.room.id == Self.a)
    #expect(claim.shown?.message.seq == 4)
    #expect(claim.shown?.count == 4)
    func message(_ seq: Int64, _ index: Int) -> StoredMessage {
      StoredMessage(seq: seq, from: alice.id, time: .at(Int64(index) - 1_000), body: Array("\"\(index)\"".utf8))
    }
    #expect(
      claim.shown?.others == [
        .init(room: Self.c, message: message(2, 6), sender: alice, count: 2),
        .init(room: Self.b, message: message(2, 4), sender: alice, count: 2),
      ])
    let record = try await test.record(ids[7])
    #expect(
      record.digest == [
        DigestCount(room: Self.a, seq: 4, count: 4), DigestCount(room: Self.c, seq: 2, count: 2),
        DigestCount(room: Self.b, seq: 2, count: 2),
      ])
    #expect(try await test.record(ids[0]).mergedInto == ids[7])
    #expect(try await test.record(ids[0]).digest == [])
  }

  @Test func `the rooms of a digest have the order of their newest messages`() async throws {
    try await release(try await hold([Self.b, Self.c, Self.c, Self.b, Self.a]))
    #expect(try await test.claim().first?.shown?.others.map(\.room) == [Self.b, Self.c])
  }

  @Test func `the last message of a digest is the newest one, also if the clock was set back before it`() async throws {
    test.clocks.set(by: .seconds(3600))
    let first = try await hold([Self.b]) { _ in 3_600_000 }
    test.clocks.set(by: .seconds(-3600))
    let ids = try await first + hold([Self.c, Self.a]) { Int64($0) + 1 }
    try await release(ids)
    let contents = try await test.write { try $0.digests.content(of: ids[2])?.map(\.job) }
    #expect(contents == [ids[2], ids[1], ids[0]])
    #expect(try await test.claim().first?.shown?.others.map(\.room) == [Self.c, Self.b])
    // The digest loses its head.
    try await test.write { _ = try $0.queue.finish(ids[2], state: .cancelled, now: .at(0)) }
    #expect(try await test.claim(now: .at(9_000)).map(\.id) == [ids[1]])
  }

  @Test func `a message whose job was made later than that of a newer one is not the newest`() async throws {
    let ids = try await hold([Self.b, Self.a]) { 10 - Int64($0) }
    try await release(ids)
    let contents = try await test.write { try $0.digests.content(of: ids[1])?.map(\.job) }
    #expect(contents == ids)
  }

  @Test(arguments: [-3600, 600, 40 * 86_400])
  func `the end of a merged message moves with the wall clock`(step: Int) async throws {
    let ids = try await hold([Self.b, Self.c, Self.a], expiring: [0: .at(45_000), 1: .at(47_000)])
    try await release(ids)
    test.clocks.set(by: .seconds(step))
    let set = test.clocks.now
    _ = try await test.write { try $0.queue.moveDue(by: .seconds(step), setTo: set) }
    test.clocks.pass(.seconds(46))
    let now = test.clocks.now
    #expect(try await test.claim(now: now).first?.shown?.others.map(\.room) == [Self.c])
    #expect(try await states(ids) == [.expired, .merged, .sending])
  }

  @Test(arguments: [-3600, 600, 40 * 86_400])
  func `a new digest head is due at its end at the latest when the wall clock is set`(step: Int) async throws {
    test.clocks.rewind(by: .seconds(500))
    let ids = try await hold([Self.b, Self.c, Self.a], expiring: [1: .at(45_000)])
    try await release(ids)
    #expect(try await test.claim().map(\.id) == [ids[2]])
    try await test.write { try $0.queue.retry(ids[2], due: .at(60_000)) }
    test.clocks.set(by: .seconds(step))
    let set = test.clocks.now
    try await test.write { transaction in
      try transaction.queue.moveDue(by: .seconds(step), setTo: set)
      try transaction.queue.finish(ids[2], state: .cancelled, now: set)
    }
    #expect(try await states(ids) == [.merged, .ready, .cancelled])
    #expect(try await test.record(ids[1]).due == Timestamp.at(45_000) + .seconds(step))
  }

  @Test(arguments: [FinishedState.sent, .dead])
  func `merged jobs end with their digest head`(state: FinishedState) async throws {
    let ids = try await hold([Self.a, Self.b])
    try await release(ids)
    #expect(try await test.record(ids[0]).finishedAt == nil)
    let claims = try await test.claim()
    try await test.write { _ = try $0.queue.finish(claims[0].id, state: state, now: .at(3)) }
    let merged = try await test.record(ids[0])
    #expect(merged.state == .merged)
    #expect(merged.finishedAt == .at(3))
    #expect(try await test.write { try $0.queue.purge(finishedBefore: .at(4)) } == 2)
  }

  @Test func `a digest with one remaining message is an ordinary push`() async throws {
    let ids = try await hold([Self.a, Self.b])
    try await release(ids)
    try await test.write { _ = try $0.queue.cancel(Self.a, bob.id, upTo: 1, reason: "read") }
    let claim = try #require(try await test.claim().first)
    #expect(claim.id == ids[1])
    #expect(claim.shown?.others == [])
    #expect(claim.shown?.count == 1)
  }

  @Test(arguments: [(deleted: [1], Level.active), (deleted: [2], .timeSensitive), (deleted: [1, 2], .passive)])
  func `a digest has the highest level of the messages that remain`(deleted: [Int64], level: Level) async throws {
    let ids = try await test.write { transaction in
      for (index, level) in [Level.timeSensitive, .active, .passive].enumerated() {
        var message = draft("\(index)", in: Self.a, from: alice, at: .at(Int64(index) - 1_000), jobs: [Self.held])
        message.push = PushRequest(level: level)
        _ = try transaction.messages.append(message)
      }
      let ids = try transaction.reader.queue.jobs(limit: 3).reversed().map(\.id)
      for (id, level) in zip(ids, [Level.timeSensitive, .active]) {
        _ = try transaction.queue.decide(id, .merge(into: ids[2], level: level))
      }
      _ = try transaction.queue.decide(ids[2], .push(.timeSensitive))
      for seq in deleted { _ = try transaction.messages.delete(Self.a, seq) }
      return ids
    }
    let claim = try #require(try await test.claim().first)
    #expect(claim.id == ids[2])
    #expect(claim.shown?.count == 3 - deleted.count)
    #expect(claim.shown?.level == level)
    // The next attempt has the same level.
    #expect(try await test.write { try $0.queue.retry(claim.id, due: .at(1)) })
    #expect(try await test.claim(now: .at(1)).map(\.shown?.level) == [level])
  }

  @Test func `a digest leaves out expired jobs`() async throws {
    let expiring = [0: Timestamp.at(0), 1: .at(1), 3: .at(0), 4: .at(-1)]
    let ids = try await hold([Self.a, Self.a, Self.b, Self.b, Self.c, Self.a], expiring: expiring)
    try await release(ids)
    let claim = try #require(try await test.claim().first)
    #expect(claim.shown?.count == 2)
    #expect(claim.shown?.others.map(\.room) == [Self.b])
    #expect(claim.shown?.others.map(\.message.seq) == [1])
    #expect(claim.shown?.others.map(\.count) == [1])
  }

  @Test func `a digest leaves out read and deleted messages`() async throws {
    let ids = try await hold([Self.a, Self.a, Self.b, Self.b, Self.c, Self.c])
    try await release(ids)
    try await test.write { transaction in
      // Only the mark rises, as when the user sends a message.
      try transaction.rooms.mark(Self.a, bob.id, read: 1)
      _ = try transaction.messages.delete(Self.b, 2)
    }
    let claim = try #require(try await test.claim().first)
    #expect(claim.shown?.others.map(\.room) == [Self.b, Self.a])
    #expect(claim.shown?.others.map(\.message.seq) == [1, 2])
    #expect(claim.shown?.others.map(\.count) == [1, 1])
    #expect(try await states([ids[3]]) == [.cancelled])
  }

  /// The ways in which a digest loses its newest message.
  private static let ends: [@Sendable (Transaction, String) throws -> Void] = [
    { transaction, _ in _ = try transaction.queue.cancel(c, bob.id, upTo: 9, reason: "read") },
    { transaction, _ in _ = try transaction.messages.delete(c, 1) },
    { transaction, _ in try transaction.rooms.leave(bob.id, room: c) },
    { transaction, id in try transaction.queue.decide(id, .cancel(.blocked)) },
  ]

  @Test(arguments: ends.indices) func `a digest continues when its newest message is removed`(way: Int) async throws {
    let ids = try await hold([Self.a, Self.b, Self.b, Self.c])
    try await release(ids)
    try await test.write { try Self.ends[way]($0, ids[3]) }
    #expect(try await states(ids) == [.merged, .merged, .ready, .cancelled])
    let claims = try await test.claim(now: .at(9_000))
    #expect(claims.map(\.id) == [ids[2]])
    #expect(claims[0].shown?.message.seq == 2)
    #expect(claims[0].shown?.count == 2)
    #expect(claims[0].shown?.others.map(\.room) == [Self.a])
    // The push was never shown under another collapse id.
    #expect(claims[0].shown?.collapse == MessageReference(room: Self.b, seq: 2))
  }

  @Test func `a held digest that loses its newest message stays held`() async throws {
    let ids = try await hold([Self.a, Self.b, Self.c])
    try await test.write { transaction in
      try transaction.queue.decide(ids[2], .hold(until: .at(77)))
      for id in ids.prefix(2) { try transaction.queue.decide(id, .merge(into: ids[2])) }
      _ = try transaction.queue.cancel(Self.c, bob.id, upTo: 1, reason: "read")
    }
    #expect(try await states(ids) == [.merged, .held, .cancelled])
    #expect(try await test.record(ids[1]).due == .at(77))
    #expect(try await test.claim(now: .at(9_999)) == [])
  }

  @Test(arguments: [0, 1]) func `a push that may be on the phone is replaced there`(way: Int) async throws {
    let ids = try await hold([Self.a, Self.b, Self.c])
    try await release(ids)
    #expect(try await test.claim().map(\.id) == [ids[2]])
    try await test.write { transaction in
      if way == 0 {
        _ = try transaction.queue.finish(ids[2], state: .expired, isUnknown: true, now: .at(0))
      } else {
        // The answer of the gateway is pending. After it the push must not be retried.
        _ = try transaction.messages.delete(Self.c, 1)
        #expect(try transaction.queue.retry(ids[2], due: .at(5), isUnknown: true) == false)
      }
    }
    let heir = try await test.claim(now: .at(9_000))
    #expect(heir.map(\.id) == [ids[1]])
    #expect(heir.map(\.shown?.collapse) == [MessageReference(room: Self.c, seq: 1)])
    #expect(heir.map(\.attempts) == [1])
    #expect(heir[0].shown?.others.map(\.room) == [Self.a])

    // The same again with the next digest head.
    try await test.write { _ = try $0.queue.finish(ids[1], state: .cancelled, now: .at(0)) }
    let last = try await test.claim(now: .at(9_000))
    #expect(last.map(\.id) == [ids[0]])
    #expect(last.map(\.shown?.collapse) == [MessageReference(room: Self.c, seq: 1)])
    #expect(last[0].shown?.others == [])
  }

  @Test func `a push that may be on the phone is replaced by a later digest head`()
    async throws
  {
    let ids = try await hold([Self.a, Self.b, Self.b])
    try await release(ids)
    #expect(try await test.claim().map(\.id) == [ids[2]])
    try await test.write { transaction in
      try transaction.rooms.mark(Self.b, bob.id, read: 2, received: 2)
      #expect(try transaction.queue.retry(ids[2], due: .at(5), isUnknown: true) == false)
    }
    let heir = try await test.claim(now: .at(9_000))
    #expect(heir.map(\.id) == [])  // the newest of the others was read as well
    let last = try await test.claim(now: .at(9_000))
    #expect(last.map(\.id) == [ids[0]])
    #expect(last.map(\.shown?.collapse) == [MessageReference(room: Self.b, seq: 2)])
  }

  @Test func `a deleted device ends the whole digest`() async throws {
    let ids = try await hold([Self.a, Self.b, Self.c])
    try await release(ids)
    try await test.write { try $0.devices.forget(phone().id, of: bob.id) }
    #expect(try await states(ids) == [.cancelled, .cancelled, .cancelled])
  }

  @Test func `a digest is merged into a newer job with all of its messages`() async throws {
    let ids = try await hold([Self.a, Self.b, Self.c])
    try await release(Array(ids.prefix(2)))
    try await release(Array(ids.suffix(2)))
    #expect(try await test.claim().map { $0.shown?.others.map(\.room) } == [[Self.b, Self.a]])
    #expect(try await test.record(ids[0]).mergedInto == ids[2])
  }

  @Test func `some jobs cannot be merged`() async throws {
    let tablet = phone("tablet", token: "tablet")
    let ids = try await hold([Self.a, Self.b, Self.c, Self.a, Self.b, Self.c])
    let merged = try await test.write { transaction in
      try transaction.devices.register(tablet, of: bob.id, now: .at(0))
      func merges(_ id: String, into carrier: String) throws -> Bool {
        try transaction.queue.decide(id, .merge(into: carrier))
      }
      try transaction.queue.decide(ids[5], .push(.active))
      _ = try transaction.queue.claim(limit: 1, now: .at(0), leaseUntil: .at(1))
      var merged = ["being sent": try merges(ids[0], into: ids[5])]
      try transaction.queue.retry(ids[5], due: .at(5), isUnknown: true)
      merged["perhaps on the phone"] = try merges(ids[5], into: ids[0])
      merged["itself"] = try merges(ids[0], into: ids[0])
      merged["nothing"] = try merges(ids[0], into: "none")
      try transaction.queue.insert([job(tablet)], room: Self.a, seq: 1)
      let others = try transaction.reader.queue.jobs(limit: 1).map(\.id)
      merged["another device"] = try merges(ids[0], into: others[0])
      try transaction.queue.finish(ids[1], state: .dead, now: .at(0))
      merged["finished"] = try merges(ids[0], into: ids[1])
      merged["held"] = try merges(ids[2], into: ids[3])
      merged["merged"] = try merges(ids[0], into: ids[2])
      merged["merged already"] = try merges(ids[2], into: ids[0])
      merged["held, too"] = try merges(ids[0], into: ids[3])
      return merged
    }
    #expect(Set(merged.filter(\.value).keys) == ["held", "held, too"])
    #expect(try await states(ids) == [.merged, .dead, .merged, .held, .held, .retrying])
  }

  @Test func `a merged job that is held again is sent later`() async throws {
    let ids = try await hold([Self.a, Self.b])
    try await release(ids)
    #expect(try await test.write { try $0.queue.decide(ids[0], .push(.passive)) })
    #expect(try await states(ids) == [.merged, .ready])
    #expect(try await test.write { try $0.queue.decide(ids[0], .hold(until: .at(70))) })
    let record = try await test.record(ids[0])
    #expect(record.state == .held)
    #expect(record.due == .at(70))
    #expect(record.mergedInto == nil)
    #expect(try await test.claim().map(\.shown?.others) == [[]])
  }

  @Test func `the messages of a digest are kept until it is sent`() async throws {
    let ids = try await hold([Self.a, Self.b])
    try await release(ids)
    @Sendable func trim(_ transaction: Transaction) throws -> Int {
      try [Self.a, Self.b].reduce(0) { sum, room in
        try transaction.rooms.advanceCursor(room, to: 1)
        return sum + (try transaction.messages.trim(room, to: Retention(count: 0), maxDeleted: 9)?.deleted ?? 0)
      }
    }
    #expect(try await test.write { try trim($0) } == 0)
    let claims = try await test.claim()
    #expect(claims.map { $0.shown?.others.map(\.room) } == [[Self.a]])
    try await test.write { _ = try $0.queue.finish(claims[0].id, state: .sent, now: .at(0)) }
    #expect(try await test.write { try trim($0) } == 2)
  }

  @Test func `the reports cover each message in a push whose sender requests them`() async throws {
    let ids = try await test.write { transaction in
      for (index, room) in [Self.a, Self.b, Self.b, Self.c].enumerated() {
        var message = draft(in: room, jobs: [Self.held])
        message.reports = index != 1
        _ = try transaction.messages.append(message)
      }
      return try transaction.reader.queue.jobs(limit: 4).reversed().map(\.id)
    }
    try await release(Array(ids.dropFirst()))
    func reported(_ id: String, _ limit: Int = 9) async throws -> [MessageReference] {
      try await test.read { reader in
        let reported = try reader.queue.reported(by: id, limit: limit)
        #expect(reported.allSatisfy { $0.sender == alice.id })
        return reported.map(\.message)
      }
    }
    let all = [MessageReference(room: Self.b, seq: 2), MessageReference(room: Self.c, seq: 1)]
    #expect(try await reported(ids[3]) == all)
    #expect(try await reported(ids[3], 1) == Array(all.prefix(1)))
    _ = try await test.claim()
    try await test.write { _ = try $0.queue.finish(ids[3], state: .sent, now: .at(0)) }
    #expect(try await reported(ids[3]) == all)
    #expect(try await reported(ids[0]) == [MessageReference(room: Self.a, seq: 1)])
    #expect(try await reported(ids[1]) == [])
  }

  @Test func `a digest has a maximum of rooms`() async throws {
    let rooms = (0...ShownMessages.maxOthers + 1).map { RoomID(unchecked: "room\($0)") }
    try await test.write { transaction in for room in rooms { try transaction.prepareRoom(room) } }
    let ids = try await hold(rooms)
    try await release(ids)
    let claim = try #require(try await test.claim().first)
    #expect(claim.shown?.others.map(\.room) == Array(rooms.dropLast().reversed().prefix(ShownMessages.maxOthers)))
    #expect(try await test.record(ids.last ?? "").digest.count == ShownMessages.maxOthers + 1)
  }

  @Test func `a new digest head has the level of the old one`() async throws {
    let ids = try await hold([Self.a, Self.b, Self.c])
    let merged = try await test.write { transaction in
      try [
        transaction.queue.decide(ids[0], .merge(into: ids[2], level: .passive)),
        transaction.queue.decide(ids[1], .merge(into: ids[2], level: .passive)),
        transaction.queue.decide(ids[2], .push(.timeSensitive)),
        transaction.queue.decide(ids[2], .cancel(.deleted)),
      ]
    }
    #expect(merged == [true, true, true, true])
    #expect(try await test.record(ids[1]).level == .timeSensitive)
    // A single push has its own decided level.
    try await test.write { _ = try $0.queue.decide(ids[1], .cancel(.deleted)) }
    #expect(try await test.record(ids[0]).level == .passive)
  }

  @Test func `a digest head that is held again leaves its digest`() async throws {
    let ids = try await hold([Self.a, Self.b, Self.c])
    try await release(ids)
    #expect(try await test.write { try $0.queue.decide(ids[2], .hold(until: .at(5_000))) })
    #expect(try await states(ids) == [.merged, .ready, .held])
    let claim = try #require(try await test.claim().first)
    #expect(claim.id == ids[1])
    #expect(claim.shown?.others.map(\.room) == [Self.a])
    #expect(try await test.record(ids[2]).digest == [])
  }

  @Test func `jobs that replace the same push form one digest again`() async throws {
    let ids = try await hold([Self.a, Self.b, Self.c])
    try await release(ids)
    let claimed = try await test.claim()
    #expect(claimed.map(\.id) == [ids[2]])
    try await test.write { transaction in
      try transaction.queue.retry(ids[2], due: .at(100), isUnknown: true)
      for id in ids.prefix(2) { #expect(try transaction.queue.decide(id, .hold(until: .at(5_000)))) }
    }
    let open = try await test.read { try $0.queue.openJobs(of: bob.id).jobs }
    #expect(Set(open.filter(\.isHeld).map(\.collapse)) == ["3/1"])
    let merged = try await test.write { transaction in
      try [
        transaction.queue.decide(ids[0], .merge(into: ids[1])), transaction.queue.decide(ids[1], .push(.active)),
      ]
    }
    #expect(merged == [true, true])
  }
}
