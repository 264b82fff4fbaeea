// SPDX-License-Identifier: Apache-2.0
import RelayHub
import RelayProtocol
import RelayStore

/// Messages of rooms that the store keeps.
extension Relay {
  /// A `send`: accepted here, answered when it is on disk and shown.
  func send(_ message: HubSend) {
    guard let room = hub.name(of: message.room), let sender = hub.name(of: message.user) else {
      hub.finish(message.session, with: Replies.error(message.id, requestError(HubRefusal.gone)))
      return
    }
    append(message.body, key: message.key, to: room, message.room, from: User(id: sender), session: message.session) {
      relay, result in
      switch result {
      case .success(let stored):
        let reply =
          message.id == nil
          ? []
          : JSONWriter.object {
            $0["type"] = "ok"
            $0.raw("id", message.id)
            Replies.sent(stored.seq, stored.time, in: room, isDuplicate: stored.isDuplicate)(&$0)
          }
        relay.hub.finish(message.session, with: reply)
      case .failure(let error):
        relay.hub.finish(message.session, with: Replies.error(message.id, relay.requestError(error)))
      }
    }
  }

  /// Stores a message with the pushes that are known at once, shows it, and only then tells.
  func append(
    _ body: [UInt8], key: String?, to room: RoomID, _ handle: RoomHandle, from sender: User, session: SessionHandle?,
    then tell: @escaping @Sendable (isolated Relay, Result<Appended, StoreError>) -> Void
  ) {
    let now = hub.now
    let away = hub.away(in: handle, sender: sender.id)
    let draft = MessageDraft(
      room: room, from: sender, time: now, body: body, key: key, jobs: jobs(for: away.users, at: now, from: sender.id),
      cursorFollows: !away.needsWait)
    pin(room)
    store.submit({ try $0.append(draft) }) { [self] result in
      assumeIsolated { relay in
        relay.unpin(room)
        if case .success(let stored) = result, !stored.isDuplicate {
          relay.hub.publish(
            stored.seq, time: stored.time, from: sender.id, sender: session, body: body, decided: away.users,
            in: handle)
          if !stored.jobs.isEmpty { relay.worker.wake() }
        }
        tell(relay, result)
      }
    }
  }

  func saveMarks(_ room: RoomHandle, _ user: UserHandle, read: Int64, received: Int64) {
    guard let room = hub.name(of: room), let user = hub.name(of: user) else { return }
    store.submit({
      try $0.mark(room, user, read: read, received: received)
      _ = try $0.cancel(room, user, upTo: max(read, received), reason: "read or received")
    }) { _ in }
  }

  func saveCursor(_ seq: Int64, of room: RoomHandle) {
    guard let room = hub.name(of: room) else { return }
    store.submit({ try $0.advanceCursor(room, to: seq) }) { _ in }
  }
}
