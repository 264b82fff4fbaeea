// SPDX-License-Identifier: Apache-2.0
package import RelayHub
package import RelayProtocol
import RelayRequests
package import RelayState
package import RelayStore

/// Edits and deletions of messages.
extension Messages {
  /// Replaces the body of a message. Throws `forbidden` unless `sender` sent it, and `not_found` if it was deleted.
  /// - Returns: The number of the change in the room.
  package func edit(
    _ seq: Int64, body: [UInt8], in room: RoomID, _ handle: RoomHandle, by sender: UserID, requester: SessionHandle?,
    on core: isolated Core
  ) async throws -> Int64 {
    let now = core.hub.now
    let hasPreview = memory.policy(of: room, on: core).hasPreview
    memory.retain(room)
    defer { memory.release(room, on: core) }
    let edited = try await core.commit(rows: changeRows(of: handle, on: core)) {
      try $0.messages.edit(room, seq, by: sender, at: now, body: body, updatesNotifications: hasPreview)
    } then: { edited in
      guard let edited = try? edited.get(), edited.isChanged else { return [] }
      let message = ChangedMessage(seq: seq, change: edited.change, time: now, body: body)
      return [
        .edited(
          MessageChange(message: message, room: room, handle: handle, requester: requester, newest: edited.newest))
      ]
    }
    guard let change = try check(edited, isBy: sender) else { throw Self.notFound }  // it was deleted
    return change
  }

  /// Deletes a message. Its seq stays, and its pushes are cancelled.
  /// - Parameters:
  ///   - sender: The user who must have sent the message. With `nil`, any message may be deleted.
  ///   - moderator: The user who deletes the message. The event has the name if another user sent the message.
  /// - Returns: The number of the change in the room. Is `nil` if the message was deleted before.
  package func delete(
    _ seq: Int64, in room: RoomID, _ handle: RoomHandle, by sender: UserID?, moderator: UserID? = nil,
    requester: SessionHandle?, on core: isolated Core
  ) async throws -> Int64? {
    let now = core.hub.now
    memory.retain(room)
    defer { memory.release(room, on: core) }
    let deleted = try await core.commit(rows: changeRows(of: handle, on: core)) {
      try $0.messages.delete(room, seq, by: sender, moderator: moderator, at: now)
    } then: { deleted in
      guard let deleted = try? deleted.get(), deleted.isChanged else { return [] }
      return .deletion(of: seq, deleted, by: sender, in: room, handle, requester: requester, at: now)
    }
    return try check(deleted, isBy: sender)
  }

  /// The maximum number of rows that an edit or a deletion writes: the message, the room, and the first updates of
  /// phones.
  private func changeRows(of room: RoomHandle, on core: isolated Core) -> Int {
    core.hub.pushes(room) ? 2 + UpdateQueue.maxUpdatesWithChange : 2
  }

  package static var notFound: RequestError { RequestError(.notFound, "there is no such message", at: "/seq") }

  /// - Returns: The number of the change. Is `nil` if nothing was changed.
  private func check(_ edited: Edited?, isBy sender: UserID?) throws(RequestError) -> Int64? {
    guard let edited else { throw Self.notFound }
    guard sender == nil || edited.from == sender else {
      throw RequestError(.forbidden, "somebody else sent this message", at: "/seq")
    }
    return edited.isChanged ? edited.change : nil
  }
}

extension [Change] {
  /// The deletion of a message, and of the call that it has begun.
  /// - Parameter handle: Is `nil` if the room is not in memory.
  package static func deletion(
    of seq: Int64, _ deleted: Edited, by user: UserID?, in room: RoomID, _ handle: RoomHandle?,
    requester: SessionHandle?, at time: Timestamp
  ) -> [Change] {
    let message = ChangedMessage(
      seq: seq, change: deleted.change, time: time, body: nil, moderator: deleted.moderator)
    var changes: [Change] = []
    if let handle {
      let change = MessageChange(
        message: message, room: room, handle: handle, requester: requester, newest: deleted.newest)
      changes.append(.deleted(change, from: deleted.from))
    }
    if let call = deleted.call { changes.append(.call(call, .delete, by: user, on: nil)) }
    return changes
  }
}
