// SPDX-License-Identifier: Apache-2.0
import RelayDelivery
import RelayHub
import RelayJSON
package import RelayProtocol
import RelayPush
import RelayStore

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
  /// The time at which ``endDue(on:)`` ends calls. Is `nil` if no call is open.
  package private(set) var alarm: Timestamp?
  private var isEnding = false
  private var areMoreDue = false
  /// The number of sessions for which ``sendRinging(to:of:on:)`` reads the store.
  private var reads = 0

  /// The maximum number of calls that ring at a session when it connects.
  private static let maxRinging = 32
  /// The number of calls that may stay after the end of their ringing.
  private static let minKept = 64
  /// The maximum number of attempts of a `ring`, while other calls begin and end in the room.
  private static let maxAttempts = 3

  /// The rooms in which calls ring, each with the number of these calls.
  var retained: [RoomID: Int] {
    ringing.values.reduce(into: [:]) { if $1.state == .ringing { $0[$1.message.room, default: 0] += 1 } }
  }

  /// True if an event of a call, or the end of a call, is in progress.
  var isBusy: Bool { isEnding || reads > 0 }

  /// Loads the calls that an earlier run has left ringing.
  func load(on relay: isolated Relay) async throws {
    let now = relay.hub.now
    for call in try await relay.store.read({ try $0.calls.allRinging(at: now) }) { keep(call, on: relay) }
    alarm = try await relay.store.read { try $0.calls.nextDue() }
    relay.armAlarm()
  }

  // MARK: Requests

  /// The sender of a request about a call.
  struct Sender: Sendable {
    let user: UserID
    let device: DeviceID?
    let kind: Call.Sender
  }

  /// The result of a `ring`.
  struct Rung: Sendable {
    let call: Call
    /// The message of a new call. Is `nil` if another call rang in the room.
    let sent: SentMessage?
  }

  /// Sends a message that begins a call. If another user's call rings in the room, answers that call instead. So when
  /// two users ring at the same time, the first stored call wins, and both are in it. Throws
  /// ``StoreError/ringing(_:)`` if one of the two users has blocked the other.
  func ring(
    _ draft: MessageDraft, in access: RoomAccess, by sender: Sender, relay: isolated Relay
  ) async throws -> Rung {
    for _ in 0..<Self.maxAttempts {
      do {
        let sent = try await relay.post(
          draft, in: access.handle, showsPresence: access.rights.contains(.presence))
        if let call = sent.stored.call { return Rung(call: call, sent: sent) }
        let message = MessageReference(room: access.room, seq: sent.stored.seq)
        return Rung(call: try await call(message, on: relay), sent: sent)
      } catch StoreError.ringing(let message) {
        let known = try await call(message, on: relay)
        if known.caller == sender.user, known.state == .ringing { return Rung(call: known, sent: nil) }
        if try await relay.store.read({ try $0.people.hasBlock(between: known.caller, sender.user) }) {
          throw StoreError.ringing(message)
        }
        do {
          let call = try await perform(.answer, message, by: sender, relay: relay)
          return Rung(call: call, sent: nil)
        } catch StoreError.call(.over), StoreError.call(.ownCall) {
          // The other call has ended meanwhile.
        }
      }
    }
    throw RequestError(.conflict, "other calls begin and end in the room", at: "/room")
  }

  /// Performs a request of a member. Throws `not_found`, and ``StoreError/call(_:)``.
  func perform(
    _ action: Call.Action, _ message: MessageReference, by sender: Sender, relay: isolated Relay
  ) async throws -> Call {
    let now = relay.hub.now
    let change = try await relay.commit(rows: 3 + UpdateQueue.maxUpdatesWithChange) {
      try $0.calls.perform(action, message, by: sender.user, on: sender.device, from: sender.kind, at: now)
    } then: { _, result in
      guard let change = try? result.get(), change.isChanged else { return [] }
      return [.call(change.call, action.cause, by: sender.user, on: sender.device)]
    }
    guard let change else { throw Self.noCall }
    return change.call
  }

  /// Reads a call. Throws `not_found`.
  func call(_ message: MessageReference, on relay: isolated Relay) async throws -> Call {
    guard let call = try await relay.store.read({ try $0.calls.call(message.room, message.seq) }) else {
      throw Self.noCall
    }
    return call
  }

  private static var noCall: RequestError { RequestError(.notFound, "the message is not a call", at: "/seq") }

  // MARK: Changes

  private func apply(
    _ call: Call, _ cause: Call.Cause, by user: UserID?, on device: DeviceID?, relay: isolated Relay
  ) {
    keep(call, on: relay)
    if let room = relay.hub.room(call.message.room) {
      show(call, in: room, on: relay)
    } else {
      relay.rooms.noteCall(in: call.message.room)
    }
    expectEnd(of: call, on: relay)
    announce(call, cause, by: user, on: device, relay: relay)
  }

  /// Shows the hub the users who take part in a call: they send signals also in a room that is read-only.
  private func show(_ call: Call, in room: RoomHandle, on relay: isolated Relay) {
    for name in Set(call.parties.keys).union([call.caller]) {
      guard let user = relay.hub.user(name) else { continue }
      relay.hub.setCall(call.message.seq, of: user, in: room, takesPart: call.takesPart(name))
    }
  }

  /// Keeps a call while it rings for a member.
  private func keep(_ call: Call, on relay: isolated Relay) {
    guard !call.state.isOver, relay.hub.now < call.ringUntil else { return forget(call.message, on: relay) }
    let wasRinging = ringing.updateValue(call, forKey: call.message)?.state == .ringing
    let isRinging = call.state == .ringing
    if isRinging, !wasRinging { relay.rooms.retain(call.message.room) }
    if wasRinging, !isRinging { relay.rooms.release(call.message.room, on: relay) }
    if ringing.count >= maxKept { removeSilent(on: relay) }
  }

  private func forget(_ message: MessageReference, on relay: isolated Relay) {
    unrung[message] = nil
    if ringing.removeValue(forKey: message)?.state == .ringing { relay.rooms.release(message.room, on: relay) }
  }

  /// Removes the calls whose ringing is over.
  private func removeSilent(on relay: isolated Relay) {
    let now = relay.hub.now
    for (message, call) in ringing where call.ringUntil <= now { forget(message, on: relay) }
    maxKept = max(Self.minKept, 2 * ringing.count)
  }

  // MARK: Time

  private func expectEnd(of call: Call, on relay: isolated Relay) {
    guard let due = call.due, due < alarm ?? .init(rawValue: .max) else { return }
    alarm = due
    relay.armAlarm()
  }

  /// Ends calls if the alarm is due.
  func endDue(on relay: isolated Relay) {
    if let alarm, alarm <= relay.hub.now { end(on: relay) }
  }

  /// Shifts the ends of open calls when the wall clock is set, so that they keep their length.
  func clockWasSet(by step: Duration, on relay: isolated Relay) {
    for (message, call) in ringing {
      ringing[message]?.ringUntil = call.ringUntil + step
      ringing[message]?.due = call.due.map { $0 + step }
    }
    alarm = alarm.map { $0 + step }
    relay.store.submit {
      try $0.calls.move(by: step)
    } completion: { [relay] result in
      // The next step of the clock repairs nothing: a call then ends at another time.
      if case .failure(let error) = result { relay.assumeIsolated { _ = $0.requestError(error) } }
    }
  }

  private func end(on relay: isolated Relay) {
    alarm = nil
    guard !isEnding else {
      areMoreDue = true
      return
    }
    isEnding = true
    Task {
      defer {
        isEnding = false
        if areMoreDue {
          areMoreDue = false
          end(on: relay)
        }
      }
      do {
        var count: Int
        repeat {
          let now = relay.hub.now
          let ended = try await relay.commit(rows: 2 * CallWriter.maxSlice) {
            try $0.calls.expire(at: now)
          } then: { _, ended in
            ((try? ended.get()) ?? []).map { .call($0, .expire, by: nil, on: nil) }
          }
          count = ended.count
        } while count == CallWriter.maxSlice
        removeSilent(on: relay)
        let next = try await relay.store.read { try $0.calls.nextDue() }
        if let next, next < alarm ?? .init(rawValue: .max) { alarm = max(next, relay.hub.now + .milliseconds(10)) }
      } catch {
        _ = relay.requestError(error)  // logs the failure
        alarm = relay.hub.now + Relay.storePause
      }
      relay.armAlarm()
    }
  }

  // MARK: Events

  /// Sends the calls that ring for a user to a session that has just connected.
  func sendRinging(to session: SessionHandle, of user: UserHandle, on relay: isolated Relay) {
    guard !ringing.isEmpty, let name = relay.hub.name(of: user) else { return }
    reads += 1
    Task {
      defer { reads -= 1 }
      do {
        let now = relay.hub.now
        let rings = try await relay.store.read { try $0.calls.ringing(for: name, at: now, limit: Self.maxRinging) }
        for message in rings {
          // A call that has ended during the read rings no more.
          guard let call = ringing[message], call.rings(for: name, at: relay.hub.now) else { continue }
          let text = Replies.call(call, .ring, by: call.caller, on: nil)
          let muted = Replies.call(call, .ring, by: call.caller, on: nil, isMuted: true)
          send(call, text, muted, to: [session], of: user, on: relay)
        }
      } catch {
        _ = relay.requestError(error)  // logs the failure
      }
    }
  }

  /// Sends an event to all sessions of the members. Loads the room if it is not in memory.
  private func announce(
    _ call: Call, _ cause: Call.Cause, by user: UserID?, on device: DeviceID?, relay: isolated Relay
  ) {
    let text = Replies.call(call, cause, by: user, on: device)
    let muted = Replies.call(call, cause, by: user, on: device, isMuted: true)
    let room = call.message.room
    if let handle = relay.hub.room(room) { return send(call, text, muted, in: handle, on: relay) }
    relay.rooms.retain(room)
    Task {
      defer { relay.rooms.release(room, on: relay) }
      do {
        guard let handle = try await relay.rooms.load(room, on: relay) else { return }
        send(call, text, muted, in: handle, on: relay)
      } catch {
        _ = relay.requestError(error)  // logs the failure
      }
    }
  }

  private func send(_ call: Call, _ text: [UInt8], _ muted: [UInt8], in room: RoomHandle, on relay: isolated Relay) {
    for user in audience(of: call, in: room, on: relay) {
      send(call, text, muted, to: relay.hub.sessions(of: user), of: user, on: relay)
    }
  }

  /// The users whose sessions get the events of a call: all members. If the room has grown too large since the `ring`,
  /// the caller and the users who have answered or declined.
  private func audience(of call: Call, in room: RoomHandle, on relay: isolated Relay) -> [UserHandle] {
    guard relay.hub.memberCount(of: room) > Call.maxMembers else { return relay.hub.members(of: room) }
    return Set(call.parties.keys).union([call.caller]).sorted().compactMap(relay.hub.user).filter {
      relay.hub.isMember($0, of: room)
    }
  }

  /// Sends an event to sessions of one user, unless the user has blocked the caller.
  private func send(
    _ call: Call, _ text: [UInt8], _ muted: [UInt8], to sessions: [SessionHandle], of user: UserHandle,
    on relay: isolated Relay
  ) {
    guard !sessions.isEmpty else { return }
    let room = call.message.room
    let recipient = relay.people.recipient(user)
    guard !recipient.blocked.contains(call.caller) else { return }
    let isUnrung = relay.hub.name(of: user).map { unrung[call.message]?.contains($0) == true } ?? false
    let isMuted = isUnrung || recipient.preferences[room].level(at: relay.hub.now) == .none
    for session in sessions where relay.hub.isOpen(session) {
      guard relay.access.rights(of: session, in: room, on: relay).contains(.join) else { continue }
      relay.hub.push(isMuted ? muted : text, to: session)
    }
  }
}

extension Calls: Follower {
  func follow(_ change: Change, on relay: isolated Relay) {
    switch change {
    case .sent(let sent):
      guard let call = sent.stored.call else { return }
      // The call does not ring for these members.
      if let users = sent.traits.unrung, !users.isEmpty { unrung[call.message] = users }
      apply(call, .ring, by: call.caller, on: nil, relay: relay)
    case .call(let call, let cause, let user, let device): apply(call, cause, by: user, on: device, relay: relay)
    case .roomDeleted(let deleted):
      // The event of the room ends its calls for the members.
      for message in ringing.keys where message.room == deleted.room { forget(message, on: relay) }
    case .loaded(let loaded): for call in loaded.calls { show(call, in: loaded.handle, on: relay) }
    case .edited, .deleted, .annotated, .joined, .left, .role, .restricted, .record, .invitations, .pushed, .heldDue,
      .person, .erasing:
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
  static func call(
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
  static func call(_ call: Call) -> Reply.Members {
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
