// SPDX-License-Identifier: Apache-2.0
import RelayDelivery
package import RelayHub
import RelayJSON
package import RelayProtocol
import RelayPush
package import RelayStore

/// Edits and deletions of messages.
extension Relay {
  /// Replaces the body of a message. Throws `forbidden` unless `sender` sent it, and `not_found` if it was deleted.
  /// - Returns: The number of the change in the room.
  package func edit(
    _ seq: Int64, body: [UInt8], in room: RoomID, _ handle: RoomHandle, by sender: UserID, cause: SessionHandle?
  ) async throws -> Int64 {
    let now = hub.now
    let hasPreview = rooms.policy(of: room, on: self).hasPreview
    rooms.retain(room)
    let edited = try await commit(rows: changeRows(of: handle)) {
      try $0.messages.edit(room, seq, by: sender, at: now, body: body, updatesNotifications: hasPreview)
    } then: { relay, edited in
      defer { relay.rooms.release(room, on: relay) }
      guard let edited = try? edited.get(), edited.isChanged else { return }
      let change = ChangedMessage(seq: seq, change: edited.change, time: now, body: body)
      relay.show(change, in: room, handle, cause, edited)
    }
    guard let change = try check(edited, isBy: sender) else { throw noMessage }  // it was deleted
    return change
  }

  /// Deletes a message. Its seq stays, and its pushes are cancelled.
  /// - Parameters:
  ///   - sender: The user who must have sent the message. With `nil`, any message may be deleted.
  ///   - moderator: The user who deletes the message. The event has the name if another user sent the message.
  /// - Returns: The number of the change in the room. Is `nil` if the message was deleted before.
  package func delete(
    _ seq: Int64, in room: RoomID, _ handle: RoomHandle, by sender: UserID?, moderator: UserID? = nil,
    cause: SessionHandle?
  ) async throws -> Int64? {
    let now = hub.now
    rooms.retain(room)
    let deleted = try await commit(rows: changeRows(of: handle)) {
      try $0.messages.delete(room, seq, by: sender, moderator: moderator, at: now)
    } then: { relay, deleted in
      defer { relay.rooms.release(room, on: relay) }
      guard let deleted = try? deleted.get(), deleted.isChanged else { return }
      relay.showDeletion(of: seq, deleted, in: room, handle, cause, at: now)
      if let call = deleted.call { relay.calls.changed(call, .delete, by: sender, on: nil, relay: relay) }
    }
    return try check(deleted, isBy: sender)
  }

  /// The maximum number of rows that an edit or a deletion writes: the message, the room, and the first updates of
  /// phones.
  private func changeRows(of room: RoomHandle) -> Int {
    hub.pushes(room) ? 2 + UpdateQueue.maxUpdatesWithChange : 2
  }

  /// Runs `work` in a transaction, and calls `apply` in the completion of the commit, before later commits are
  /// published.
  package func commit<T: Sendable>(
    rows: Int = 1,
    _ work: @escaping @Sendable (Transaction) throws -> T,
    then apply: @escaping @Sendable (isolated Relay, Result<T, StoreError>) -> Void
  ) async throws(StoreError) -> T {
    let handover = Handover<Result<T, StoreError>>()
    store.submit(work, rows: rows) { [self] result in
      assumeIsolated { apply($0, result) }
      handover.give(result)
    }
    return try await handover.value().get()
  }

  var noMessage: RequestError { RequestError(.notFound, "there is no such message", at: "/seq") }

  /// - Returns: The number of the change. Is `nil` if nothing was changed.
  private func check(_ edited: Edited?, isBy sender: UserID?) throws(RequestError) -> Int64? {
    guard let edited else { throw noMessage }
    guard sender == nil || edited.from == sender else {
      throw RequestError(.forbidden, "somebody else sent this message", at: "/seq")
    }
    return edited.isChanged ? edited.change : nil
  }

  /// Applies the deletion of a message to the pushes of the room, and sends its event.
  func showDeletion(
    of seq: Int64, _ deleted: Edited, in room: RoomID, _ handle: RoomHandle, _ cause: SessionHandle?, at time: Timestamp
  ) {
    deliveries.deleted(seq, from: deleted.from, in: handle, on: self)
    let change = ChangedMessage(
      seq: seq, change: deleted.change, time: time, body: nil, moderator: deleted.moderator)
    show(change, in: room, handle, cause, deleted)
  }

  private func show(
    _ change: ChangedMessage, in room: RoomID, _ handle: RoomHandle, _ cause: SessionHandle?, _ edited: Edited
  ) {
    // Phones that show the message need an update.
    worker.wake()
    inbox.roomChanged(handle, on: self)
    show(change, in: room, handle, cause, newest: edited.newest)
  }

  /// Sends the event of a change of a message to the sessions in the room.
  /// - Parameter newest: The newest seq of the room when the change was stored.
  func show(_ change: ChangedMessage, in room: RoomID, _ handle: RoomHandle, _ cause: SessionHandle?, newest: Int64) {
    // A user who joins at this time must get the new state of the message.
    rooms.count(change, of: handle, newest: newest)
    if change.annotation == nil {
      rooms.forgetFrames(before: change.seq + 1, quoting: change.seq...change.seq, in: handle, on: self)
    } else {
      hub.trim(handle, before: change.seq + 1)
    }
    hub.sendEvent(
      Replies.change(change, in: room), in: handle, cause: cause, withTextOf: change.hasText ? change.seq : nil)
  }
}

extension ChangedMessage {
  /// True if the event has a text of the message: its new body, or its reactions. See ``StoredText/changeEvent``.
  fileprivate var hasText: Bool { annotation.map { $0.kind == .reactions } ?? (body != nil) }
}
