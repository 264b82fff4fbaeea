// SPDX-License-Identifier: Apache-2.0
import RelayHub
import RelayProtocol
import RelayRequests
import RelayStore

/// Shows changes in the hub, which sends the events to the sessions in the room.
extension Rooms: Follower {
  package func follow(_ change: Change, on core: isolated Core) {
    switch change {
    case .sent(let sent): publish(sent, on: core)
    case .edited(let change), .deleted(let change, _), .annotated(let change): show(change, on: core)
    case .joined(let member): admit(member, on: core)
    case .left(let member): dismiss(member, on: core)
    case .role(let role, let name, let room, let changer):
      guard let user = core.hub.user(name) else { return }
      core.hub.setRole(role, of: user, in: room, by: changer)
      if role == .owner { core.hub.restrict(user, in: room, until: nil, by: changer) }
    case .restricted(let name, let until, let room, let changer):
      guard let user = core.hub.user(name) else { return }
      core.hub.restrict(user, in: room, until: until, by: changer)
    case .record(let details, let room, let handle, let changer, let requester):
      core.hub.setReadOnly(details.isReadOnly, handle)
      notify(core.hub.sessions(ofMembersOf: handle), "updated", room, details, by: changer, except: requester, on: core)
    case .roomDeleted(let deleted): delete(deleted, on: core)
    case .erasing(let user):
      forgetQuotes(of: user, on: core)
      forgetPairs(of: user, on: core)
      sweep(on: core)
    case .call, .invitations, .loaded, .pushed, .heldDue, .person, .userAccess, .marked, .listChanged: break
    }
  }

  // MARK: Messages

  private func publish(_ sent: SentChange, on core: isolated Core) {
    let (message, stored) = (sent.message, sent.stored)
    if let quote = stored.quote { remember(stored.seq, quoting: quote, in: message.handle) }
    let isDecided = message.ticket.isDecided
    var shown = message.queued.draft.shown(
      without: message.session, decided: isDecided ? message.away : [], quote: stored.quote)
    // The pushes that could have been decided together with this message become due at once.
    shown.named = message.isCrowded ? sent.traits.mentions.named.compactMap(core.hub.user) : []
    shown.isDueNow = !isDecided && (message.isCall || message.isReported)
    core.hub.publish(shown, seq: stored.seq, time: stored.time, in: message.handle)
  }

  private func show(_ change: MessageChange, on core: isolated Core) {
    let (message, room) = (change.message, change.handle)
    // A user who joins at this time must get the new state of the message.
    count(message, of: room, newest: change.newest)
    if message.annotation == nil {
      forgetFrames(before: message.seq + 1, quoting: message.seq...message.seq, in: room, on: core)
    } else {
      core.hub.trim(room, before: message.seq + 1)
    }
    core.hub.sendEvent(
      Replies.change(message, in: change.room), in: room, requester: change.requester,
      withTextOf: message.hasText ? message.seq : nil)
  }

  // MARK: Members

  /// Adds a stored member to the hub, before the messages that the store has committed after the join.
  private func admit(_ member: NewMember, on core: isolated Core) {
    let (user, joined) = (member.user, member.joined)
    let state = joined.record
    // A room that somebody has just made need not be in memory.
    if member.notice == nil {
      _ = make(state.room, epoch: state.epoch, seq: state.seq, cursor: state.cursor, on: core)
    }
    if let room = core.hub.room(state.room) {
      core.hub.setReadOnly(joined.isReadOnly, room)
      if joined.isNewMember {
        // The hub may have forgotten the user. The caller checks the membership.
        try? core.hub.addMember(user, to: room, as: joined.role, member.cause)
        if joined.read < state.seq { core.hub.setMarks(joined.read, of: user, in: room) }
        // A restriction that began in an earlier membership.
        if let until = joined.restrictedUntil { core.hub.restrict(user, in: room, until: until, by: nil) }
      } else {
        core.hub.restoreMember(
          user, of: room, read: joined.read, received: joined.received, role: joined.role,
          restrictedUntil: joined.restrictedUntil)
      }
    }
    guard let notice = member.notice else { return }
    notify(user, "added", state.room, notice.details, by: notice.by, except: notice.except, on: core)
  }

  package func dismiss(_ member: FormerMember, on core: isolated Core) {
    if member.cause != .left, core.hub.isMember(member.user, of: member.handle) {
      notify(member.user, "removed", member.room, by: member.cause.by, on: core)
    }
    try? core.hub.removeMember(member.user, from: member.handle, member.cause)  // another session may have left, too
  }

  // MARK: Deletions

  private func delete(_ deleted: DeletedRoom, on core: isolated Core) {
    memory.noteRemovals()
    if let handle = core.hub.room(deleted.room) {
      let sessions = core.hub.sessions(ofMembersOf: handle)
      notify(sessions, "deleted", deleted.room, nil, by: deleted.by, except: deleted.requester, on: core)
      core.hub.delete(handle)
    }
    sweep(on: core)
  }
}

extension ChangedMessage {
  /// True if the event has a text of the message: its new body, or its reactions. See ``StoredText/changeEvent``.
  fileprivate var hasText: Bool { annotation.map { $0.kind == .reactions } ?? (body != nil) }
}
