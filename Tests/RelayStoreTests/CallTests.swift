// SPDX-License-Identifier: Apache-2.0
import Foundation
import GRDB
import RelayDelivery
import RelayProtocol
import Testing

@testable import RelayStore

/// Stored calls: their changes, the pushes that they cancel, and the phones that they update.
@Suite struct CallTests {
  let test: TestStore
  init() throws { test = try TestStore() }

  /// Stores a message of Alice that begins a call if no other one rings.
  private func append(isExclusive: Bool) async throws -> Call? {
    try await test.write { transaction in
      try transaction.prepareRoom()
      var message = draft("Hello?")
      message.push = PushRequest(#"{"kind":"call"}"#)
      message.call = CallDraft(media: .video, isExclusive: isExclusive)
      var wanted = job()
      wanted.explanation.facts.message.expires = message.time + .seconds(45)
      message.jobs = [wanted]
      return try transaction.messages.append(message).call
    }
  }

  /// Begins a call of Alice whose push Bob's phone shows.
  private func ring(isShown: Bool = true) async throws -> Call {
    let call = try #require(try await append(isExclusive: true))
    if isShown {
      let claims = try await test.claim()
      let id = try #require(claims.last?.id)
      try await test.write { try $0.queue.finish(id, state: .sent, now: .at(0)) }
    }
    return call
  }

  private func perform(
    _ action: Call.Action, by user: UserID, on device: String? = nil, from sender: Call.Sender = .request
  ) async throws -> CallChange? {
    try await test.write {
      try $0.calls.perform(
        action, MessageReference(room: room, seq: 1), by: user, on: device.map(DeviceID.init(unchecked:)),
        from: sender, at: .at(1_000))
    }
  }

  /// Claims the updates that are due, and ends them as sent. Returns the texts that notifications get.
  private func updates(
    at time: Timestamp = .at(1_000), apps: AppEntitlements = AppEntitlements()
  ) async throws -> [EntryText] {
    let claims = try await test.write { transaction in
      let claims = try transaction.updates.claim(limit: 9, now: time, leaseUntil: time + .seconds(60), apps: apps)
      for claim in claims { try transaction.updates.finish(claim) }
      return claims
    }
    return claims.compactMap { if case .change(let text, _) = $0.content { text } else { nil } }
  }

  /// The calls that ring for a user.
  private func ringing(for user: User) async throws -> [Int64] {
    try await test.read { try $0.calls.ringing(for: user.id, at: .at(1_000), limit: 9) }.map(\.seq)
  }

  private func addCarol() async throws {
    try await test.write {
      _ = try $0.rooms.join(Self.carol, room: room, epoch: "", now: .at(0))
      try $0.devices.register(phone("carol-phone", token: "carol"), of: Self.carol.id, now: .at(0))
    }
  }

  private static let carol = User(id: UserID(unchecked: "carol"))

  /// Begins a call of Alice in a group, which the phones of Bob and Carol show.
  private func ringInGroup() async throws -> Call {
    try await test.write { try $0.prepareRoom() }
    try await addCarol()
    let call = try await test.write { transaction in
      var message = draft("Hello?")
      message.push = PushRequest(#"{"kind":"call"}"#)
      message.call = CallDraft()
      message.jobs = [(bob, phone()), (Self.carol, phone("carol-phone", token: "carol"))].map { user, device in
        var wanted = job(to: user, device)
        wanted.explanation.facts.message.expires = message.time + .seconds(45)
        return wanted
      }
      return try transaction.messages.append(message).call
    }
    let claims = try await test.claim()
    #expect(claims.count == 2)
    try await test.write { for claim in claims { try $0.queue.finish(claim.id, state: .sent, now: .at(0)) } }
    return try #require(call)
  }

  private func stored() async throws -> Call? { try await test.read { try $0.calls.call(room, 1) } }

  @Test func `a call is stored with its message, and only one call rings in a room`() async throws {
    let call = try await ring()
    #expect((call.state, call.media, call.message.seq) == (.ringing, .video, 1))
    #expect(call.ringUntil == call.began + .seconds(45))
    #expect(try await stored() == call)
    #expect(try await test.read { try $0.calls.ringing(in: room) } == 1)
    #expect(try await ringing(for: bob) == [1])
    #expect(try await ringing(for: alice) == [])
    #expect(try await test.read { try $0.calls.ringing(for: bob.id, at: call.ringUntil, limit: 9) } == [])
    #expect(try await test.read { try $0.calls.nextDue() } == call.ringUntil)
    await #expect(throws: StoreError.ringing(call.message)) { try await append(isExclusive: true) }
    // A message that must be stored begins no second call.
    #expect(try await append(isExclusive: false) == nil)
    #expect(try await test.read { try $0.calls.page(of: room, before: .max, limit: 9) }.calls == [call])
  }

  @Test func `a room has its open calls with their users`() async throws {
    _ = try await ring()
    let answered = try await perform(.answer, by: bob.id, on: "phone")?.call
    // No call rings any more, so that another one begins.
    let second = try #require(try await append(isExclusive: true))
    let open = try await test.read { try $0.calls.open(in: room, limit: 9) }
    #expect(open.sorted { $0.message.seq < $1.message.seq } == [answered, second])
    #expect(try await test.read { try $0.calls.open(in: room, limit: 1) }.count == 1)
    #expect(try await test.read { try $0.calls.open(in: RoomID(unchecked: "tea"), limit: 9) } == [])
    _ = try await perform(.hangUp, by: alice.id)
    #expect(try await test.read { try $0.calls.open(in: room, limit: 9) } == [second])
  }

  @Test func `an answer cancels the pushes that wait`() async throws {
    _ = try await ring(isShown: false)
    let change = try #require(try await perform(.answer, by: bob.id, on: "laptop"))
    #expect(change.isChanged)
    #expect(try await stored() == change.call)
    #expect(change.call.parties == [bob.id: Call.Party(.answered, on: DeviceID(unchecked: "laptop"), answers: 1)])
    #expect(try await test.write { try $0.queue.claim(limit: 9, now: .at(1_000), leaseUntil: .at(60_000)) }.isEmpty)
    #expect(try await perform(.answer, by: bob.id, on: "laptop")?.isChanged == false)
    await #expect(throws: StoreError.call(.answeredOn(DeviceID(unchecked: "laptop")))) {
      try await perform(.answer, by: bob.id, on: "phone")
    }
  }

  @Test func `the store knows whether a session has answered`() async throws {
    _ = try await ring()
    let (phone, tablet) = (DeviceID(unchecked: "phone"), DeviceID(unchecked: "tablet"))
    _ = try await perform(.answer, by: bob.id, on: "phone", from: .session(open: [phone, tablet]))
    #expect(try await stored()?.parties == [bob.id: Call.Party(.answered, on: phone, answers: 1, hasSession: true)])
    await #expect(throws: StoreError.call(.answeredOn(phone))) {
      try await perform(.hangUp, by: bob.id, on: "tablet", from: .session(open: [phone, tablet]))
    }
    #expect(try await stored()?.state == .answered)
    let ended = try await perform(.hangUp, by: bob.id, on: "tablet", from: .session(open: [tablet]))
    #expect(ended?.call.state == .ended)
  }

  @Test(arguments: [(Call.Action.answer, EntryText.answered), (.decline, .declined)])
  func `the other phones of the user show the end of the ringing`(action: Call.Action, kind: EntryText) async throws {
    _ = try await ring()
    _ = try await perform(action, by: bob.id, on: "laptop")
    #expect(try await updates() == [kind])
    // The call is not missed when its time is over.
    #expect(try await updates(at: .at(99_000)) == [])
  }

  @Test func `the phone that answers removes its own alert`() async throws {
    _ = try await ring()
    let device = try await test.read { try $0.db.first("SELECT device FROM jobs WHERE kind = 'push'")?[0] as String? }
    _ = try await perform(.answer, by: bob.id, on: device)
    #expect(try await updates() == [])
    let removals = try await test.read {
      try $0.db.all("SELECT room, seq, is_read FROM removals").map { $0[1] as Int64 }
    }
    #expect(removals == [1])
    #expect(try await updates(at: .at(99_000)) == [])
  }

  private static let app = "org.example.chat"

  /// A phone with a token for calls shows a call screen, if its app has the entitlement.
  @Test(arguments: [false, true], [Call.Action.answer, .decline, .hangUp])
  func `the entitlement for calls decides which alerts change`(hasEntitlement: Bool, action: Call.Action) async throws {
    _ = try await ring()
    var device = phone()
    (device.app, device.voipToken) = (Self.app, "calls")
    try await test.write { [device] in try $0.devices.register(device, of: bob.id, now: .at(1)) }
    let apps = AppEntitlements([Self.app: hasEntitlement ? [.voip] : []])
    _ = try await perform(action, by: action == .hangUp ? alice.id : bob.id, on: action == .hangUp ? nil : "laptop")
    let texts = try await updates(apps: apps)
    switch action {
    // Each phone learns that it missed a call.
    case .hangUp: #expect(texts == [.missed])
    case .answer: #expect(texts == (hasEntitlement ? [] : [.answered]))
    case .decline: #expect(texts == (hasEntitlement ? [] : [.declined]))
    }
  }

  @Test func `a phone that did not get a call learns that it missed one`() async throws {
    _ = try await ring(isShown: false)
    let claims = try await test.claim()
    try await test.write { try $0.queue.finish(claims[0].id, state: .expired, now: .at(45_000)) }
    #expect(try await updates(at: .at(99_000)) == [.missed])
    #expect(try await updates(at: .at(99_000)) == [])
  }

  @Test func `a cancelled call is missed at once`() async throws {
    _ = try await ring()
    #expect(try await perform(.hangUp, by: alice.id)?.call.state == .cancelled)
    #expect(try await updates() == [.missed])
  }

  @Test func `a call rings for the other members after the first answer`() async throws {
    let call = try await ringInGroup()
    _ = try await perform(.answer, by: bob.id)
    #expect(try await ringing(for: bob) == [])
    #expect(try await ringing(for: Self.carol) == [1])
    #expect(try await test.read { try $0.calls.allRinging(at: .at(0)) }.map(\.state) == [.answered])
    #expect(try await test.read { try $0.calls.allRinging(at: call.ringUntil) } == [])
    _ = try await perform(.decline, by: Self.carol.id)
    #expect(try await ringing(for: Self.carol) == [])
  }

  /// An attempt was in progress, or had an unknown result at a crash, when the call ended for the user.
  @Test(arguments: [Call.Action.answer, .decline, .hangUp], [false, true])
  func `a push is not tried again when its call rings no more`(action: Call.Action, isAfterCrash: Bool) async throws {
    _ = try await ring(isShown: false)
    let ids = try await test.claim().map(\.id)
    #expect(ids.count == 1)
    _ = try await perform(action, by: action == .hangUp ? alice.id : bob.id)
    if isAfterCrash {
      try await test.write { try $0.queue.releaseLeases() }
      #expect(try await test.write { try $0.queue.claim(limit: 9, now: .at(2_000), leaseUntil: .at(9_000)) }.isEmpty)
    } else {
      #expect(try await test.write { try $0.queue.retry(ids[0], due: .at(2_000)) } == false)
    }
    let job = try await test.read { try $0.queue.job(ids[0]) }
    #expect((job?.state, job?.note) == (.cancelled, "no longer rings"))
  }

  /// The relay decides a message again after a crash.
  @Test func `a push that is stored after the end of its call is not sent`() async throws {
    let call = try #require(try await append(isExclusive: true))
    _ = try await perform(.decline, by: bob.id)
    try await test.write { transaction in
      try transaction.db.run("DELETE FROM jobs")
      try transaction.queue.insert([job()], room: room, seq: call.message.seq)
      #expect(try transaction.queue.claim(limit: 9, now: .at(2_000), leaseUntil: .at(9_000)).isEmpty)
    }
  }

  /// The deletion ends the call, but the update of the end of its ringing may still be due.
  @Test(arguments: [false, true]) func `the update of a deleted call ends`(isShown: Bool) async throws {
    let call = try await ring(isShown: isShown)
    if !isShown {
      let ids = try await test.claim().map(\.id)
      try await test.write { try $0.queue.finish(ids[0], state: .expired, now: .at(0)) }
    }
    _ = try await test.write { try $0.messages.delete(room, 1) }
    _ = try await updates()
    _ = try await updates(at: call.ringUntil)
    let left = try await test.read { try Int.fetchOne($0.db, sql: "SELECT count(*) FROM jobs WHERE kind = 'entry'") }
    #expect(left == 0)
  }

  @Test func `the end of an answered call ends the ringing of the other members at once`() async throws {
    _ = try await ringInGroup()
    _ = try await perform(.answer, by: bob.id)
    #expect(try await updates() == [.answered])
    #expect(try await perform(.hangUp, by: bob.id)?.call.state == .ended)
    #expect(try await updates() == [.missed])
    #expect(try await updates(at: .at(99_000)) == [])
  }

  @Test func `the end of a call after its ringing changes no phone`() async throws {
    let call = try await ringInGroup()
    _ = try await perform(.answer, by: bob.id)
    #expect(Set(try await updates(at: call.ringUntil)) == [.answered, .missed])
    let late = call.ringUntil
    _ = try await test.write {
      try $0.calls.perform(.hangUp, MessageReference(room: room, seq: 1), by: alice.id, on: nil, at: late)
    }
    #expect(try await stored()?.state == .ended)
    #expect(try await updates(at: .at(99_000)) == [])
  }

  @Test func `a caller who leaves the room cancels the call`() async throws {
    _ = try await ring()
    let left = try await test.write { try $0.rooms.end(alice.id, room) }
    #expect(left.calls.map(\.state) == [.cancelled])
    #expect(try await stored() == left.calls.first)
    #expect(try await updates() == [.missed])
    #expect(try await test.read { try $0.calls.nextDue() } == nil)
  }

  @Test func `a member who is removed or banned leaves the call`() async throws {
    _ = try await ringInGroup()
    _ = try await perform(.answer, by: bob.id)
    let declined = try await test.write { try $0.rooms.remove(Self.carol.id, from: room, by: .backend) }
    #expect(declined.calls.map { $0.causeOfExclusion(of: Self.carol.id) } == [.decline])
    #expect(declined.calls.map(\.state) == [.answered])
    let ended = try await test.write { try $0.rooms.remove(bob.id, from: room, by: .backend, ban: RoomBan()) }
    #expect(ended.calls.map { $0.causeOfExclusion(of: bob.id) } == [.hangUp])
    #expect(try await stored()?.state == .ended)
    // A user in no call changes none.
    let alone = try await test.write { try $0.rooms.end(alice.id, room) }
    #expect(alone.wasMember && alone.calls == [])
  }

  @Test func `the last member for whom a call rings declines it with the membership`() async throws {
    _ = try await ringInGroup()
    _ = try await perform(.decline, by: bob.id)
    #expect(try await test.write { try $0.rooms.end(Self.carol.id, room) }.calls.map(\.state) == [.declined])
  }

  @Test func `a user who is not a member any more changes no call`() async throws {
    _ = try await ringInGroup()
    try await test.write { _ = try $0.rooms.end(bob.id, room) }
    await #expect(throws: StoreError.notMember) { try await perform(.answer, by: bob.id) }
  }

  @Test func `a suspended user leaves the calls of all rooms, at most a limited number`() async throws {
    let count = CallWriter.maxExclusions + 1
    try await test.write { transaction in
      for number in 0..<count {
        let room = RoomID(unchecked: "room-\(number)")
        try transaction.prepareRoom(room)
        var message = draft("Hello?", in: room)
        message.push = PushRequest(#"{"kind":"call"}"#)
        message.call = CallDraft()
        _ = try transaction.messages.append(message)
      }
    }
    #expect(try await test.write { try $0.calls.exclude(Self.carol.id) } == [])
    let ended = try await test.write { try $0.calls.exclude(alice.id) }
    #expect(ended.map(\.state) == Array(repeating: .cancelled, count: CallWriter.maxExclusions))
    #expect(try await test.write { try $0.calls.exclude(alice.id) }.count == 1)
    #expect(try await test.write { try $0.calls.exclude(alice.id) } == [])
  }

  @Test(arguments: [(alice, bob), (bob, alice)])
  func `a block between two users is found in both directions`(user: User, other: User) async throws {
    try await test.write { try $0.prepareRoom() }
    #expect(try await test.read { try $0.people.hasBlock(between: alice.id, bob.id) } == false)
    try await test.write {
      try $0.people.block(Self.carol.id, by: user.id)
      try $0.people.block(user.id, by: Self.carol.id)
    }
    #expect(try await test.read { try $0.people.hasBlock(between: alice.id, bob.id) } == false)
    try await test.write { _ = try $0.people.block(other.id, by: user.id) }
    #expect(try await test.read { try $0.people.hasBlock(between: alice.id, bob.id) })
  }

  @Test func `the number of answers is stored`() async throws {
    _ = try await ringInGroup()
    _ = try await perform(.answer, by: Self.carol.id)
    for _ in 1...Call.maxAnswers {
      #expect(try await perform(.answer, by: bob.id)?.isChanged == true)
      _ = try await perform(.hangUp, by: bob.id)
    }
    await #expect(throws: StoreError.call(.tooManyAnswers)) { try await perform(.answer, by: bob.id) }
  }

  @Test func `calls expire in slices, and old ones are deleted`() async throws {
    let call = try await ring()
    #expect(try await test.write { try $0.calls.expire(at: call.ringUntil - .milliseconds(1)) } == [])
    let ended = try await test.write { try $0.calls.expire(at: call.ringUntil) }
    #expect(ended.map(\.state) == [.missed])
    #expect(try await stored()?.state == .missed)
    #expect(try await test.read { try $0.calls.nextDue() } == nil)
    #expect(try await test.read { try $0.calls.allRinging(at: .at(0)) } == [])
    #expect(try await test.write { try $0.calls.purge() } == false)
    #expect(try await stored() != nil)
    let old = -1 - Int64(Call.retention / .milliseconds(1))
    try await test.write { try $0.db.run("UPDATE calls SET ended = ?", [old]) }
    try await test.write { try $0.calls.purge() }
    #expect(try await stored() == nil)
  }

  @Test func `the deletion of its message ends a call`() async throws {
    _ = try await ring()
    let edited = try await test.write { try $0.messages.delete(room, 1) }
    #expect(edited?.call?.state == .cancelled)
    #expect(try await stored()?.state == .cancelled)
    #expect(try await updates() == [.deleted])
  }

  @Test func `a deleted room loses its calls`() async throws {
    _ = try await ring()
    _ = try await perform(.answer, by: bob.id)
    try await test.write { try $0.rooms.delete(room, by: .backend) }
    while try await test.write({ try $0.rooms.sweepDeleted() }) {}
    #expect(try await test.read { try $0.db.first("SELECT count(*) FROM calls")?[0] as Int? } == 0)
    #expect(try await test.read { try $0.db.first("SELECT count(*) FROM call_parties")?[0] as Int? } == 0)
  }

  @Test(arguments: [-40 * 86_400, -3_600, 600, 40 * 86_400])
  func `a phone shows a call until the end of its ringing when the clock is set`(step: Int) async throws {
    test.clocks.rewind(by: .seconds(500))
    let call = try await ring()
    test.clocks.set(by: .seconds(step))
    let set = test.clocks.now
    try await test.write { transaction in
      try transaction.calls.move(by: .seconds(step))
      try transaction.queue.moveDue(by: .seconds(step), setTo: set)
      _ = try transaction.messages.edit(room, 1, body: Array("\"new\"".utf8))
    }
    // The call still rings.
    #expect(try await updates(at: set) == [.current])
    let end = call.ringUntil + .seconds(step)
    #expect(try await test.read { try $0.queue.nextDue() } == end)
    #expect(try await updates(at: end - .milliseconds(1)) == [])
    #expect(try await updates(at: end) == [.missed])
  }

  @Test func `the calls that ring keep their length when the clock is set`() async throws {
    let call = try await ring()
    try await test.write { try $0.calls.move(by: .seconds(10)) }
    #expect(try await stored()?.ringUntil == call.ringUntil + .seconds(10))
    #expect(try await test.read { try $0.calls.nextDue() } == call.ringUntil + .seconds(10))
  }
}
