// SPDX-License-Identifier: Apache-2.0
import RelayHub
import RelayJSON
import RelayProtocol

@testable import RelayHTTP

/// The states of calls that clients are shown.
extension Simulation {
  // MARK: Events

  /// Takes the event `call`: it has the state of the call for this client.
  func receiveCall(_ fields: Fields, _ client: Client) throws {
    let place = try place(fields)
    client.calls[place] = try fields.required("state", fields.choice("state", Call.State.self))
    let caller = try fields.required("from", fields.name("from", UserID.self))
    let began = Timestamp(rawValue: try fields.required("time", fields.integer("time", 0...maxInteger)))
    let end = Timestamp(rawValue: try fields.required("ringUntil", fields.integer("ringUntil", 0...maxInteger)))
    let isMuted = try fields.bool("muted") ?? false
    claims.append { [unowned self] in
      let user = client.slot.user
      let call = model.rooms[place.room]?.calls[place.seq]
      guard let call, call.caller == caller, call.began == began, call.ringUntil == end else {
        throw Violation(.called, "\(client.slot) is shown a call \(place) of \(caller), which is \(call as Any)")
      }
      let models = [(before, begun), (model, clock.now)]
      guard models.contains(where: { $0.0.isMember(user, of: place.room) }) else {
        throw Violation(.discreet, "\(client.slot) is shown the call \(place), and is no member")
      }
      guard !models.allSatisfy({ $0.0.people[user]?.blocked.contains(caller) == true }) else {
        throw Violation(.discreet, "\(client.slot) is shown the call \(place) of \(caller), whom the user has blocked")
      }
      let mutes = models.map { $0.0.people[user]?.isMuted(place.room, isMentioned: true, at: $0.1) ?? false }
      guard mutes.contains(isMuted) else {
        throw Violation(.called, "\(client.slot) is shown the call \(place) as muted: \(isMuted)")
      }
    }
  }

  /// Checks that each client knows the present state of the calls that have changed since it connected.
  func lookAtShownCalls() throws {
    for slot in World.slots {
      guard let client = clients[slot], !client.isEnding, client.pendingRequests.isEmpty else { continue }
      for (name, room) in model.rooms {
        for (seq, call) in room.calls { try look(at: call, Place(room: name, seq: seq), shownTo: client) }
      }
      client.isNew = false
    }
  }

  private func look(at call: CallModel, _ place: Place, shownTo client: Client) throws {
    let user = client.slot.user
    let models = [before, model]
    guard models.allSatisfy({ $0.isMember(user, of: place.room) && !$0.hasBlocked(call.caller, user) }) else {
      client.calls[place] = nil
      if client.isSlow { client.hiddenCalls.insert(place) }
      return
    }
    guard !client.isSlow else { return }
    let shown = client.calls[place]
    let hasChanged = before.rooms[place.room]?.calls[place.seq] != call
    let isExpected = client.isNew ? call.rings(for: user, at: clock.now) : hasChanged || shown != nil
    guard !isExpected || shown == call.state else {
      throw Violation(
        .called, "\(client.slot) is shown \(shown.map(\.rawValue) ?? "nothing") of the call \(place), not \(call)")
    }
  }

  // MARK: Pushes

  /// Checks that the call of a push may still ring for the user.
  func lookAtRinging(_ place: Place, _ user: UserID, _ before: Model, _ after: Model, _ what: String) throws {
    guard before.mayRing(place, for: user) || after.mayRing(place, for: user) else {
      throw Violation(.called, "\(what), but the call does not ring for the user any more")
    }
  }
}

extension Model {
  /// True if no answer and no end prevents a push of the message. A message of kind `call` that began no call rings
  /// until it expires.
  func mayRing(_ place: Place, for user: UserID) -> Bool {
    guard let call = rooms[place.room]?.calls[place.seq] else { return true }
    return !call.state.isOver && call.parts[user] == nil
  }

  fileprivate func hasBlocked(_ other: UserID, _ user: UserID) -> Bool {
    people[user]?.blocked.contains(other) == true
  }
}

extension CallModel {
  init(of message: RoomLog.Message, _ options: PushOptions) {
    self.init(from: message.from, began: message.time, ringUntil: options.expires(from: message.time))
  }
}
