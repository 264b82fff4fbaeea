// SPDX-License-Identifier: Apache-2.0
import GRDB
import RelayProtocol
import Testing

@testable import RelayDelivery
@testable import RelayStore

/// The notifications and badges of phones, if pushes are on their way, get lost or are digests, and with several accounts.
@Suite struct PhoneTests {
  let test: TestStore
  init() async throws {
    test = try TestStore()
    try await test.write { transaction in for room in [tea, den] { try transaction.prepareRoom(room) } }
  }

  private func send(_ text: String = "hi", in room: RoomID = tea, from sender: User = alice) async throws {
    try await test.write { _ = try $0.messages.append(draft(text, in: room, from: sender, jobs: [job()])) }
  }

  private func end(_ id: String, _ state: FinishedState = .sent, rings: Bool = false) async throws {
    try await test.write { try $0.queue.finish(id, state: state, rings: rings, now: .at(0)) }
  }

  /// Sends a message that the phone shows. Returns its job.
  @discardableResult
  private func show(_ text: String = "hi", in room: RoomID = tea, from sender: User = alice) async throws -> String {
    try await send(text, in: room, from: sender)
    let id = try #require(try await test.claim().first?.id)
    try await end(id)
    return id
  }

  private func read(_ seq: Int64, in room: RoomID = tea) async throws {
    try await test.write { transaction in
      try transaction.updates.read(room, bob.id, upTo: seq)
      try transaction.rooms.mark(room, bob.id, read: seq)
    }
  }

  /// The removals of the phone, as `read tea 7` or `removed tea 3`.
  private func removals() async throws -> [String] {
    try await test.read {
      try $0.db.all("SELECT is_read, room, seq, state FROM removals ORDER BY is_read, room, seq").map {
        "\($0[0] as Bool ? "read" : "removed") \($0[1] as String) \($0[2] as Int64) \($0[3] as String)"
      }
    }
  }

  // MARK: Pushes in flight

  @Test func `a badge and a removal that the service did not take are sent again`() async throws {
    for _ in 0..<2 { try await show() }
    try await read(1)
    let first = try #require(try await test.claimUpdates().first)
    try await test.write { try $0.updates.retry(first.id, due: .at(500)) }
    let second = try #require(try await test.claimUpdates(at: .at(500)).first)
    #expect(second.content == .phone(PhoneUpdate(badge: 1, removes: true)))
    #expect(second.content == first.content)
    try await test.finish(second)
    #expect(try await removals() == ["read tea 1 sent"])
  }

  @Test func `a phone that takes no push gets the next one after the pause`() async throws {
    try await show()
    try await read(1)
    let id = try #require(try await test.claimUpdates().first?.id)
    try await test.write { try $0.updates.finish(id) }
    #expect(try await test.claimUpdates(at: .at(20 * 60_000 - 1)).isEmpty)
    #expect(try await test.claimUpdates(at: .at(20 * 60_000)).count == 1)
  }

  @Test func `a badge waits for the push that is on its way`() async throws {
    try await show()
    try await send()
    let id = try #require(try await test.claim().first?.id)
    try await read(1)
    #expect(try await test.claimUpdates().isEmpty)
    try await end(id)
    #expect(try await test.claimUpdates().map(\.content) == [.phone(PhoneUpdate(badge: 1, removes: true))])
  }

  @Test func `a message that is read while its push is on its way is removed`() async throws {
    try await send()
    let id = try #require(try await test.claim().first?.id)
    try await read(1)
    #expect(try await test.claimUpdates().isEmpty)
    try await end(id)
    _ = try await test.claimUpdates()
    #expect(try await removals() == ["removed tea 1 due"])
  }

  @Test(arguments: [false, true])
  func `a message whose sender is blocked while its push is on its way is removed`(isUnknown: Bool) async throws {
    try await send()
    let id = try #require(try await test.claim().first?.id)
    try await test.write { _ = try $0.people.block(alice.id, by: bob.id) }
    if isUnknown {
      try await test.write {
        _ = try $0.queue.retry(id, due: .at(500), isUnknown: true)
        try $0.queue.finish(id, state: .cancelled, note: "blocked", now: .at(0))
      }
    } else {
      try await end(id)
    }
    _ = try await test.claimUpdates()
    #expect(try await removals() == ["removed tea 1 due"])
  }

  @Test func `a push that arrives after its user has left the room is removed`() async throws {
    try await send()
    let id = try #require(try await test.claim().first?.id)
    try await test.write { _ = try $0.rooms.end(bob.id, tea) }
    for update in try await test.claimUpdates() { try await test.finish(update) }
    #expect(try await removals() == ["removed tea 1 sent"])
    try await end(id)
    _ = try await test.claimUpdates()
    #expect(try await removals() == ["removed tea 1 due"])
  }

  @Test func `a push without an answer counts as shown when its message is read or deleted`() async throws {
    for room in [tea, den] {
      try await send(in: room)
      let id = try #require(try await test.claim().first?.id)
      try await test.write { _ = try $0.queue.retry(id, due: .at(90_000), isUnknown: true) }
    }
    try await read(1)
    #expect(try await removals() == ["read tea 1 due"])
    try await test.write { _ = try $0.messages.delete(den, 1) }
    let texts = try await test.claimUpdates().compactMap {
      if case .change(let text, _) = $0.content { text } else { nil }
    }
    #expect(texts == [.deleted])
  }

  @Test func `an edit of a push that is tried again makes no update`() async throws {
    try await send()
    let id = try #require(try await test.claim().first?.id)
    try await test.write { transaction in
      _ = try transaction.queue.retry(id, due: .at(90_000), isUnknown: true)
      _ = try transaction.messages.edit(tea, 1, body: Array("\"new\"".utf8))
    }
    #expect(try await test.claimUpdates().isEmpty)
  }

  @Test func `the badge is that of the push that was sent last`() async throws {
    try await send()
    try await send()
    try await send(in: den)
    let claims = try await test.claim()
    #expect(claims.map(\.shown?.unread) == [3])
    try await end(claims[0].id)
    let later = try await test.claim()
    for claim in later { try await end(claim.id) }
    #expect(try await test.read { try $0.db.first("SELECT badge FROM devices")?[0] as Int? } == 3)
  }

  @Test func `a call screen sets no badge and is no alert`() async throws {
    try await send()
    let id = try #require(try await test.claim().first?.id)
    try await end(id, rings: true)
    let row = try await test.read {
      try $0.db.first("SELECT badge, alert_job FROM devices") { ($0[0] as Int?, $0[1] as String?) }
    }
    #expect(row?.0 == nil && row?.1 == nil)
  }

  @Test func `a deletion corrects the badge of a phone that got no push of the message`() async throws {
    try await show()
    try await test.write { _ = try $0.messages.append(draft(in: den)) }
    try await show()
    #expect(try await test.read { try $0.db.first("SELECT badge FROM devices")?[0] as Int? } == 3)
    try await test.write { _ = try $0.messages.delete(den, 1) }
    #expect(try await test.claimUpdates().map(\.content) == [.phone(PhoneUpdate(badge: 2, removes: false))])
  }

  // MARK: Digests

  /// A digest of two messages of Carol in `den` and two of Alice in `tea`, the newest in `tea`. Returns its head, and
  /// the job of the first message in `den`.
  private func digest() async throws -> (head: String, other: String) {
    try await test.write { transaction in
      _ = try transaction.rooms.join(carol, room: den, epoch: "epoch", now: .at(0))
      for (number, (room, sender)) in [(den, carol), (den, carol), (tea, alice), (tea, alice)].enumerated() {
        var wanted = job(due: .at(9_000))
        wanted.isHeld = true
        _ = try transaction.messages.append(
          draft("secret \(number)", in: room, from: sender, at: .at(Int64(number) - 1_000), jobs: [wanted]))
      }
    }
    let ids = try await test.read { try $0.queue.jobs(limit: 9).reversed().map(\.id) }
    let head = ids[3]
    try await test.write { transaction in
      for id in ids.dropLast() { _ = try transaction.queue.decide(id, .merge(into: head)) }
      _ = try transaction.queue.decide(head, .push(.active))
    }
    #expect(try await test.claim().map(\.id) == [head])
    try await end(head)
    return (head, ids[0])
  }

  private func mute(_ rooms: RoomID...) async throws {
    var preferences = Preferences()
    for room in rooms { preferences[room] = RoomPreference(level: .none) }
    try await test.write { [preferences] in try $0.people.save(preferences, of: bob.id) }
  }

  /// The digest that the phone shows next: its identity, the message, the number of messages of the room, and the
  /// other rooms.
  /// - Parameter head: The job whose notification the phone shows.
  private func shown(_ head: String) async throws -> [String] {
    try await test.claimUpdates().compactMap {
      guard case .change(let text, let shown) = $0.content else { return nil }
      #expect(shown.notification == head)
      let rooms = shown.others.map { "\($0.room) \($0.count)" }
      return "\(text) \(shown.collapse.seq) \(shown.room.id)/\(shown.message.seq) \(shown.count) \(rooms)"
    }
  }

  @Test func `a digest keeps its identity when its newest message is deleted`() async throws {
    let (head, _) = try await digest()
    try await test.write { _ = try $0.messages.delete(tea, 2) }
    #expect(try await shown(head) == [#"current 2 tea/1 1 ["den 2"]"#])
  }

  @Test func `the text of a deleted message leaves a digest that may show no new text`() async throws {
    let (head, _) = try await digest()
    try await mute(tea, den)
    #expect(try await shown(head) == [])
    #expect(try await removals() == [])
    try await test.write { _ = try $0.messages.delete(tea, 1) }
    #expect(try await shown(head) == [])
    #expect(try await removals() == ["removed tea 2 due"])
  }

  @Test func `the text of a blocked sender leaves a digest`() async throws {
    let (head, _) = try await digest()
    try await test.write { _ = try $0.people.block(carol.id, by: bob.id) }
    #expect(try await shown(head) == ["current 2 tea/2 2 []"])
    #expect(try await removals() == [])
  }

  @Test func `an edit in a muted room does not reach the phone in a digest`() async throws {
    let (head, _) = try await digest()
    try await mute(den)
    try await test.write { _ = try $0.messages.edit(den, 1, body: Array("\"new\"".utf8)) }
    #expect(try await shown(head) == ["current 2 tea/2 2 []"])
  }

  @Test func `a dismissed digest does not come back`() async throws {
    let (head, other) = try await digest()
    try await test.write { transaction in
      try transaction.updates.finished(other)
      _ = try transaction.messages.edit(tea, 2, body: Array("\"new\"".utf8))
    }
    #expect(try await shown(head) == [])
  }

  @Test func `a digest goes with its head's room`() async throws {
    _ = try await digest()
    try await test.write { transaction in
      _ = try transaction.rooms.delete(tea, by: .backend)
      while try transaction.rooms.sweepDeleted(max: 1) {}
    }
    #expect(try await removals() == ["removed tea 2 due"])
  }

  @Test func `a digest goes when all its messages are read`() async throws {
    _ = try await digest()
    try await read(2)
    #expect(try await removals() == [])
    try await read(2, in: den)
    #expect(try await removals() == ["removed tea 2 due"])
  }

  // MARK: Accounts

  private func badges() async throws -> [Int?] {
    try await test.claimUpdates().map { if case .phone(let phone) = $0.content { phone.badge } else { nil } }
  }

  /// Bob and Carol share a phone. Bob has two unread messages, Carol one.
  private func share() async throws {
    try await test.write { transaction in
      _ = try transaction.rooms.join(carol, room: den, epoch: "epoch", now: .at(0))
      try transaction.devices.register(phone(), of: carol.id, now: .at(1))
    }
    for _ in 0..<2 { try await show() }
    try await test.write { _ = try $0.messages.append(draft(in: den, jobs: [job(to: carol)])) }
    let claims = try await test.claim()
    #expect(claims.map(\.shown?.unread) == [4])
    for claim in claims { try await end(claim.id) }
  }

  @Test func `the badge of a phone is the sum of its accounts, and a sign-out subtracts a part`() async throws {
    try await share()
    try await test.write { _ = try $0.devices.forget(phone().id, of: carol.id) }
    #expect(try await badges() == [3])
  }

  @Test func `a read of one account corrects the sum`() async throws {
    try await share()
    try await read(2)
    #expect(try await badges() == [2])
  }

  @Test func `a removal of one account does not take the place of the newest alert of another`() async throws {
    try await share()
    try await test.write { _ = try $0.messages.append(draft(in: den, jobs: [job(), job(to: carol)])) }
    for user in [bob, carol] {
      let claims = try await test.claim().filter { $0.recipient == user.id }
      for claim in claims { try await end(claim.id) }
      try await test.write { try $0.queue.releaseLeases() }
    }
    try await test.write { try $0.db.run("UPDATE devices SET alert_kept = ?", [Timestamp.at(500_000).rawValue]) }
    try await read(2, in: den)
    let claim = try #require(try await test.claimUpdates().first)
    #expect(claim.removals.read == [MessageReference(room: den, seq: 2)] && claim.keptUntil == nil)
  }

  @Test func `a phone of a new account has the badge of the others`() async throws {
    try await share()
    try await test.write { try $0.devices.register(phone(), of: alice.id, now: .at(2)) }
    try await test.write { _ = try $0.devices.forget(phone().id, of: bob.id) }
    #expect(try await badges() == [1])
  }

  // MARK: Answers

  @Test func `a dismissal counts on each phone`() async throws {
    let tablet = phone("tablet", token: "other")
    let ids = try await test.write { transaction in
      try transaction.devices.register(tablet, of: bob.id, now: .at(0))
      return try transaction.messages.append(draft(in: tea, jobs: [job(), job(tablet)])).jobs
    }
    for id in ids {
      _ = try await test.claim()
      try await end(id)
    }
    try await test.write { transaction in
      for id in ids {
        _ = try transaction.responses.respond(ResponseDraft(notification: id, user: bob.id, action: .dismiss))
      }
      _ = try transaction.messages.edit(tea, 1, body: Array("\"new\"".utf8))
    }
    #expect(try await test.claimUpdates().isEmpty)
  }
}

private let tea = RoomID(unchecked: "tea")
private let den = RoomID(unchecked: "den")
private let carol = User(id: UserID(unchecked: "carol"), name: "Carol")
