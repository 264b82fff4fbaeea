// SPDX-License-Identifier: Apache-2.0
import RelayDelivery
import RelayHub
import RelayJSON
import RelayProtocol
import RelayPush
import RelayStore

/// The edits and deletions of a room in memory.
struct RoomChanges {
  /// The number since the room is in memory. A page that was read before a change may be older than the event of it.
  var count = 0
  /// The newest seq of the room at the last change; 0 when no message of the history was ever changed.
  var newest: Int64
}

/// Messages that are edited or deleted after they were sent.
extension Relay {
  func edit(_ request: HubRequest, _ user: UserHandle) async throws {
    let (room, handle, name) = try place(of: request, user)
    try checkKeeps(room)
    try check(.send, of: rights(of: request.session, in: room), in: room, at: "/room")
    let seq = try request.fields.seq
    let body = try request.fields.required("body", request.fields.raw("body"))
    try spend(editIn: handle, of: room, by: user)
    try await edit(seq, body: body, in: room, handle, by: name, cause: request.session)
    finish(request) { $0.integer("seq", seq) }
  }

  func delete(_ request: HubRequest, _ user: UserHandle) async throws {
    let (room, handle, name) = try place(of: request, user)
    try checkKeeps(room)
    let seq = try request.fields.seq
    let isModerator = rights(of: request.session, in: room).contains(.moderate)
    try spend(sendTo: handle, by: user, pushes: true)
    try await delete(seq, in: room, handle, by: isModerator ? nil : name, cause: request.session)
    finish(request) { $0.integer("seq", seq) }
  }

  /// The room that a request names, which its session has joined, and who asks.
  func place(of request: HubRequest, _ user: UserHandle) throws -> (RoomID, RoomHandle, UserID) {
    let room = try request.fields.room
    guard let handle = hub.room(room), hub.isJoined(request.session, to: handle), let name = hub.name(of: user) else {
      throw HubRefusal.notThere
    }
    return (room, handle, name)
  }

  func checkKeeps(_ room: RoomID) throws(RequestError) {
    guard policy(of: room).isStored else {
      throw RequestError(.unsupported, "a room that keeps nothing has no messages to change", at: "/room", status: 422)
    }
  }

  /// Takes the tokens of an edit, but for the user's first, which the request has taken. The edit costs as much as a
  /// message with pushes if phones show its text.
  func spend(editIn handle: RoomHandle, of room: RoomID, by user: UserHandle) throws(RequestError) {
    try spend(sendTo: handle, by: user, pushes: policy(of: room).hasPreview)
  }

  /// Gives the sender's message another body.
  func edit(
    _ seq: Int64, body: [UInt8], in room: RoomID, _ handle: RoomHandle, by sender: UserID, cause: SessionHandle?
  ) async throws {
    let now = hub.now
    let hasPreview = policy(of: room).hasPreview
    pin(room)
    let edited = try await commit(rows: changeRows(of: handle)) {
      try $0.messages.edit(room, seq, by: sender, at: now, body: body, isTold: hasPreview)
    } then: { relay, edited in
      defer { relay.unpin(room) }
      guard let edited = try? edited.get(), edited.isChanged else { return }
      relay.show("edited", seq, at: now, body: body, in: room, handle, cause, edited)
    }
    guard try check(edited, isBy: sender) else { throw noMessage }  // it was deleted
  }

  /// Takes a message back: its place stays, and nobody is pushed to for it any more.
  /// - Parameter sender: Who must have sent it; nil: whoever did.
  func delete(
    _ seq: Int64, in room: RoomID, _ handle: RoomHandle, by sender: UserID?, cause: SessionHandle?
  ) async throws {
    let now = hub.now
    pin(room)
    let deleted = try await commit(rows: changeRows(of: handle)) {
      try $0.messages.delete(room, seq, by: sender, at: now)
    } then: { relay, deleted in
      defer { relay.unpin(room) }
      guard let deleted = try? deleted.get(), deleted.isChanged else { return }
      relay.deliveries.deleted(seq, from: deleted.from, in: handle, on: relay)
      relay.show("deleted", seq, at: now, body: nil, in: room, handle, cause, deleted)
    }
    _ = try check(deleted, isBy: sender)  // false where it was deleted before
  }

  /// The rows that an edit or a deletion writes at most: the message, and the first updates of phones.
  private func changeRows(of room: RoomHandle) -> Int {
    hub.pushes(room) ? 1 + UpdateQueue.maxUpdatesWithChange : 1
  }

  /// Stores `work`, and calls `apply` in the completion of the commit: before what was committed later is shown.
  func commit<T: Sendable>(
    rows: Int = 1,
    _ work: @escaping @Sendable (Transaction) throws -> T,
    then apply: @escaping @Sendable (isolated Relay, Result<T, StoreError>) -> Void
  ) async throws(StoreError) -> T {
    let result = await withCheckedContinuation { continuation in
      store.submit(work, rows: rows) { [self] result in
        assumeIsolated { apply($0, result) }
        continuation.resume(returning: result)
      }
    }
    return try result.get()
  }

  private var noMessage: RequestError { RequestError(.notFound, "there is no such message", at: "/seq") }

  /// - Returns: Whether anything was changed.
  private func check(_ edited: Edited?, isBy sender: UserID?) throws(RequestError) -> Bool {
    guard let edited else { throw noMessage }
    guard sender == nil || edited.from == sender else {
      throw RequestError(.forbidden, "somebody else sent this message", at: "/seq")
    }
    return edited.isChanged
  }

  private func show(
    _ event: String, _ seq: Int64, at time: Timestamp, body: [UInt8]?, in room: RoomID, _ handle: RoomHandle,
    _ cause: SessionHandle?, _ edited: Edited
  ) {
    // What phones show of it is to change.
    worker.wake()
    // Who joins meanwhile is given it as it is now.
    changedRooms[handle, default: RoomChanges(newest: 0)].count += 1
    changedRooms[handle]?.newest = edited.newest
    hub.trim(handle, before: seq + 1)
    hub.tell(Replies.change(event, seq, at: time, body: body, in: room), in: handle, cause: cause)
  }
}

extension Fields {
  /// Which message.
  var seq: Int64 {
    get throws(RequestError) { try required("seq", integer("seq", 1...largestInteger)) }
  }
}
