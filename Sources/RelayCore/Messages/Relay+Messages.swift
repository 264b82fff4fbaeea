// SPDX-License-Identifier: Apache-2.0
import RelayDelivery
import RelayGateways
package import RelayHub
import RelayJSON
package import RelayProtocol
import RelayPush
package import RelayStore

/// The result of sending a message.
package struct SentMessage: Sendable {
  package var stored: Appended
  /// Is `nil` for a duplicate, and in a room that pushes nothing.
  package var delivery: DeliveryReport?
}

/// Sending messages: accept a message, store it in one transaction with its push jobs, and publish it.
extension Relay {
  /// Sends a message of a session, and replies when it is stored and published.
  package func send(_ message: HubSend) {
    guard let room = hub.name(of: message.room), let sender = hub.name(of: message.user) else {
      hub.finish(message.session, with: refusal(message.id, requestError(HubRefusal.gone)))
      return
    }
    let isStored = rooms.policy(of: message.room)?.isStored ?? true
    var draft = MessageDraft(room: room, from: User(id: sender), time: hub.now, body: message.body, key: message.key)
    let rights = access.rights(of: message.session, in: room, on: self)
    do {
      if let fields = message.fields {
        var rights = rights
        if rights.contains(.join), hub.role(of: message.user, in: message.room) >= .moderator {
          rights.insert(.mentionAll)
        }
        try draft.read(fields, rights: rights, newest: hub.position(of: message.room)?.seq ?? 0, isStored: isStored)
        try resolveMentions(of: &draft, in: message.room, fields.pointer)
        if let push = draft.push { try check(push, from: sender, to: room) }
        try admitMentions(of: draft)
        try admitCall(of: &draft, in: message.room)
      }
      guard isStored else {
        let stored = try show(draft, from: message.session, in: message.room)
        return reply(to: message, room, .success(SentMessage(stored: stored)))
      }
    } catch {
      return reply(to: message, room, .failure(error))
    }
    append(draft, from: message.session, in: message.room, showsPresence: rights.contains(.presence)) {
      $0.reply(to: message, room, $1.mapError { $0 })
    }
  }

  /// Throws if the room does not allow the push, if the push names an unknown category, or if it could not fit into a
  /// payload for each member of the room.
  package func check(_ push: PushRequest, from sender: UserID, to room: RoomID) throws(RequestError) {
    try push.check(in: responses.categories.registry)
    try push.check(
      sender: sender, room: room, hasPreview: rooms.policy(of: room, on: self).hasPreview,
      maxSize: settings.webPushKey == nil ? Push.maxPayload : WebPushGateway.maxPayload)
  }

  private func reply(to message: HubSend, _ room: RoomID, _ result: Result<SentMessage, any Error>) {
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
      diagnostics.logRefusal(of: message, error)
      hub.finish(message.session, with: refusal(message.id, error))
    }
  }

  /// Sends a message, and returns when it is published. In a room that keeps messages it is on disk by then.
  func post(_ draft: MessageDraft, in room: RoomHandle, showsPresence: Bool = true) async throws -> SentMessage {
    guard rooms.policy(of: draft.room, on: self).isStored else {
      return SentMessage(stored: try show(draft, from: nil, in: room))
    }
    let handover = Handover<Result<SentMessage, StoreError>>()
    append(draft, from: nil, in: room, showsPresence: showsPresence) { handover.give($1) }
    return try await handover.value().get()
  }

  /// Publishes a message in a room that keeps nothing, unless its key was used before. Most messages of sessions in
  /// such rooms do not reach the relay: the hub publishes a message that is only a body.
  private func show(
    _ draft: MessageDraft, from session: SessionHandle?, in room: RoomHandle
  ) throws(HubRefusal) -> Appended {
    guard let epoch = hub.position(of: room)?.epoch else { throw .gone }
    let key = draft.key.map { LiveKeys.Key(room: room, user: draft.from.id, key: $0) }
    let now = hub.now
    if let key, let first = rooms.firstMessage(for: key, at: now) {
      return Appended(seq: first.seq, time: first.time, epoch: epoch, isDuplicate: true)
    }
    guard let sent = hub.publish(draft.shown(without: session), in: room) else { throw .gone }
    if let key { rooms.remember(key, seq: sent.seq, time: sent.time, at: now) }
    return Appended(seq: sent.seq, time: sent.time, epoch: epoch)
  }

  /// Stores a message with the pushes that can be decided at once, publishes it, and then calls `reply`.
  /// - Parameters:
  ///   - session: The session that sends the message and does not receive it.
  ///   - showsPresence: True if the sender may see presence in the room.
  private func append(
    _ draft: MessageDraft, from session: SessionHandle?, in room: RoomHandle, showsPresence: Bool,
    then reply: @escaping PlannedMessage.Reply
  ) {
    let accepted = ContinuousClock.now
    var draft = draft
    complete(&draft, in: room)
    let message = plan(&draft, acceptedAt: accepted, from: session, in: room, showsPresence: showsPresence)
    submit(message, then: reply)
  }

  /// Adds what does not depend on the recipients.
  private func complete(_ draft: inout MessageDraft, in room: RoomHandle) {
    draft.time = hub.now
    // An erasure looks at each stored message once, so it might miss this mention.
    if !draft.mentions.isEmpty {
      draft.mentions.names.removeAll { erasures.isOpen($0) }
      draft.mentions.present.removeAll { erasures.isOpen($0) }
    }
    // A sender who is not in memory may have a phone.
    draft.hasPhones = hub.user(draft.from.id).map(hub.hasDevices) ?? true
    let policy = rooms.policy(of: room)
    draft.retention = policy?.history ?? .everything
    draft.quoting = draft.quoting.within(policy)
  }

  /// Decides the pushes that need no wait and no fact of the store, and adds the result to the draft.
  private func plan(
    _ draft: inout MessageDraft, acceptedAt accepted: ContinuousClock.Instant, from session: SessionHandle?,
    in handle: RoomHandle, showsPresence: Bool
  ) -> PlannedMessage {
    let room = draft.room
    let traits = draft.traits
    let isAsked = traits.push.isAsked
    let isReported = draft.reports && showsPresence
    let isCrowded = hub.isCrowded(handle)
    let named = isCrowded ? draft.mentions.names.compactMap(hub.user) : []
    let away =
      isAsked
      ? hub.away(
        in: handle, sender: draft.from.id, rings: traits.push.kind == .call, isReported: isReported, named: named)
      : (users: [], needsWait: false)
    // The store may commit a join before this message. The push of the new member is then decided after the commit.
    let needsWait = away.needsWait || isAsked && rooms.isBeingJoined(room)
    let delivery = deliveries.deliveryReport(
      of: traits, in: handle, room, showsPresence: showsPresence, on: self)
    // A reply mentions the sender of the answered message. Only the store can find this sender.
    let isReply = isAsked && draft.replyTo != nil
    let ticket = deliveries.begin(for: away.users, in: handle, isComplete: !isReply, on: self)
    let plan =
      ticket.isDecided
      ? deliveries.plan(traits, at: draft.time, for: away.users, in: room, isCrowded: isCrowded, on: self) : Plan()
    let isWaitedFor = needsWait || !ticket.isDecided || isCrowded && isReply
    draft.isCounted = isAsked
    draft.silenced = delivery?.silenced ?? []
    draft.cursorFollows = !isWaitedFor
    draft.jobs = plan.pushes
    return PlannedMessage(
      accepted: accepted, draft: draft, handle: handle, session: session, traits: traits, isReported: isReported,
      isCrowded: isCrowded, away: away.users, ticket: ticket, plan: plan, isWaitedFor: isWaitedFor, delivery: delivery)
  }

  private func submit(_ message: PlannedMessage, then reply: @escaping PlannedMessage.Reply) {
    let room = message.draft.room
    rooms.retain(room)
    store.append(message.draft) { [self] result in
      assumeIsolated { relay in
        defer { relay.rooms.release(room, on: relay) }
        guard case .success(let stored) = result, !stored.isDuplicate else {
          return relay.answer(message, result, reply)
        }
        relay.follow(.sent(SentChange(message, stored, reply)))
      }
    }
  }

  /// Answers the sender of a message that is published, or that is not stored.
  func answer(_ message: PlannedMessage, _ result: Result<Appended, StoreError>, _ reply: PlannedMessage.Reply) {
    deliveries.end(message.ticket)
    reply(self, result.map { SentMessage(stored: $0, delivery: $0.isDuplicate ? nil : message.delivery) })
    if case .success = result { diagnostics.tally.countAcknowledgement(after: ContinuousClock.now - message.accepted) }
  }
}

extension Replies {
  package static func sent(_ sent: SentMessage, in room: RoomID) -> (inout JSONWriter.Object) -> Void {
    {
      $0["room"] = room.rawValue
      $0.integer("seq", sent.stored.seq)
      $0.integer("time", sent.stored.time.rawValue)
      if sent.stored.isDuplicate { $0.bool("duplicate", true) }
      sent.stored.quote?.write(to: &$0)
      if let delivery = sent.delivery { $0.object("delivery") { $0.members(of: delivery) } }
    }
  }
}
