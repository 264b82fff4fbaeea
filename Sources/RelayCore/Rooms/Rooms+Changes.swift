// SPDX-License-Identifier: Apache-2.0
import RelayHub
import RelayJSON
import RelayProtocol
import RelayStore

/// Shows changes in the hub, which sends the events to the sessions in the room.
extension Rooms: Follower {
  func follow(_ change: Change, on relay: isolated Relay) {
    switch change {
    case .sent(let sent): publish(sent, on: relay)
    case .edited(let change), .deleted(let change, _), .annotated(let change): show(change, on: relay)
    case .joined(let member): admit(member, on: relay)
    case .left(let member): dismiss(member, on: relay)
    case .role(let role, let name, let room, let changer):
      guard let user = relay.hub.user(name) else { return }
      relay.hub.setRole(role, of: user, in: room, by: changer)
      if role == .owner { relay.hub.restrict(user, in: room, until: nil, by: changer) }
    case .restricted(let name, let until, let room, let changer):
      guard let user = relay.hub.user(name) else { return }
      relay.hub.restrict(user, in: room, until: until, by: changer)
    case .record(let details, let room, let handle, let changer, let cause):
      relay.hub.setReadOnly(details.isReadOnly, handle)
      notify(relay.hub.sessions(ofMembersOf: handle), "updated", room, details, by: changer, except: cause, on: relay)
    case .roomDeleted(let deleted): delete(deleted, on: relay)
    case .erasing(let user):
      forgetQuotes(of: user, on: relay)
      forgetPairs(of: user, on: relay)
      sweep(on: relay)
    case .call, .invitations, .loaded, .pushed, .heldDue, .person: break
    }
  }

  // MARK: Messages

  private func publish(_ sent: SentChange, on relay: isolated Relay) {
    let (message, stored) = (sent.message, sent.stored)
    if let quote = stored.quote { remember(stored.seq, quoting: quote, in: message.handle) }
    let isDecided = message.ticket.isDecided
    var shown = message.draft.shown(
      without: message.session, decided: isDecided ? message.away : [], quote: stored.quote)
    // The pushes that could have been decided together with this message become due at once.
    shown.named = message.isCrowded ? sent.traits.mentions.named.compactMap(relay.hub.user) : []
    shown.isDueNow = !isDecided && (message.isCall || message.isReported)
    relay.hub.publish(shown, seq: stored.seq, time: stored.time, in: message.handle)
  }

  private func show(_ change: MessageChange, on relay: isolated Relay) {
    let (message, room) = (change.message, change.handle)
    // A user who joins at this time must get the new state of the message.
    count(message, of: room, newest: change.newest)
    if message.annotation == nil {
      forgetFrames(before: message.seq + 1, quoting: message.seq...message.seq, in: room, on: relay)
    } else {
      relay.hub.trim(room, before: message.seq + 1)
    }
    relay.hub.sendEvent(
      Replies.change(message, in: change.room), in: room, cause: change.cause,
      withTextOf: message.hasText ? message.seq : nil)
  }

  // MARK: Members

  /// Adds a stored member to the hub, before the messages that the store has committed after the join.
  private func admit(_ member: NewMember, on relay: isolated Relay) {
    let (user, joined) = (member.user, member.joined)
    let state = joined.record
    // A room that somebody has just made need not be in memory.
    if member.notice == nil {
      _ = make(state.room, epoch: state.epoch, seq: state.seq, cursor: state.cursor, on: relay)
    }
    if let room = relay.hub.room(state.room) {
      relay.hub.setReadOnly(joined.isReadOnly, room)
      if joined.isNewMember {
        // The hub may have forgotten the user. The caller checks the membership.
        try? relay.hub.addMember(user, to: room, as: joined.role, member.cause)
        if joined.read < state.seq { relay.hub.setMarks(joined.read, of: user, in: room) }
        // A restriction that began in an earlier membership.
        if let until = joined.restrictedUntil { relay.hub.restrict(user, in: room, until: until, by: nil) }
      } else {
        relay.hub.restoreMember(
          user, of: room, read: joined.read, received: joined.received, role: joined.role,
          restrictedUntil: joined.restrictedUntil)
      }
    }
    guard let notice = member.notice else { return }
    notify(user, "added", state.room, notice.details, by: notice.by, except: notice.except, on: relay)
  }

  func dismiss(_ member: FormerMember, on relay: isolated Relay) {
    if member.cause != .left, relay.hub.isMember(member.user, of: member.handle) {
      notify(member.user, "removed", member.room, by: member.cause.by, on: relay)
    }
    try? relay.hub.removeMember(member.user, from: member.handle, member.cause)  // another session may have left, too
  }

  // MARK: Deletions

  private func delete(_ deleted: DeletedRoom, on relay: isolated Relay) {
    noteRemovals()
    if let handle = relay.hub.room(deleted.room) {
      let sessions = relay.hub.sessions(ofMembersOf: handle)
      notify(sessions, "deleted", deleted.room, nil, by: deleted.by, except: deleted.cause, on: relay)
      relay.hub.delete(handle)
    }
    sweep(on: relay)
  }
}

extension ChangedMessage {
  /// True if the event has a text of the message: its new body, or its reactions. See ``StoredText/changeEvent``.
  fileprivate var hasText: Bool { annotation.map { $0.kind == .reactions } ?? (body != nil) }
}
