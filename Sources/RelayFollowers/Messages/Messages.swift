// SPDX-License-Identifier: Apache-2.0
import RelayDelivery
import RelayGateways
package import RelayHub
package import RelayJSON
package import RelayProtocol
package import RelayRequests
package import RelayState
package import RelayStore

/// Sends, edits, deletes and annotates messages. One transaction stores a message with its push jobs.
///
/// A message of a session comes to ``send(_:on:)``, and one over HTTP to ``post(_:in:showsPresence:on:)``. In a room that
/// keeps messages, both call `append`, which completes the draft, plans its pushes and submits it. In a live room, both
/// call `show`, which only publishes it.
///
/// It has no state. The relay creates one object, and the methods run on the hub's thread.
package final class Messages {
  let memory: RoomMemory
  let rooms: Rooms
  let access: Access
  let deliveries: Deliveries
  let responses: Responses
  let erasures: Erasures

  package init(_ rooms: Rooms, _ deliveries: Deliveries, _ responses: Responses, _ erasures: Erasures) {
    (memory, self.rooms, access) = (rooms.memory, rooms, rooms.access)
    (self.deliveries, self.responses, self.erasures) = (deliveries, responses, erasures)
  }

  /// Sends a message of a session, and replies when it is stored and published.
  package func send(_ message: HubSend, on core: isolated Core) {
    guard let room = core.hub.name(of: message.room), let sender = core.hub.name(of: message.user) else {
      core.hub.finish(message.session, with: core.refusal(message.id, core.requestError(HubRefusal.gone)))
      return
    }
    let isStored = memory.policy(of: message.room)?.isStored ?? true
    var draft = MessageDraft(
      room: room, from: User(id: sender), time: core.hub.now, body: message.body, key: message.key)
    let rights = access.rights(of: message.session, in: room, on: core)
    do {
      if let fields = message.fields {
        var rights = rights
        // The rights of a session are those of its token. A role in the room gives this right, too.
        if rights.contains(.join), core.hub.role(of: message.user, in: message.room) >= .moderator {
          rights.insert(.mentionAll)
        }
        try draft.read(
          fields, rights: rights, newest: core.hub.position(of: message.room)?.seq ?? 0, isStored: isStored)
        try resolveMentions(of: &draft, in: message.room, fields.pointer, on: core)
        if let push = draft.push { try check(push, from: sender, to: room, on: core) }
        try admit(&draft, in: message.room, on: core)
      }
      guard isStored else {
        let stored = try show(draft, from: message.session, in: message.room, on: core)
        return reply(to: message, room, .success(SentMessage(stored: stored)), on: core)
      }
    } catch {
      return reply(to: message, room, .failure(error), on: core)
    }
    let showsPresence = rights.contains(.presence)
    append(draft, from: message.session, in: message.room, showsPresence: showsPresence, on: core) {
      [self] result in reply(to: message, room, result.mapError { $0 }, on: core)
    }
  }

  /// Throws if the room does not allow the push, if the push names an unknown category, or if it could not fit into a
  /// payload for each member of the room.
  package func check(_ push: PushRequest, from sender: UserID, to room: RoomID, on core: isolated Core)
    throws(RequestError)
  {
    try push.check(in: responses.categories.registry)
    try push.check(
      sender: sender, room: room, hasPreview: memory.policy(of: room, on: core).hasPreview,
      maxSize: core.settings.webPushKey == nil ? Push.maxPayload : WebPushGateway.maxPayload)
  }

  private func reply(
    to message: HubSend, _ room: RoomID, _ result: Result<SentMessage, any Error>, on core: isolated Core
  ) {
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
      core.hub.finish(message.session, with: reply)
    case .failure(let error):
      let error = core.requestError(error)
      core.diagnostics.logRefusal(of: message, error)
      core.hub.finish(message.session, with: core.refusal(message.id, error))
    }
  }

  /// Sends a message, and returns when it is published. In a room that keeps messages it is on disk by then.
  package func post(
    _ draft: MessageDraft, in room: RoomHandle, showsPresence: Bool = true, on core: isolated Core
  ) async throws -> SentMessage {
    guard memory.policy(of: draft.room, on: core).isStored else {
      return SentMessage(stored: try show(draft, from: nil, in: room, on: core))
    }
    let handover = Handover<Result<SentMessage, StoreError>>()
    append(draft, from: nil, in: room, showsPresence: showsPresence, on: core) { handover.give($0) }
    return try await handover.value().get()
  }

  /// Publishes a message in a room that keeps nothing, unless its key was used before. Most messages of sessions in
  /// such rooms do not come here: the hub publishes a message that is only a body.
  private func show(
    _ draft: MessageDraft, from session: SessionHandle?, in room: RoomHandle, on core: isolated Core
  ) throws(HubRefusal) -> Appended {
    guard let epoch = core.hub.position(of: room)?.epoch else { throw .gone }
    let key = draft.key.map { LiveKeys.Key(room: room, user: draft.from.id, key: $0) }
    let now = core.hub.now
    if let key, let first = rooms.firstMessage(for: key, at: now) {
      return Appended(seq: first.seq, time: first.time, epoch: epoch, isDuplicate: true)
    }
    guard let sent = core.hub.publish(draft.shown(without: session), in: room) else { throw .gone }
    if let key { rooms.remember(key, seq: sent.seq, time: sent.time, at: now) }
    return Appended(seq: sent.seq, time: sent.time, epoch: epoch)
  }

  /// Stores a message with the pushes that can be decided at once, publishes it, and then calls `reply`.
  /// - Parameters:
  ///   - session: The session that sends the message and does not receive it.
  ///   - showsPresence: True if the sender may see presence in the room.
  private func append(
    _ draft: MessageDraft, from session: SessionHandle?, in room: RoomHandle, showsPresence: Bool,
    on core: isolated Core,
    then reply: @escaping PlannedMessage.Reply
  ) {
    let accepted = ContinuousClock.now
    var draft = draft
    complete(&draft, in: room, on: core)
    let message = plan(&draft, acceptedAt: accepted, from: session, in: room, showsPresence: showsPresence, on: core)
    submit(message, on: core, then: reply)
  }

  /// Adds what does not depend on the recipients.
  private func complete(_ draft: inout MessageDraft, in room: RoomHandle, on core: isolated Core) {
    draft.time = core.hub.now
    // An erasure looks at each stored message once, so it might miss this mention.
    if !draft.mentions.isEmpty {
      draft.mentions.names.removeAll { erasures.isOpen($0) }
      draft.mentions.present.removeAll { erasures.isOpen($0) }
    }
    // A sender who is not in memory may have a phone.
    draft.hasPhones = core.hub.user(draft.from.id).map(core.hub.hasDevices) ?? true
    let policy = memory.policy(of: room)
    draft.retention = policy?.history ?? .everything
    draft.quoting = draft.quoting.within(policy)
  }

  /// Decides the pushes that need no wait and no fact of the store, and adds the result to the draft.
  private func plan(
    _ draft: inout MessageDraft, acceptedAt accepted: ContinuousClock.Instant, from session: SessionHandle?,
    in handle: RoomHandle, showsPresence: Bool, on core: isolated Core
  ) -> PlannedMessage {
    let room = draft.room
    let traits = draft.traits
    let isAsked = traits.push.isAsked
    let isReported = draft.reports && showsPresence
    let isCrowded = core.hub.isCrowded(handle)
    let named = isCrowded ? draft.mentions.names.compactMap(core.hub.user) : []
    let away =
      isAsked
      ? core.hub.away(
        in: handle, sender: draft.from.id, rings: traits.push.kind == .call, isReported: isReported, named: named)
      : (users: [], needsWait: false)
    // The store may commit a join before this message. The push of the new member is then decided after the commit.
    let needsWait = away.needsWait || isAsked && rooms.isBeingJoined(room)
    let delivery = deliveries.deliverySummary(
      of: traits, in: handle, room, showsPresence: showsPresence, on: core)
    // A reply mentions the sender of the answered message. Only the store can find this sender.
    let isReply = isAsked && draft.replyTo != nil
    let ticket = deliveries.begin(for: away.users, in: handle, isComplete: !isReply, on: core)
    let plan =
      ticket.isDecided
      ? deliveries.plan(traits, at: draft.time, for: away.users, in: room, isCrowded: isCrowded, on: core) : Plan()
    // In a crowded room, `away` has only the named members, so it lacks the sender of the answered message.
    let isWaitedFor = needsWait || !ticket.isDecided || isCrowded && isReply
    // A message that asks for no push does not count as unread. The room's cursor is the end of the decided messages.
    draft.isCounted = isAsked
    draft.silenced = delivery?.silenced ?? []
    draft.cursorFollows = !isWaitedFor
    draft.jobs = plan.pushes
    return PlannedMessage(
      accepted: accepted, queued: QueuedMessage(draft), handle: handle, session: session, traits: traits,
      isReported: isReported,
      isCrowded: isCrowded, away: away.users, ticket: ticket, plan: plan, isWaitedFor: isWaitedFor, delivery: delivery)
  }

  private func submit(_ message: PlannedMessage, on core: isolated Core, then reply: @escaping PlannedMessage.Reply) {
    let room = message.queued.draft.room
    memory.retain(room)
    core.append(message.queued) { [self] result in
      defer { memory.release(room, on: core) }
      guard case .success(let stored) = result, !stored.isDuplicate else {
        return answer(message, result, reply, on: core)
      }
      core.publish(.sent(SentChange(message, stored, reply)))
    }
  }

  /// Answers the sender of a message that is published, or that is not stored.
  package func answer(
    _ message: PlannedMessage, _ result: Result<Appended, StoreError>, _ reply: PlannedMessage.Reply,
    on core: isolated Core
  ) {
    deliveries.end(message.ticket)
    reply(result.map { SentMessage(stored: $0, delivery: $0.isDuplicate ? nil : message.delivery) })
    if case .success = result {
      core.diagnostics.tally.countAcknowledgement(after: ContinuousClock.now - message.accepted)
    }
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

/// Answers the sender of a message that the hub has published. The `delivery` events follow the reply.
package final class SenderReplies: Follower {
  private let messages: Messages

  package init(_ messages: Messages) { self.messages = messages }

  package func follow(_ change: Change, on core: isolated Core) {
    if case .sent(let sent) = change { messages.answer(sent.message, .success(sent.stored), sent.reply, on: core) }
  }
}
