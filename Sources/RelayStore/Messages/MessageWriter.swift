// SPDX-License-Identifier: Apache-2.0
import GRDB
public import RelayProtocol

/// Stores, edits and deletes messages.
public struct MessageWriter: TransactionPart {
  let transaction: Transaction

  /// Stores a message under the room's next seq, with its jobs and its key.
  ///
  /// Raises the read mark of the sender, if the sender is a member. For a response to a notification, the mark rises
  /// only to the answered message, because the user may not have seen the room. Throws ``StoreError/noRoom(_:)``, and
  /// the errors of ``respond(_:posting:)``.
  public func append(_ draft: MessageDraft) throws -> Appended {
    guard let room = try row(of: draft.room) else { throw StoreError.noRoom(draft.room) }
    let sender = try needRow(of: draft.from)
    let responded = try draft.response.map { try transaction.responses.respond($0, posting: room.seq + 1) }
    if let responded, responded.isDuplicate {
      let seq = responded.response.posted ?? responded.response.message.seq
      return Appended(
        seq: seq, time: responded.time, epoch: room.epoch, isDuplicate: true, response: responded)
    }
    let messages = try GroupedMessages(transaction)
    if let first = try messages.first(of: draft, room, sender) { return first }
    try transaction.calls.check(draft)
    var appended = try messages.write(draft, room, sender)
    let answered = responded?.response.message.seq
    if answered != nil || draft.hasPhones {
      try transaction.updates.read(draft.room, draft.from.id, upTo: answered ?? room.seq)
    }
    try messages.writeRows()
    if let answered { try transaction.rooms.mark(draft.room, draft.from.id, read: answered) }
    if !draft.silenced.isEmpty {
      try transaction.silenced.remember(draft.silenced, room, seq: appended.seq, sender)
    }
    appended.jobs = try transaction.queue.insert(draft.jobs, room, seq: appended.seq, now: draft.time)
    appended.response = responded
    if draft.call != nil {
      appended.call = try transaction.calls.begin(draft, room.id, seq: appended.seq, caller: sender)
    }
    return appended
  }

  /// Stores a notification as ``append(_:)`` stores a message. A notification belongs to no room that users join.
  /// - Parameters:
  ///   - draft: A message of the room of the user's notifications.
  ///   - epoch: The epoch of that room, if this is its first notification.
  /// - Returns: The stored notification and its jobs. For a duplicate these are the jobs of the first notification.
  public func post(
    _ draft: MessageDraft, epoch: @autoclosure () -> String
  ) throws -> (stored: Appended, pushes: [DeviceID: String]) {
    precondition(draft.room.isNotifications, "it belongs to no room")
    _ = try transaction.rooms.create(draft.room, epoch: epoch())
    let stored = try append(draft)
    let rows = try db.all(
      """
      SELECT device, jobs.id FROM jobs JOIN rooms ON rooms.id = jobs.room
      WHERE rooms.name = ? AND jobs.seq = ? AND jobs.kind = 'push' ORDER BY jobs.number
      """,
      [draft.room.rawValue, stored.seq])
    let pushes = rows.map { (DeviceID(unchecked: $0["device"]), $0["id"] as String) }
    return (stored, Dictionary(pushes) { first, _ in first })
  }

  /// The sender of the message that a draft answers. Is `nil` for the sender of the draft, and if the history does not
  /// have the message.
  func answered(by draft: MessageDraft, _ room: WriterCache.Room) throws -> UserID? {
    guard let seq = draft.replyTo, seq >= room.start(keeping: draft.retention.count) else { return nil }
    let sender = try reader.messages.sender(of: seq, in: draft.room)
    return sender == draft.from.id ? nil : sender
  }

  /// Deletes expired keys, if enough new ones were stored.
  func sweepKeys() throws {
    guard cache.isKeySweepDue else { return }
    // Twice as many as were stored since the last sweep, so that the sweep keeps up and no message waits long for it.
    try db.run(
      """
      DELETE FROM keys WHERE expires <= ?1
        AND expires <= coalesce((SELECT expires FROM keys ORDER BY expires LIMIT 1 OFFSET ?2), ?1)
      """,
      [cache.newestKey.rawValue, 2 * cache.keysSinceSweep])
    cache.endKeySweep()
  }
}
