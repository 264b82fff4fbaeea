// SPDX-License-Identifier: Apache-2.0
import RelayDelivery
package import RelayHub
import RelayJSON
package import RelayProtocol
package import RelayRequests
package import RelayState
package import RelayStore

/// The calls in all rooms: their `call` events, and the ends of their ringing. ``Call`` decides, and the store keeps
/// the calls, so that a call that rings when the relay stops still ends in the next run.
///
/// The state is private. The relay creates one object, and the methods run on the hub's thread.
package final class Calls {
  /// The calls that ring for a member: see ``Call/rings(for:at:)``. Their rooms are retained until the first answer. A
  /// call that was answered may stay after the end of its ringing, until ``removeSilent(on:)`` finds it.
  private var ringing: [MessageReference: Call] = [:]
  /// A call of ``ringing`` does not ring for these members, because its caller calls them too often.
  private var unrung: [MessageReference: Set<UserID>] = [:]
  /// The number of calls with which ``removeSilent(on:)`` runs again.
  private var maxKept = Calls.minKept
  private let endings = AlarmedWork(.calls)
  /// The number of sessions for which ``sendRinging(to:of:on:)`` reads the store.
  private var reads = 0

  private let memory: RoomMemory
  private let rooms: Rooms
  private let recipients: Recipients
  private let access: Access
  private let messages: Messages

  package init(_ rooms: Rooms, _ recipients: Recipients, _ messages: Messages) {
    (self.rooms, self.recipients, self.messages) = (rooms, recipients, messages)
    (memory, access) = (rooms.memory, rooms.access)
  }

  /// The maximum number of calls that ring at a session when it connects.
  private static let maxRinging = 32
  /// The number of calls that may stay after the end of their ringing.
  private static let minKept = 64
  /// The maximum number of attempts of a `ring`, while other calls begin and end in the room.
  private static let maxAttempts = 3

  /// The rooms in which calls ring, each with the number of these calls.
  package var retained: [RoomID: Int] {
    ringing.values.reduce(into: [:]) { if $1.state == .ringing { $0[$1.message.room, default: 0] += 1 } }
  }

  /// True if an event of a call, or the end of a call, is in progress.
  package var isBusy: Bool { endings.isRunning || reads > 0 }

  /// Loads the calls that an earlier run has left ringing.
  package func load(on core: isolated Core) async throws {
    let now = core.hub.now
    for call in try await core.store.read({ try $0.calls.allRinging(at: now) }) { keep(call, on: core) }
    core.setAlarm(try await core.store.read { try $0.calls.nextDue() }, for: .calls)
  }

  // MARK: Requests

  /// The sender of a request about a call.
  package struct Sender: Sendable {
    package let user: UserID
    package let device: DeviceID?
    package let kind: Call.Sender

    package init(user: UserID, device: DeviceID?, kind: Call.Sender) {
      (self.user, self.device, self.kind) = (user, device, kind)
    }
  }

  /// The result of a `ring`.
  package struct Rung: Sendable {
    package let call: Call
    /// The message of a new call. Is `nil` if another call rang in the room.
    package let sent: SentMessage?
  }

  /// Sends a message that begins a call. If another user's call rings in the room, answers that call instead. So when
  /// two users ring at the same time, the first stored call wins, and both are in it. Throws
  /// ``StoreError/ringing(_:)`` if one of the two users has blocked the other.
  package func ring(
    _ draft: MessageDraft, in access: RoomAccess, by sender: Sender, on core: isolated Core
  ) async throws -> Rung {
    for _ in 0..<Self.maxAttempts {
      do {
        let sent = try await messages.post(
          draft, in: access.handle, showsPresence: access.rights.contains(.presence), on: core)
        if let call = sent.stored.call { return Rung(call: call, sent: sent) }
        let message = MessageReference(room: access.room, seq: sent.stored.seq)
        return Rung(call: try await call(message, on: core), sent: sent)
      } catch StoreError.ringing(let message) {
        let known = try await call(message, on: core)
        if known.caller == sender.user, known.state == .ringing { return Rung(call: known, sent: nil) }
        if try await core.store.read({ try $0.people.hasBlock(between: known.caller, sender.user) }) {
          throw StoreError.ringing(message)
        }
        do {
          let call = try await perform(.answer, message, by: sender, on: core)
          return Rung(call: call, sent: nil)
        } catch StoreError.call(.over), StoreError.call(.ownCall) {
          // The other call has ended meanwhile.
        }
      }
    }
    throw RequestError(.conflict, "other calls begin and end in the room", at: "/room")
  }

  /// Performs a request of a member. Throws `not_found`, and ``StoreError/call(_:)``.
  package func perform(
    _ action: Call.Action, _ message: MessageReference, by sender: Sender, on core: isolated Core
  ) async throws -> Call {
    let now = core.hub.now
    let change = try await core.commit(rows: 3 + UpdateQueue.maxUpdatesWithChange) {
      try $0.calls.perform(action, message, by: sender.user, on: sender.device, from: sender.kind, at: now)
    } then: { result in
      guard let change = try? result.get(), change.isChanged else { return [] }
      return [.call(change.call, action.cause, by: sender.user, on: sender.device)]
    }
    guard let change else { throw Self.noCall }
    return change.call
  }

  /// Reads a call. Throws `not_found`.
  package func call(_ message: MessageReference, on core: isolated Core) async throws -> Call {
    guard let call = try await core.store.read({ try $0.calls.call(message.room, message.seq) }) else {
      throw Self.noCall
    }
    return call
  }

  private static var noCall: RequestError { RequestError(.notFound, "the message is not a call", at: "/seq") }

  // MARK: Changes

  private func apply(
    _ call: Call, _ cause: Call.Cause, by user: UserID?, on device: DeviceID?, on core: isolated Core
  ) {
    keep(call, on: core)
    if let room = core.hub.room(call.message.room) {
      show(call, in: room, on: core)
    } else {
      rooms.noteCall(in: call.message.room)
    }
    expectEnd(of: call, on: core)
    announce(call, cause, by: user, on: device, on: core)
  }

  /// Shows the hub the users who take part in a call: they send signals also in a room that is read-only.
  private func show(_ call: Call, in room: RoomHandle, on core: isolated Core) {
    for name in Set(call.parties.keys).union([call.caller]) {
      guard let user = core.hub.user(name) else { continue }
      core.hub.setCall(call.message.seq, of: user, in: room, takesPart: call.takesPart(name))
    }
  }

  /// Keeps a call while it rings for a member.
  private func keep(_ call: Call, on core: isolated Core) {
    guard !call.state.isOver, core.hub.now < call.ringUntil else { return forget(call.message, on: core) }
    let wasRinging = ringing.updateValue(call, forKey: call.message)?.state == .ringing
    let isRinging = call.state == .ringing
    if isRinging, !wasRinging { memory.retain(call.message.room) }
    if wasRinging, !isRinging { memory.release(call.message.room, on: core) }
    if ringing.count >= maxKept { removeSilent(on: core) }
  }

  private func forget(_ message: MessageReference, on core: isolated Core) {
    unrung[message] = nil
    if ringing.removeValue(forKey: message)?.state == .ringing { memory.release(message.room, on: core) }
  }

  /// Removes the calls whose ringing is over.
  private func removeSilent(on core: isolated Core) {
    let now = core.hub.now
    for (message, call) in ringing where call.ringUntil <= now { forget(message, on: core) }
    maxKept = max(Self.minKept, 2 * ringing.count)
  }

  // MARK: Time

  private func expectEnd(of call: Call, on core: isolated Core) {
    if let due = call.due { core.bringForward(.calls, to: due) }
  }

  /// Ends calls if the alarm is due.
  package func endDue(on core: isolated Core) {
    if core.isDue(.calls) { end(on: core) }
  }

  /// Shifts the ends of open calls when the wall clock is set, so that they keep their length.
  package func clockWasSet(by step: Duration, on core: isolated Core) {
    for (message, call) in ringing {
      ringing[message]?.ringUntil = call.ringUntil + step
      ringing[message]?.due = call.due.map { $0 + step }
    }
    core.moveAlarm(.calls, by: step)
    core.submit {
      try $0.calls.move(by: step)
    } then: { result in
      // The next step of the clock repairs nothing: a call then ends at another time.
      if case .failure(let error) = result { core.logFailure(of: error) }
    }
  }

  private func end(on core: isolated Core) {
    endings.run(on: core) { [self] in
      var count: Int
      repeat {
        let now = core.hub.now
        let ended = try await core.commit(rows: 2 * CallWriter.maxSlice) {
          try $0.calls.expire(at: now)
        } then: { ended in
          ((try? ended.get()) ?? []).map { .call($0, .expire, by: nil, on: nil) }
        }
        count = ended.count
      } while count == CallWriter.maxSlice
      removeSilent(on: core)
      return try await core.store.read { try $0.calls.nextDue() }
    }
  }

  // MARK: Events

  /// Sends the calls that ring for a user to a session that has just connected.
  package func sendRinging(to session: SessionHandle, of user: UserHandle, on core: isolated Core) {
    guard !ringing.isEmpty, let name = core.hub.name(of: user) else { return }
    reads += 1
    Task {
      defer { reads -= 1 }
      do {
        let now = core.hub.now
        let rings = try await core.store.read { try $0.calls.ringing(for: name, at: now, limit: Self.maxRinging) }
        for message in rings {
          // A call that has ended during the read rings no more.
          guard let call = ringing[message], call.rings(for: name, at: core.hub.now) else { continue }
          let text = Replies.call(call, .ring, by: call.caller, on: nil)
          let muted = Replies.call(call, .ring, by: call.caller, on: nil, isMuted: true)
          send(call, text, muted, to: [session], of: user, on: core)
        }
      } catch {
        core.logFailure(of: error)
      }
    }
  }

  /// Sends an event to all sessions of the members. Loads the room if it is not in memory.
  private func announce(
    _ call: Call, _ cause: Call.Cause, by user: UserID?, on device: DeviceID?, on core: isolated Core
  ) {
    let text = Replies.call(call, cause, by: user, on: device)
    let muted = Replies.call(call, cause, by: user, on: device, isMuted: true)
    let room = call.message.room
    if let handle = core.hub.room(room) { return send(call, text, muted, in: handle, on: core) }
    memory.retain(room)
    Task {
      defer { memory.release(room, on: core) }
      do {
        guard let handle = try await rooms.load(room, on: core) else { return }
        send(call, text, muted, in: handle, on: core)
      } catch {
        core.logFailure(of: error)
      }
    }
  }

  private func send(_ call: Call, _ text: [UInt8], _ muted: [UInt8], in room: RoomHandle, on core: isolated Core) {
    for user in audience(of: call, in: room, on: core) {
      send(call, text, muted, to: core.hub.sessions(of: user), of: user, on: core)
    }
  }

  /// The users whose sessions get the events of a call: all members. If the room has grown too large since the `ring`,
  /// the caller and the users who have answered or declined.
  private func audience(of call: Call, in room: RoomHandle, on core: isolated Core) -> [UserHandle] {
    guard core.hub.memberCount(of: room) > Call.maxMembers else { return core.hub.members(of: room) }
    return Set(call.parties.keys).union([call.caller]).sorted().compactMap(core.hub.user).filter {
      core.hub.isMember($0, of: room)
    }
  }

  /// Sends an event to sessions of one user, unless the user has blocked the caller.
  private func send(
    _ call: Call, _ text: [UInt8], _ muted: [UInt8], to sessions: [SessionHandle], of user: UserHandle,
    on core: isolated Core
  ) {
    guard !sessions.isEmpty else { return }
    let room = call.message.room
    let recipient = recipients[user]
    guard !recipient.blocked.contains(call.caller) else { return }
    let isUnrung = core.hub.name(of: user).map { unrung[call.message]?.contains($0) == true } ?? false
    let isMuted = isUnrung || recipient.preferences[room].level(at: core.hub.now) == .none
    for session in sessions where core.hub.isOpen(session) {
      guard access.rights(of: session, in: room, on: core).contains(.join) else { continue }
      core.hub.push(isMuted ? muted : text, to: session)
    }
  }
}

extension Calls: Follower {
  package func follow(_ change: Change, on core: isolated Core) {
    switch change {
    case .sent(let sent):
      guard let call = sent.stored.call else { return }
      // The call does not ring for these members.
      if let users = sent.traits.unrung, !users.isEmpty { unrung[call.message] = users }
      apply(call, .ring, by: call.caller, on: nil, on: core)
    case .call(let call, let cause, let user, let device): apply(call, cause, by: user, on: device, on: core)
    case .roomDeleted(let deleted):
      // The event of the room ends its calls for the members.
      for message in ringing.keys where message.room == deleted.room { forget(message, on: core) }
    case .loaded(let loaded): for call in loaded.calls { show(call, in: loaded.handle, on: core) }
    case .edited, .deleted, .annotated, .joined, .left, .role, .restricted, .record, .invitations, .pushed, .heldDue,
      .person, .userAccess, .marked, .listChanged, .erasing:
      break
    }
  }
}

extension Call.Action {
  fileprivate var cause: Call.Cause {
    switch self {
    case .answer: .answer
    case .decline: .decline
    case .hangUp: .hangUp
    }
  }
}

extension Replies {
  /// The `call` event. It names the user who has caused it, and not all users of the call.
  /// - Parameter isMuted: The client must not ring for its user.
  package static func call(
    _ call: Call, _ cause: Call.Cause, by user: UserID?, on device: DeviceID?, isMuted: Bool = false
  ) -> [UInt8] {
    JSONWriter.object {
      $0["type"] = "call"
      $0["event"] = cause.rawValue
      call.writeState(to: &$0)
      $0["user"] = user?.rawValue
      $0["device"] = device?.rawValue
      if isMuted { $0.bool("muted", true) }
    }
  }

  /// A call in a reply.
  package static func call(_ call: Call) -> Reply.Members {
    {
      call.writeState(to: &$0)
      $0.array("users") { list in
        for (user, party) in call.parties.sorted(by: { $0.key < $1.key }) {
          list.object {
            $0["user"] = user.rawValue
            $0["state"] = party.state.rawValue
            $0["device"] = party.device?.rawValue
          }
        }
      }
    }
  }
}

extension Call {
  fileprivate func writeState(to object: inout JSONWriter.Object) {
    message.write(to: &object)
    object["from"] = caller.rawValue
    object["media"] = media.rawValue
    object["state"] = state.rawValue
    object.integer("time", began.rawValue)
    object.integer("ringUntil", ringUntil.rawValue)
    object.integer("ended", ended?.rawValue)
  }
}
