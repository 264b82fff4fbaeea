// SPDX-License-Identifier: Apache-2.0
import RelayDelivery
import RelayGateways
import RelayHub
import RelayJSON
import RelayProtocol
import RelayPush
import RelayStore

/// A message that is to be sent.
struct OutgoingMessage {
  var from: User
  /// The session that sends it, which is not shown it.
  var session: SessionHandle?
  var body: [UInt8]
  var key: String?
  var request = SendRequest()
  /// Whose text it is.
  var response: ResponseDraft?
  /// Whether the sender may know who is there.
  var showsPresence = true

  var traits: MessageTraits { MessageTraits(from: from.id, mentions: request.mentions, push: request.push) }

  func shown(to decided: [UserHandle] = []) -> ShownMessage {
    ShownMessage(
      from: from.id, sender: session, body: body, more: request.members, isSilent: !request.push.isAsked,
      decided: decided, keepsMarks: response != nil)
  }
}

/// How a message was taken.
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
    var outgoing = OutgoingMessage(
      from: User(id: sender), session: message.session, body: message.body, key: message.key)
    let rights = rights(of: message.session, in: room)
    outgoing.showsPresence = rights.contains(.presence)
    do {
      if let fields = message.fields {
        outgoing.request = try SendRequest(
          fields, rights: rights, newest: hub.position(of: message.room)?.seq ?? 0, isStored: isStored)
        try check(outgoing.request.push, from: sender, to: room)
      }
      guard isStored else {
        return tell(message, room, .success(SentMessage(stored: try publish(outgoing, in: message.room))))
      }
    } catch {
      return tell(message, room, .failure(error))
    }
    append(outgoing, to: room, message.room) { $0.tell(message, room, $1.mapError { $0 }) }
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

  /// Shows a message in a room that keeps nothing, unless its key was seen. What is but a body does not come here from
  /// sessions: the hub shows it by itself.
  func publish(_ message: OutgoingMessage, in room: RoomHandle) throws(HubRefusal) -> Appended {
    guard let epoch = hub.position(of: room)?.epoch else { throw .gone }
    let key = message.key.map { LiveKeys.Key(room: room, user: message.from.id, key: $0) }
    let now = hub.now
    if let key, let first = liveKeys.first(key, at: now) {
      return Appended(seq: first.seq, time: first.time, epoch: epoch, isDuplicate: true)
    }
    guard let sent = hub.publish(message.shown(), in: room) else { throw .gone }
    if let key { liveKeys.remember(key, seq: sent.seq, time: sent.time, at: now) }
    return Appended(seq: sent.seq, time: sent.time, epoch: epoch)
  }

  /// Stores a message with the pushes that are known at once, shows it, and only then tells.
  func append(
    _ message: OutgoingMessage, to room: RoomID, _ handle: RoomHandle,
    then tell: @escaping @Sendable (isolated Relay, Result<SentMessage, StoreError>) -> Void
  ) {
    let accepted = ContinuousClock.now
    let now = hub.now
    let traits = message.traits
    let request = message.request
    let isAsked = request.push.isAsked
    let isReported = request.reports && message.showsPresence
    let away =
      isAsked
      ? hub.away(
        in: handle, sender: message.from.id, rings: request.push.kind == .call, isReported: isReported)
      : (users: [], needsWait: false)
    // The store may commit a join before this message. The new member's push is then decided after the commit.
    let needsWait = away.needsWait || isAsked && joins[room] != nil
    let delivery = delivery(of: traits, in: handle, room, showsPresence: message.showsPresence)
    let ticket = deliveries.begin(for: away.users, in: handle, on: self)
    let plan = ticket.isDecided ? deliveries.plan(traits, at: now, for: away.users, in: room, on: self) : Plan()
    let isWaitedFor = needsWait || !ticket.isDecided
    let draft = MessageDraft(
      room: room, from: message.from, time: now, body: message.body, mentions: request.mentions,
      replyTo: request.replyTo, push: request.push == PushRequest() ? nil : request.push, isCounted: isAsked,
      reports: request.reports,
      silenced: delivery?.quiet ?? [], key: message.key, cursorFollows: !isWaitedFor,
      retention: policies[handle]?.history ?? .everything, response: message.response)
    pin(room)
    let stored: @Sendable (Result<Appended, StoreError>) -> Void = { [self] result in
      assumeIsolated { relay in
        defer { relay.unpin(room) }
        if case .success(let stored) = result, !stored.isDuplicate {
          relay.deliveries.stored(
            stored.seq, traits, at: stored.time, in: handle, waits: isWaitedFor, isReported: isReported, on: relay)
          var shown = message.shown(to: ticket.isDecided ? away.users : [])
          // The members that this message would have been decided for at once become due at once.
          shown.isDueNow = !ticket.isDecided && (request.push.kind == .call || isReported)
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
      { transaction in
        var draft = draft
        draft.jobs = plan.pushes.map(JobDraft.init)
        return try transaction.messages.append(draft)
      }, rows: 1 + plan.pushes.count + draft.silenced.count, completion: stored)
  }
}
