// SPDX-License-Identifier: Apache-2.0
import GRDB
import RelayDelivery
import RelayProtocol
import Testing

@testable import RelayStore

/// Late jobs of a room, which are merged into one push.
@Suite struct CoalescingTests {
  let test: TestStore
  init() async throws {
    test = try TestStore()
    try await test.write { try $0.prepareRoom() }
  }

  private static let carol = User(id: UserID(unchecked: "carol"))

  /// Appends a message with a job for Bob's phone. Returns the job's id.
  @discardableResult
  private func send(
    _ push: String? = nil, in room: RoomID = room, from user: User = alice, due: Timestamp = .at(0),
    change: (inout PlannedPush) -> Void = { _ in }
  ) async throws -> String {
    var push = job(due: due).with(push)
    change(&push.job)
    return try await test.write { [push] transaction in
      let message = MessageDraft(
        room: room, from: user, time: .at(0), body: Array("1".utf8), push: push.request, jobs: [push.job])
      return try #require(
        try transaction.messages.append(message).jobs.first ?? transaction.reader.queue.jobs(limit: 1).first?.id)
    }
  }

  /// Makes the push that is claimed next fail.
  private func fail(isUnknown: Bool = false, until due: Timestamp = .at(10)) async throws {
    let claims = try await test.claim()
    #expect(claims.count == 1)
    try await test.write { try $0.queue.retry(claims[0].id, due: due, isUnknown: isUnknown) }
  }

  private func finish(_ claims: [Claim], _ state: FinishedState = .sent) async throws {
    try await test.write { transaction in
      for claim in claims { try transaction.queue.finish(claim.id, state: state, now: .at(20)) }
    }
  }

  /// Sends all pushes that are due. Returns the seq of each push and its number of messages.
  private func drain(now: Timestamp = .at(10)) async throws -> [[Int64]] {
    var pushes: [[Int64]] = []
    while case let claims = try await test.claim(now: now), !claims.isEmpty {
      pushes += claims.compactMap(\.shown).map { [$0.message.seq, Int64($0.count)] }
      try await finish(claims)
    }
    return pushes
  }

  @Test func `jobs that waited behind a retried push are merged into the newest one`() async throws {
    let first = try await send()
    try await fail()
    let second = try await send()
    let third = try await send(due: .at(5))
    #expect(try await test.claim(now: .at(9)) == [])
    let claims = try await test.claim(now: .at(10))
    #expect(claims.map(\.id) == [third])
    #expect(claims[0].shown?.count == 3)
    #expect(claims[0].shown?.others == [])
    // The first message has its second attempt with this push.
    #expect(claims[0].attempts == 2)
    for id in [first, second] {
      let merged = try await test.record(id)
      #expect(merged.state == .merged)
      #expect(merged.mergedInto == third)
    }
    #expect(try await test.record(third).due == .at(0))
    #expect(try await test.record(third).digest == [DigestCount(room: room, seq: 3, count: 3)])
    try await finish(claims)
    #expect(try await test.record(first).finishedAt == .at(20))
    #expect(try await drain() == [])
  }

  @Test func `jobs that a pause has delayed become one push as well`() async throws {
    for _ in 1...3 { try await send() }
    let claims = try await test.claim()
    try await test.write { try $0.queue.retry(claims[0].id, due: .at(10), wasTried: false) }
    #expect(try await drain() == [[3, 3]])
  }

  @Test func `jobs that only wait for their turn are sent one by one`() async throws {
    for _ in 1...5 { try await send() }
    #expect(try await drain() == [[1, 1], [2, 1], [3, 1], [4, 1], [5, 1]])
  }

  @Test func `a message that arrives while the digest is being sent is pushed alone`() async throws {
    try await send()
    try await fail()
    try await send()
    let claims = try await test.claim(now: .at(10))
    for _ in 1...2 { try await send() }
    try await finish(claims)
    #expect(try await drain() == [[3, 1], [4, 1]])
  }

  @Test func `a digest that fails again includes the newer messages`() async throws {
    try await send()
    try await fail()
    try await send()
    let claims = try await test.claim(now: .at(10))
    #expect(claims.map(\.shown?.count) == [2])
    try await test.write { try $0.queue.retry(claims[0].id, due: .at(30)) }
    try await send()
    #expect(try await test.claim(now: .at(29)) == [])
    #expect(try await drain(now: .at(30)) == [[3, 3]])
  }

  private static let looks = [
    #"{"level":"passive"}"#, #"{"category":"invitation"}"#, #"{"thread":"news"}"#, #"{"thread":null}"#,
    #"{"collapse":"room"}"#, #"{"kind":"call"}"#, #"{"criteria":"work"}"#, #"{"sound":"bell"}"#,
    #"{"sound":null}"#, #"{"communication":false}"#,
  ]

  @Test(arguments: looks) func `only pushes with the same look and sound are merged`(look: String) async throws {
    try await send()
    try await fail()
    for push in [look, nil, look, nil] { try await send(push) }
    let pushes = try await drain()
    let isCall = look.contains("call")
    #expect(Set(pushes) == (isCall ? [[2, 1], [4, 1], [5, 3]] : [[4, 2], [5, 3]]))
  }

  @Test func `the decided level counts, not the requested one`() async throws {
    try await send()
    try await fail()
    try await send { $0.level = .passive }
    try await send(#"{"level":"passive"}"#) { $0.level = .active }
    #expect(Set(try await drain()) == [[2, 1], [3, 2]])
  }

  @Test func `a Notify Anyway is sent alone`() async throws {
    try await send()
    try await fail()
    try await send { $0.explanation.facts.message.isNotifyAnyway = true }
    try await send()
    #expect(Set(try await drain()) == [[2, 1], [3, 2]])
  }

  @Test func `a push that may be on the phone is repeated alone, and the others are merged`() async throws {
    let first = try await send()
    try await fail(isUnknown: true)
    for _ in 1...2 { try await send() }
    let claims = try await test.claim(now: .at(10))
    #expect(claims.map(\.id) == [first])
    try await finish(claims)
    #expect(try await drain() == [[3, 2]])
  }

  @Test func `a push that a crash interrupted is repeated alone`() async throws {
    try await send()
    _ = try await test.claim()
    try await test.write { try $0.queue.releaseLeases() }
    try await send()
    try await fail()
    try await send()
    #expect(try await drain() == [[1, 1], [3, 2]])
  }

  @Test func `a push whose lease expired is repeated alone`() async throws {
    try await send()
    _ = try await test.claim()
    try await send()
    let claims = try await test.claim(now: .at(60_000))
    try await test.write { try $0.queue.retry(claims[0].id, due: .at(60_010)) }
    #expect(try await drain(now: .at(60_010)) == [[1, 1], [2, 1]])
  }

  @Test func `a dead letter with an unknown result is sent again alone`() async throws {
    let first = try await send()
    try await fail(isUnknown: true)
    try await finish(try await test.claim(now: .at(10)), .dead)
    let second = try await send()
    try await test.write { transaction in
      _ = try transaction.queue.revive(first)
      let isMerged = try transaction.queue.decide(first, .merge(into: second))
      #expect(!isMerged)
    }
  }

  @Test func `notifications without a room are sent one by one`() async throws {
    try await test.write { transaction in
      for _ in 1...2 {
        _ = try transaction.messages.post(draft(in: .notifications(of: bob.id), jobs: [job()]), epoch: "e")
      }
    }
    try await fail()
    #expect(try await drain() == [[1, 1], [2, 1]])
  }

  @Test func `all throttled jobs of a room and device end their wait together`() async throws {
    let max = Int64(PushQueue.maxCoalesced)
    try await test.write { transaction in
      for _ in 1...max + 1 { _ = try transaction.messages.append(draft(jobs: [job(due: .at(50))])) }
      try transaction.digests.endWaits(now: .at(50))
      #expect(try transaction.reader.queue.jobCounts() == [.ready: Int(max) + 1])
    }
    #expect(try await drain(now: .at(50)) == [[max, max], [max + 1, 1]])
  }

  @Test func `a digest leaves out a job that expired while it waited`() async throws {
    let first = try await send { $0.explanation.facts.message.expires = .at(0) }
    let second = try await send()
    let third = try await send()
    try await test.write { transaction in
      for id in [first, second] { _ = try transaction.queue.decide(id, .merge(into: third)) }
    }
    #expect(try await test.claim().map(\.shown?.count) == [2])
    #expect(try await test.record(first).state == .expired)
    #expect(try await test.record(second).state == .merged)
  }

  @Test func `a digest head whose merged jobs have ended is an ordinary push`() async throws {
    try await send()
    try await fail()
    let last = try await send()
    try await test.write { transaction in
      let claim = try transaction.queue.claim(limit: 1, now: .at(10), leaseUntil: .at(20))[0]
      try transaction.queue.retry(claim.id, due: .at(30))
      _ = try transaction.queue.cancel(room, bob.id, upTo: 1, reason: "read")
    }
    #expect(try await drain(now: .at(30)) == [[2, 1]])
    #expect(try await test.record(last).digest == [])
  }

  @Test(arguments: [false, true])
  func `a Notify Anyway leaves its digest, unless the digest may be on the phone`(isUnknown: Bool) async throws {
    try await send()
    try await fail()
    let last = try await send()
    try await test.write { transaction in
      let claim = try transaction.queue.claim(limit: 1, now: .at(10), leaseUntil: .at(20))[0]
      try transaction.queue.retry(claim.id, due: .at(900), isUnknown: isUnknown)
      var anyway = job()
      anyway.explanation.facts.message.isNotifyAnyway = true
      try transaction.queue.insert([anyway], room: room, seq: 1)
    }
    let claims = try await test.claim(now: .at(11))
    #expect(claims.map(\.shown?.message.seq) == [1])
    #expect(claims.map(\.shown?.isNotifyAnyway) == [true])
    #expect(claims.map(\.shown?.collapse.seq) == [isUnknown ? 2 : 1])
    #expect(try await test.record(last).state == .retrying)
  }

  @Test func `jobs of different rooms and devices are not merged`() async throws {
    let other = RoomID(unchecked: "other")
    try await test.write { try $0.prepareRoom(other) }
    try await send()
    try await fail()
    try await send()
    for _ in 1...2 { try await send(in: other) }
    #expect(Set(try await drain()) == [[1, 1], [2, 1], [2, 2]])
  }

  @Test func `jobs that waited for a cancelled one are sent one by one`() async throws {
    try await send()
    try await fail()
    for _ in 2...4 { try await send() }
    try await test.write { _ = try $0.queue.cancel(room, bob.id, upTo: 1, reason: "read") }
    #expect(try await drain(now: .at(1)) == [[2, 1], [3, 1], [4, 1]])
  }

  @Test func `if the digest head is removed, the newest remaining job becomes the head`() async throws {
    for number in 1...4 {
      try await send { $0.explanation.facts.message.expires = number == 2 ? .at(10) : .never }
      if number == 1 { try await fail() }
    }
    // The caller ends an expired job that it gets.
    let expired = try await test.claim(now: .at(10))
    #expect(expired.map(\.shown?.message.seq) == [2])
    try await finish(expired, .expired)
    let claims = try await test.claim(now: .at(10))
    #expect(claims.map(\.shown?.message.seq) == [4])
    #expect(claims[0].shown?.count == 3)
    try await test.write { transaction in
      try transaction.queue.retry(claims[0].id, due: .at(12))
      _ = try transaction.messages.delete(room, 4)
    }
    #expect(try await drain(now: .at(12)).first == [3, 2])
  }

  @Test(arguments: [nil, Timestamp.at(20)])
  func `the remaining jobs keep the delay of an expired digest head`(expires: Timestamp?) async throws {
    let first = try await send { $0.explanation.facts.message.expires = expires ?? .never }
    try await fail()
    try await send { $0.explanation.facts.message.expires = .at(15) }
    let claims = try await test.claim(now: .at(10))
    #expect(claims.map(\.shown?.count) == [2])
    try await test.write { try $0.queue.finish(claims[0].id, state: .expired, othersDue: .at(30), now: .at(10)) }
    let due = expires ?? .at(30)
    #expect(try await test.read { try $0.queue.nextDue() } == due)
    #expect(try await test.claim(now: due).map(\.id) == [first])
  }

  @Test func `a push has a maximum number of messages`() async throws {
    let max = Int64(PushQueue.maxCoalesced)
    try await test.write { transaction in
      for _ in 0...max { _ = try transaction.messages.append(draft(jobs: [job()])) }
    }
    try await fail()
    #expect(try await drain() == [[max, max], [max + 1, 1]])
  }

  @Test func `a long backlog is merged by several claims`() async throws {
    let phones = (1...3).map { phone("phone\($0)", token: "token\($0)") }
    let max = Int64(PushQueue.maxCoalesced)
    #expect(Digests.maxMergedAtOnce < phones.count * Int(max))
    try await test.write { transaction in
      for phone in phones { try transaction.devices.register(phone, of: bob.id, now: .at(0)) }
      for _ in 1...max { _ = try transaction.messages.append(draft(jobs: phones.map { job($0) })) }
      for claim in try transaction.queue.claim(limit: 9, now: .at(0), leaseUntil: .at(9)) {
        try transaction.queue.retry(claim.id, due: .at(10))
      }
    }
    let first = try await test.claim(now: .at(10))
    #expect(first.map(\.shown?.count) == [Int(max), Int(max)])
    #expect(try await test.claim(now: .at(10)).map(\.shown?.count) == [Int(max)])
  }

  // MARK: Throttled jobs

  @Test func `throttled jobs wait for their due time and become one push`() async throws {
    for _ in 1...3 { try await send(due: .at(50)) }
    #expect(try await test.record(try await send(due: .at(50))).state == .waiting)
    #expect(try await drain(now: .at(49)) == [])
    #expect(try await test.read { try $0.queue.nextDue() } == .at(50))
    #expect(try await drain(now: .at(50)) == [[4, 4]])
  }

  @Test func `throttled jobs do not delay those of other senders`() async throws {
    try await test.write { _ = try $0.rooms.join(Self.carol, room: room, epoch: "e", now: .at(0)) }
    for _ in 1...2 { try await send(due: .at(50)) }
    try await send(from: Self.carol)
    #expect(try await drain(now: .at(1)) == [[3, 1]])
    #expect(try await drain(now: .at(50)) == [[2, 2]])
  }

  @Test func `a throttled job can be cancelled and decided again`() async throws {
    let first = try await send(due: .at(50))
    let second = try await send(due: .at(50))
    try await send(due: .at(50))
    let states = try await test.write { transaction in
      _ = try transaction.queue.cancel(room, bob.id, upTo: 1, reason: "read")
      try transaction.people.noteChange(of: bob.id)
      try transaction.queue.decide(second, .push(.passive))
      return try (
        transaction.reader.queue.openJobs(of: bob.id).jobs.count,
        transaction.reader.queue.changedUsers(after: nil, limit: 9)
      )
    }
    #expect(states == (2, [bob.id]))
    #expect(try await test.record(first).state == .cancelled)
    #expect(Set(try await drain(now: .at(50))) == [[2, 1], [3, 1]])
  }
}

extension PlannedPush {
  fileprivate func with(_ push: String?) -> (request: PushRequest?, job: PlannedPush) {
    (push.map(PushRequest.init(_:)), self)
  }
}
