// SPDX-License-Identifier: Apache-2.0
import RelayHub
import RelayProtocol
import RelayStore

/// Messages of rooms that the store keeps, and those with a key of all others.
extension Relay {
  /// A `send`: accepted here, answered when it is on disk and shown.
  func send(_ message: HubSend) {
    guard let room = hub.name(of: message.room), let sender = hub.name(of: message.user) else {
      hub.finish(message.session, with: refusal(message.id, requestError(HubRefusal.gone)))
      return
    }
    guard policies[message.room]?.isStored ?? true else {
      tell(
        message, room,
        Result { try publish(message.body, key: message.key, to: message.room, from: sender, session: message.session) }
      )
      return
    }
    append(message.body, key: message.key, to: room, message.room, from: User(id: sender), session: message.session) {
      $0.tell(message, room, $1.mapError { $0 })
    }
  }

  private func tell(_ message: HubSend, _ room: RoomID, _ result: Result<Appended, any Error>) {
    switch result {
    case .success(let sent):
      let reply =
        message.id == nil
        ? []
        : JSONWriter.object {
          $0["type"] = "ok"
          $0.raw("id", message.id)
          Replies.sent(sent.seq, sent.time, in: room, isDuplicate: sent.isDuplicate)(&$0)
        }
      hub.finish(message.session, with: reply)
    case .failure(let error):
      hub.finish(message.session, with: refusal(message.id, requestError(error)))
    }
  }

  /// Shows a message in a room that keeps nothing, unless its key was seen. What has no key does not come here from
  /// sessions: the hub shows it by itself.
  func publish(
    _ body: [UInt8], key: String?, to room: RoomHandle, from sender: UserID, session: SessionHandle?
  ) throws(HubRefusal) -> Appended {
    guard let epoch = hub.position(of: room)?.epoch else { throw .gone }
    let key = key.map { LiveKeys.Key(room: room, user: sender, key: $0) }
    let now = hub.now
    if let key, let first = liveKeys.first(key, at: now) {
      return Appended(seq: first.seq, time: first.time, epoch: epoch, isDuplicate: true)
    }
    guard let sent = hub.publish(ShownMessage(from: sender, sender: session, body: body), in: room) else { throw .gone }
    if let key { liveKeys.remember(key, seq: sent.seq, time: sent.time, at: now) }
    return Appended(seq: sent.seq, time: sent.time, epoch: epoch)
  }

  /// Stores a message with the pushes that are known at once, shows it, and only then tells.
  func append(
    _ body: [UInt8], key: String?, to room: RoomID, _ handle: RoomHandle, from sender: User, session: SessionHandle?,
    then tell: @escaping @Sendable (isolated Relay, Result<Appended, StoreError>) -> Void
  ) {
    let accepted = ContinuousClock.now
    let now = hub.now
    let away = hub.away(in: handle, sender: sender.id, rings: false)
    let draft = MessageDraft(
      room: room, from: sender, time: now, body: body, key: key, jobs: jobs(for: away.users, at: now, from: sender.id),
      cursorFollows: !away.needsWait, retention: policies[handle]?.history ?? .everything)
    pin(room)
    store.submit({ try $0.append(draft) }) { [self] result in
      assumeIsolated { relay in
        relay.unpin(room)
        if case .success(let stored) = result, !stored.isDuplicate {
          relay.hub.publish(
            ShownMessage(from: sender.id, sender: session, body: body, decided: away.users), seq: stored.seq,
            time: stored.time, in: handle)
          if !stored.jobs.isEmpty { relay.worker.wake() }
        }
        tell(relay, result)
        if case .success = result {
          relay.tally.acknowledgements.observe((ContinuousClock.now - accepted).seconds)
        }
      }
    }
  }
}
