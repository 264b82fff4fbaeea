// SPDX-License-Identifier: Apache-2.0
import RelayHub
import RelayProtocol
import RelayStore

/// Messages that are changed, or taken back, after they were sent.
extension Relay {
  func edit(_ request: HubRequest, _ user: UserHandle) async throws {
    let (room, handle, name) = try place(of: request, user)
    try checkKeeps(room)
    try check(.send, of: rights(of: request.session, in: room), in: room, at: "/room")
    let seq = try request.fields.seq
    let body = try request.fields.required("body", request.fields.raw("body"))
    try await edit(seq, body: body, in: room, handle, by: name, cause: request.session)
    finish(request) { $0.integer("seq", seq) }
  }

  func delete(_ request: HubRequest, _ user: UserHandle) async throws {
    let (room, handle, name) = try place(of: request, user)
    try checkKeeps(room)
    let seq = try request.fields.seq
    let isModerator = rights(of: request.session, in: room).contains(.moderate)
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

  /// Gives the sender's message another body.
  func edit(
    _ seq: Int64, body: [UInt8], in room: RoomID, _ handle: RoomHandle, by sender: UserID, cause: SessionHandle?
  ) async throws {
    let now = hub.now
    let hasPreview = policy(of: room).hasPreview
    let edited = try await store.write { try $0.edit(room, seq, by: sender, body: body, isTold: hasPreview) }
    guard try check(edited, isBy: sender) else { throw noMessage }  // it was deleted
    show("edited", seq, at: now, body: body, in: room, handle, cause)
  }

  /// Takes a message back: its place stays, and nobody is pushed to for it any more.
  /// - Parameter sender: Who must have sent it; nil: whoever did.
  func delete(
    _ seq: Int64, in room: RoomID, _ handle: RoomHandle, by sender: UserID?, cause: SessionHandle?
  ) async throws {
    let now = hub.now
    let deleted = try await store.write { try $0.delete(room, seq, by: sender) }
    guard try check(deleted, isBy: sender) else { return }  // it was deleted before
    var traits = undecided[handle, seq] ?? deleted.map { MessageTraits(from: $0.from) }
    traits?.isDeleted = true
    if (hub.position(of: handle)?.seq ?? 0) >= seq { undecided[handle, seq] = traits }
    reports.cancelPlan(of: seq, in: handle)
    show("deleted", seq, at: now, body: nil, in: room, handle, cause)
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
    _ cause: SessionHandle?
  ) {
    // What phones show of it is to change.
    worker.wake()
    // Who joins meanwhile is given it as it is now.
    edits += 1
    hub.trim(handle, before: seq + 1)
    hub.tell(
      JSONWriter.object {
        $0["type"] = event
        $0["room"] = room.rawValue
        $0.integer("seq", seq)
        $0.integer("time", time.rawValue)
        $0.raw("body", body)
      }, in: handle, cause: cause)
  }
}

extension Fields {
  /// Which message.
  var seq: Int64 {
    get throws(RequestError) { try required("seq", integer("seq", 1...largestInteger)) }
  }
}
