// SPDX-License-Identifier: Apache-2.0
import RelayDelivery
import RelayHub

/// Chooses the messages that are decided and stored in one step. The members of all other messages become due when
/// the message is published.
struct MessageDecisions {
  /// A message that is not stored yet.
  package struct Ticket: Sendable {
    fileprivate let room: RoomHandle
    fileprivate let decisions: Int
    /// The message is decided now. If not, its members are left to be due.
    let isDecided: Bool
  }

  private(set) var unstored = 0
  /// Messages of a room that are not stored yet and leave members undecided.
  private var leaving: [RoomHandle: Int] = [:]

  /// Admits a message that takes so many decisions. Each ticket is given back once with ``end(_:)``.
  package mutating func begin(_ decisions: Int, in room: RoomHandle) -> Ticket {
    // A message is not decided before an earlier one of its room: pushes keep the order of the messages.
    let isDecided =
      decisions == 0
      || decisions <= DecisionBounds.maxWithMessage && unstored + decisions <= DecisionBounds.maxUnstored
        && leaving[room] == nil
    if isDecided { unstored += decisions } else { leaving[room, default: 0] += 1 }
    return Ticket(room: room, decisions: decisions, isDecided: isDecided)
  }

  /// The message was stored and shown, or it was refused.
  package mutating func end(_ ticket: Ticket) {
    if ticket.isDecided {
      unstored -= ticket.decisions
    } else if let count = leaving[ticket.room] {
      leaving[ticket.room] = count == 1 ? nil : count - 1
    }
  }
}
