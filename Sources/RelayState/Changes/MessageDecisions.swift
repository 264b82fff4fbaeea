// SPDX-License-Identifier: Apache-2.0
import RelayDelivery
package import RelayHub

/// Selects the messages whose pushes are decided and stored together with the message. The pushes of all other messages
/// are decided after the message is published.
package struct MessageDecisions {
  /// A message that is not stored yet.
  package struct Ticket: Sendable {
    fileprivate let room: RoomHandle
    fileprivate let decisions: Int
    /// True if the pushes are decided now. If false, the members become due later.
    package let isDecided: Bool
  }

  package private(set) var unstored = 0

  package init(unstored: Int = 0) {
    self.unstored = unstored
  }
  /// The number of messages by room that are not stored yet and leave members undecided.
  private var leaving: [RoomHandle: Int] = [:]

  /// Decides whether a message with this number of decisions is decided now. The caller returns each ticket once, to
  /// ``end(_:)``.
  /// - Parameter isComplete: False if a fact about the message is known only when it is stored.
  package mutating func begin(_ decisions: Int, in room: RoomHandle, isComplete: Bool = true) -> Ticket {
    // A message is not decided before an earlier one of its room, so that pushes keep the order of the messages.
    let isDecided =
      decisions == 0
      || isComplete && decisions <= DecisionBounds.maxWithMessage && unstored + decisions <= DecisionBounds.maxUnstored
        && leaving[room] == nil
    if isDecided { unstored += decisions } else { leaving[room, default: 0] += 1 }
    return Ticket(room: room, decisions: decisions, isDecided: isDecided)
  }

  /// Ends the ticket of a message that was stored and published, or rejected.
  package mutating func end(_ ticket: Ticket) {
    if ticket.isDecided {
      unstored -= ticket.decisions
    } else if let count = leaving[ticket.room] {
      leaving[ticket.room] = count == 1 ? nil : count - 1
    }
  }
}
