// SPDX-License-Identifier: Apache-2.0
import RelayProtocol

/// An event that may change the members, the bans or the calls of a room.
enum RoomEvent: Sendable {
  case create(by: UserID, RoomReply)
  case join(UserID, RoomReply)
  case leave(UserID)
  /// - Parameter isBlocked: True if the other user has blocked this one.
  case govern(Governance, by: UserID, isBlocked: Bool, RoomReply)
  /// A message of kind `call` is stored.
  case begin(seq: Int64, CallModel)
  /// A request about a call.
  case call(Call.Action, seq: Int64, by: UserID, RoomReply)
  /// A user deletes a message.
  case delete(seq: Int64, by: UserID)
  /// The relay ends the calls whose time is over.
  case expire(at: Timestamp)
}

/// A request of a member about another user.
enum Governance: Sendable {
  case add(UserID)
  case remove(UserID)
  /// Removes and bans a user. Without a duration, the ban has no end.
  case ban(UserID, lasts: Duration?)
  case role(UserID, RoomRole)

  var user: UserID {
    switch self {
    case .add(let user), .remove(let user), .ban(let user, _), .role(let user, _): user
    }
  }

  /// The type of the request.
  var type: String {
    switch self {
    case .add: "add"
    case .remove, .ban: "remove"
    case .role: "roles"
    }
  }
}

/// The reply to a request of a room.
enum RoomReply: Equatable, Sendable {
  /// No reply arrived before a crash, so the result is unknown.
  case unknown
  case done
  case refused(String)
  case call(Call.State, [UserID: Call.Party.State])

  /// True if the reply may be this one.
  func fits(_ expected: RoomReply) -> Bool { self == .unknown || self == expected }
}

extension RoomModel {
  /// The states after these events, in all orders in which the replies are right. The relay decides the order of events
  /// at the same time.
  /// - Parameter perhaps: Events that may have happened or not.
  func outcomes(of events: [RoomEvent], perhaps: [RoomEvent] = [], at now: Timestamp) -> Set<
    RoomModel
  > {
    var found: Set<RoomModel> = []
    collect(events, perhaps, at: now, &found)
    return found
  }

  private func collect(
    _ events: [RoomEvent], _ perhaps: [RoomEvent], at now: Timestamp, _ found: inout Set<RoomModel>
  ) {
    if events.isEmpty { found.insert(self) }
    for index in events.indices {
      var rest = events
      let event = rest.remove(at: index)
      guard !rest.contains(where: { $0.isBefore(event) }) else { continue }
      for next in after(event, at: now) { next.collect(rest, perhaps, at: now, &found) }
    }
    for index in perhaps.indices {
      var rest = perhaps
      for next in after(rest.remove(at: index), at: now) {
        next.collect(events, rest, at: now, &found)
      }
    }
  }
}

extension RoomEvent {
  /// True if this message is stored before the other one.
  fileprivate func isBefore(_ other: RoomEvent) -> Bool {
    guard case (.begin(let seq, _), .begin(let next, _)) = (self, other) else { return false }
    return seq < next
  }
}
