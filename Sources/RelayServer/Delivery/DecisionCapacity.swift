// SPDX-License-Identifier: Apache-2.0
import RelayHub

/// Bounds the decisions that the hub's thread makes at once, and the push jobs that wait for the store.
///
/// A decision is one message for one device, or for one user without a device.
enum DecisionBounds {
  /// Decisions that are made and stored together with their message.
  static let maxWithMessage = 128
  /// The same, of all messages that are not stored yet.
  static let maxUnstored = 256
  /// Decisions of due members between two turns of the loop. One slice at a time waits for the store.
  static let maxSlice = 256
}

/// One slice of decisions for due members.
struct DecisionSlice {
  private(set) var left = DecisionBounds.maxSlice

  var isFull: Bool { left <= 0 }

  /// The number of messages to decide for a member with so many devices; at least one, so that each slice makes progress.
  func maxMessages(devices: Int) -> Int { max(1, left / max(1, devices)) }

  mutating func add(messages: Int, devices: Int) { left -= max(1, messages) * max(1, devices) }
}

/// Chooses the messages that are decided and stored in one step. The members of all other messages become due when
/// the message is published.
struct MessageDecisions {
  /// A message that is not stored yet.
  struct Ticket: Sendable {
    fileprivate let room: RoomHandle
    fileprivate let decisions: Int
    /// The message is decided now. If not, its members are left to be due.
    let isDecided: Bool
  }

  private(set) var unstored = 0
  /// Messages of a room that are not stored yet and leave members undecided.
  private var leaving: [RoomHandle: Int] = [:]

  /// Admits a message that takes so many decisions. Each ticket is given back once with ``end(_:)``.
  mutating func begin(_ decisions: Int, in room: RoomHandle) -> Ticket {
    // A message is not decided before an earlier one of its room: pushes keep the order of the messages.
    let isDecided =
      decisions == 0
      || decisions <= DecisionBounds.maxWithMessage && unstored + decisions <= DecisionBounds.maxUnstored
        && leaving[room] == nil
    if isDecided { unstored += decisions } else { leaving[room, default: 0] += 1 }
    return Ticket(room: room, decisions: decisions, isDecided: isDecided)
  }

  /// The message was stored and shown, or it was refused.
  mutating func end(_ ticket: Ticket) {
    if ticket.isDecided {
      unstored -= ticket.decisions
    } else if let count = leaving[ticket.room] {
      leaving[ticket.room] = count == 1 ? nil : count - 1
    }
  }
}
