// SPDX-License-Identifier: Apache-2.0
import RelayDelivery
import RelayGateways
import RelayHub
import RelayJSON
import RelayProtocol
import RelayPush
import RelayStore

/// The result of a message that was sent.
struct SentMessage: Sendable {
  var stored: Appended
  /// nil: a duplicate, or a room that pushes nothing.
  var delivery: DeliveryReport?
}

/// Messages of rooms that the store keeps, and those of all others that have a key or more to them than a body.
extension Relay {
  /// A `send`: accepted here, answered when it is on disk and shown.
  func send(_ message: HubSend) {
    guard let room = hub.name(of: message.room), let sender = hub.name(of: message.user) else {
      hub.finish(message.session, with: refusal(message.id, requestError(HubRefusal.gone)))
      return
    }
    let isStored = policies[message.room]?.isStored ?? true
    var draft = MessageDraft(room: room, from: User(id: sender), time: hub.now, body: message.body, key: message.key)
    let rights = rights(of: message.session, in: room)
    do {
      if let fields = message.fields {
        try draft.read(fields, rights: rights, newest: hub.position(of: message.room)?.seq ?? 0, isStored: isStored)
        if let push = draft.push { try check(push, from: sender, to: room) }
      }
      guard isStored else {
        let stored = try publish(draft, from: message.session, in: message.room)
        return tell(message, room, .success(SentMessage(stored: stored)))
      }
    } catch {
      return tell(message, room, .failure(error))
    }
    append(draft, from: message.session, in: message.room, showsPresence: rights.contains(.presence)) {
      $0.tell(message, room, $1.mapError { $0 })
    }
  }

  /// Throws what of a push does not go with the room, names no category of the registry, or would not fit into a
  /// payload for whoever is in it.
  func check(_ push: PushRequest, from sender: UserID, to room: RoomID) throws(RequestError) {
    try push.check(in: categories.registry)
    try push.check(
      sender: sender, room: room, hasPreview: policy(of: room).hasPreview,
      largest: settings.webPushKey == nil ? Push.largestPayload : WebPushGateway.largestPayload)
  }

  private func tell(_ message: HubSend, _ room: RoomID, _ result: Result<SentMessage, any Error>) {
    switch result {
    case .success(let sent):
      let reply =
        message.id == nil
        ? []
        : JSONWriter.object {
          $0["type"] = "ok"
          $0.raw("id", message.id)
          Replies.sent(sent, in: room)(&$0)
        }
      hub.finish(message.session, with: reply)
    case .failure(let error):
      let error = requestError(error)
      logRefusal(of: message, error)
      hub.finish(message.session, with: refusal(message.id, error))
    }
  }

  /// Publishes a message in a room that keeps no messages, unless its key was used before. The hub itself publishes the
  /// messages of sessions that have only a body.
  func publish(
    _ draft: MessageDraft, from session: SessionHandle? = nil, in room: RoomHandle
  ) throws(HubRefusal) -> Appended {
    guard let epoch = hub.position(of: room)?.epoch else { throw .gone }
    let key = draft.key.map { LiveKeys.Key(room: room, user: draft.from.id, key: $0) }
    let now = hub.now
    if let key, let first = liveKeys.first(key, at: now) {
      return Appended(seq: first.seq, time: first.time, epoch: epoch, isDuplicate: true)
    }
    guard let sent = hub.publish(draft.shown(without: session), in: room) else { throw .gone }
    if let key { liveKeys.remember(key, seq: sent.seq, time: sent.time, at: now) }
    return Appended(seq: sent.seq, time: sent.time, epoch: epoch)
  }

  /// Stores a message with the pushes that are known at once, publishes it, and then calls `tell`.
  /// - Parameters:
  ///   - session: The session that sends the message and does not receive it.
  ///   - showsPresence: True if the sender may receive the presence of others.
  func append(
    _ draft: MessageDraft, from session: SessionHandle? = nil, in handle: RoomHandle, showsPresence: Bool = true,
    then tell: @escaping @Sendable (isolated Relay, Result<SentMessage, StoreError>) -> Void
  ) {
    let accepted = ContinuousClock.now
    let now = hub.now
    let room = draft.room
    let traits = draft.traits
    let isAsked = traits.push.isAsked
    let isCall = traits.push.kind == .call
    let isReported = draft.reports && showsPresence
    let away =
      isAsked
      ? hub.away(
        in: handle, sender: draft.from.id, rings: isCall, isReported: isReported)
      : (users: [], needsWait: false)
    // The store may commit a join before this message. The new member's push is then decided after the commit.
    let needsWait = away.needsWait || isAsked && joins[room] != nil
    let delivery = delivery(of: traits, in: handle, room, showsPresence: showsPresence)
    let ticket = deliveries.begin(for: away.users, in: handle, on: self)
    let plan = ticket.isDecided ? deliveries.plan(traits, at: now, for: away.users, in: room, on: self) : Plan()
    let isWaitedFor = needsWait || !ticket.isDecided
    var draft = draft
    draft.time = now
    draft.isCounted = isAsked
    draft.silenced = delivery?.quiet ?? []
    draft.cursorFollows = !isWaitedFor
    draft.retention = policies[handle]?.history ?? .everything
    pin(room)
    let stored: @Sendable (Result<Appended, StoreError>) -> Void = { [self, draft] result in
      assumeIsolated { relay in
        defer { relay.unpin(room) }
        if case .success(let stored) = result, !stored.isDuplicate {
          relay.deliveries.stored(
            stored.seq, traits, at: stored.time, in: handle, waits: isWaitedFor, isReported: isReported, on: relay)
          var shown = draft.shown(without: session, decided: ticket.isDecided ? away.users : [])
          // The members that this message would have been decided for at once become due at once.
          shown.isDueNow = !ticket.isDecided && (isCall || isReported)
          relay.hub.publish(shown, seq: stored.seq, time: stored.time, in: handle)
        }
        relay.deliveries.end(ticket)
        tell(relay, result.map { SentMessage(stored: $0, delivery: $0.isDuplicate ? nil : delivery) })
        guard case .success(let stored) = result else { return }
        relay.tally.acknowledgements.observe((ContinuousClock.now - accepted).seconds)
        // After the reply, as for a push that the gateway answers.
        guard !stored.isDuplicate else { return }
        relay.deliveries.conclude(plan, stored.seq, in: handle, on: relay)
        guard let sender = relay.hub.user(traits.from) else { return }
        if let answered = stored.response?.response.message.seq {
          // Of a notification they have read no more than its message; badges may have changed with it.
          relay.hub.setRead(answered, sender, in: handle)
          relay.worker.wake()
        } else {
          // Who answers has read.
          relay.deliveries.reportReceived(handle, sender, upTo: stored.seq, on: relay)
        }
      }
    }
    guard !plan.pushes.isEmpty else { return store.append(draft, completion: stored) }
    store.submit(
      { [draft] transaction in
        var draft = draft
        draft.jobs = plan.pushes.map(JobDraft.init)
        return try transaction.messages.append(draft)
      }, rows: 1 + plan.pushes.count + draft.silenced.count, completion: stored)
  }
}
