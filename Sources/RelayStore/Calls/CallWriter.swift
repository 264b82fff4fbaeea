// SPDX-License-Identifier: Apache-2.0
import GRDB
public import RelayProtocol

/// The call that a message begins.
public struct CallDraft: Equatable, Sendable {
  public var media: Call.Media
  /// True if the message is not stored while another call rings in its room. ``StoreError/ringing(_:)`` names that
  /// call. With false the message is stored and begins no call.
  public var isExclusive: Bool
  /// The call does not ring for these members, because its sender calls them too often.
  public var unrung: Set<UserID> = []

  public init(media: Call.Media = .audio, isExclusive: Bool = false) {
    self.media = media
    self.isExclusive = isExclusive
  }
}

/// The result of a change of a call.
public struct CallChange: Equatable, Sendable {
  public var call: Call
  /// False if the request repeats an earlier one, so that nothing was changed.
  public var isChanged: Bool
}

/// Stores calls, and ends their ringing on phones. ``Call`` makes the decisions.
public struct CallWriter: TransactionPart {
  let transaction: Transaction

  /// The maximum number of calls that one transaction ends or deletes.
  public static let maxSlice = 64
  /// The maximum number of calls that a user leaves in one transaction. Other calls end when their time is over.
  public static let maxExclusions = 16

  /// Throws ``StoreError/ringing(_:)`` if the draft begins a call only while no other one rings, and one does.
  func check(_ draft: MessageDraft) throws {
    guard draft.call?.isExclusive == true, let seq = try reader.calls.ringing(in: draft.room) else { return }
    throw StoreError.ringing(MessageReference(room: draft.room, seq: seq))
  }

  /// Begins the call of a stored message, unless another one rings in its room.
  func begin(_ draft: MessageDraft, _ room: Int64, seq: Int64, caller: Int64) throws -> Call? {
    guard let wanted = draft.call, let push = draft.push, try reader.calls.ringing(in: draft.room) == nil else {
      return nil
    }
    let call = Call(
      MessageReference(room: draft.room, seq: seq), from: draft.from.id, media: wanted.media, began: draft.time,
      ringUntil: push.expires(from: draft.time))
    try db.run(
      """
      INSERT INTO calls (room, seq, caller, media, began, ring_until, state, due, ended)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, NULL)
      """,
      [
        room, seq, caller, call.media.rawValue, call.began.rawValue, call.ringUntil.rawValue, call.state.rawValue,
        call.due?.rawValue,
      ])
    return call
  }

  /// Performs a request of a member. Ends the ringing on the user's other phones, and on all phones if the call is over.
  /// - Returns: The result. Is `nil` when there is no such call. Throws ``StoreError/call(_:)`` and
  ///   ``StoreError/notMember``.
  public func perform(
    _ action: Call.Action, _ message: MessageReference, by user: UserID, on device: DeviceID?,
    from sender: Call.Sender = .request, at now: Timestamp
  ) throws -> CallChange? {
    guard let known = try row(of: message.room), var call = try reader.calls.call(message.room, message.seq) else {
      return nil
    }
    let id = try needRow(of: user)
    // The user may have left the room since the request began.
    guard try db.has("SELECT 1 FROM members WHERE room = ? AND user = ?", [known.id, id]) else {
      throw StoreError.notMember
    }
    // A call that is due and not ended yet is over.
    _ = call.expire(at: now)
    let before = call
    let isChanged: Bool
    do {
      isChanged = try call.perform(
        action, by: user, on: device, from: sender, hasOthers: try hasOthers(known.id, call, except: id), at: now)
    } catch let refusal as Call.Refusal {
      throw StoreError.call(refusal)
    }
    guard isChanged else { return CallChange(call: call, isChanged: false) }
    try save(call, known.id, after: before, by: user, id, at: now)
    return CallChange(call: call, isChanged: true)
  }

  /// Takes a suspended user out of the open calls of all rooms, at most ``maxExclusions``.
  /// - Returns: The calls that have changed.
  public func exclude(_ user: UserID) throws -> [Call] {
    guard let id = try row(of: user) else { return [] }
    return try exclude(
      user, id,
      """
      SELECT rooms.id, rooms.name, calls.seq FROM members INDEXED BY members_user
      CROSS JOIN calls INDEXED BY calls_open ON calls.room = members.room
      JOIN rooms ON rooms.id = calls.room AND NOT (\(Schema.isDeleted("rooms.name"))) WHERE members.user = ?1
      """)
  }

  /// Takes a user who is no member any more out of the open calls of a room, at most ``maxExclusions``.
  /// - Returns: The calls that have changed.
  func exclude(_ user: UserID, _ id: Int64, from room: Int64) throws -> [Call] {
    try exclude(
      user, id,
      """
      SELECT rooms.id, rooms.name, calls.seq FROM calls INDEXED BY calls_open
      JOIN rooms ON rooms.id = calls.room WHERE calls.room = ?4
      """, [room])
  }

  /// - Parameter candidates: The beginning of a query of calls, with its parameters.
  private func exclude(
    _ user: UserID, _ id: Int64, _ candidates: String, _ parameters: StatementArguments = []
  ) throws -> [Call] {
    // The calls that `Call.exclude` may change.
    let party = "SELECT 1 FROM call_parties AS p WHERE p.room = calls.room AND p.seq = calls.seq AND p.user = ?1"
    let open = try db.all(
      """
      \(candidates) AND calls.due IS NOT NULL AND (calls.caller = ?1 OR EXISTS (\(party) AND p.state = 'answered')
          OR calls.ring_until > ?2 AND NOT EXISTS (\(party)))
      ORDER BY calls.ring_until DESC, calls.room, calls.seq LIMIT ?3
      """,
      [id, now.rawValue, Self.maxExclusions] + parameters)
    return try open.compactMap { row in
      let room: Int64 = row["id"]
      guard var call = try reader.calls.call(RoomID(unchecked: row["name"]), row["seq"]) else { return nil }
      // The alarm ends a call that is due.
      guard call.due.map({ now < $0 }) == true else { return nil }
      let before = call
      guard call.exclude(user, hasOthers: try hasOthers(room, call, except: id), at: now) else { return nil }
      try save(call, room, after: before, by: user, id, at: now)
      return call
    }
  }

  /// True if a member, neither the caller nor this user, has not declined.
  private func hasOthers(_ room: Int64, _ call: Call, except user: Int64) throws -> Bool {
    try db.has(
      """
      SELECT 1 FROM members
      WHERE members.room = ?1 AND members.user <> ?2 AND NOT members.is_withdrawn
        AND members.user <> (SELECT caller FROM calls WHERE room = ?1 AND seq = ?3)
        AND NOT EXISTS (
          SELECT 1 FROM call_parties WHERE call_parties.room = ?1 AND call_parties.seq = ?3
            AND call_parties.user = members.user AND call_parties.state = 'declined')
      LIMIT 1
      """,
      [room, user, call.message.seq])
  }

  /// Saves a change that a user has caused, and ends the ringing on phones.
  private func save(
    _ call: Call, _ room: Int64, after before: Call, by user: UserID, _ id: Int64, at now: Timestamp
  ) throws {
    try save(call, room)
    if let party = call.parties[user], party != before.parties[user] {
      try db.run(
        """
        INSERT OR REPLACE INTO call_parties (room, seq, user, state, device, answers, has_session)
        VALUES (?, ?, ?, ?, ?, ?, ?)
        """,
        [
          room, call.message.seq, id, party.state.rawValue, party.device?.rawValue, party.answers, party.hasSession,
        ])
      try endRinging(room, call.message.seq, of: id, party)
    }
    // After the ringing, all phones show its end already.
    if call.state.isOver, now < call.ringUntil { try endAllRinging(room, call.message.seq) }
  }

  private func save(_ call: Call, _ room: Int64) throws {
    try db.run(
      "UPDATE calls SET state = ?, due = ?, ended = ? WHERE room = ? AND seq = ?",
      [call.state.rawValue, call.due?.rawValue, call.ended?.rawValue, room, call.message.seq])
  }

  /// Cancels the pushes of the call that were not sent to a user yet, and plans the alerts on the user's phones again.
  private func endRinging(_ room: Int64, _ seq: Int64, of user: Int64, _ party: Call.Party) throws {
    guard party.state != .left else { return }
    try transaction.queue.cancelJobs(
      "room = ? AND seq = ? AND user = ?", [room, seq, user], note: party.state.rawValue)
    try transaction.updates.changed(room, seq, for: user)
    // The call counts as read.
    try transaction.updates.badgesChanged(of: user)
  }

  /// Cancels all pushes of a call that were not sent yet. Phones then show a missed call, except those of users who have
  /// answered or declined. Pushes that quiet hours hold stay: they become missed calls at their end.
  private func endAllRinging(_ room: Int64, _ seq: Int64) throws {
    try transaction.queue.cancelRinging(room, seq)
    try transaction.updates.changed(room, seq)
  }

  /// Ends the call of a deleted message. The deletion updates the phones.
  func deleted(_ message: MessageReference, _ room: Int64, at now: Timestamp) throws -> Call? {
    guard try db.has("SELECT 1 FROM calls WHERE room = ? AND seq = ? AND due IS NOT NULL", [room, message.seq]),
      var call = try reader.calls.call(message.room, message.seq), call.delete(at: now)
    else { return nil }
    try save(call, room)
    return call
  }

  /// Ends the calls whose time is over, at most ``maxSlice``. Phones then show a missed call: see
  /// ``UpdateQueue/expectEnd(ofCall:)``.
  /// - Returns: The calls. More may be due if there are ``maxSlice``.
  public func expire(at now: Timestamp) throws -> [Call] {
    let rows = try db.all(
      "\(CallReader.calls) WHERE calls.due <= ? ORDER BY calls.due LIMIT ?", [now.rawValue, Self.maxSlice])
    return try rows.compactMap { row in
      var call = try reader.calls.withParties(Call(row), room: row["room_id"])
      guard call.expire(at: now) else { return nil }
      try save(call, row["room_id"])
      return call
    }
  }

  /// Shifts the times of open calls when the wall clock is set, so that they keep their length.
  public func move(by step: Duration) throws {
    let milliseconds = Int64(step / .milliseconds(1))
    try db.run(
      "UPDATE calls SET due = due + ?1, ring_until = ring_until + ?1 WHERE due IS NOT NULL", [milliseconds])
  }

  /// Deletes calls that were over long ago, at most ``maxSlice``.
  /// - Returns: True if more may remain.
  @discardableResult
  public func purge() throws -> Bool {
    let old = try db.all(
      "SELECT room, seq FROM calls WHERE ended < ? ORDER BY ended LIMIT ?",
      [time(before: Call.retention).rawValue, Self.maxSlice])
    for row in old {
      let key: StatementArguments = [row["room"] as Int64, row["seq"] as Int64]
      try db.run("DELETE FROM call_parties WHERE room = ? AND seq = ?", key)
      try db.run("DELETE FROM calls WHERE room = ? AND seq = ?", key)
    }
    return old.count == Self.maxSlice
  }
}
