// SPDX-License-Identifier: Apache-2.0
package import RelayHub
package import RelayProtocol
import RelayPush
package import RelayStore

/// The policy of a room, which the first pattern for its name determines.
package struct RoomPolicy: Equatable, Sendable {
  /// The messages that are kept; none: the room is relayed without the store, and its members are not durable.
  package var history = Retention(count: 1_000, age: .seconds(30 * 24 * 3600))
  /// Away members are pushed to; only where messages are kept, because a push has to find its message.
  package var pushes = true
  /// Pushes tell what messages say; false: ids, names and keys of texts alone leave the relay.
  package var hasPreview = true
  /// Members hear how far others have received and read.
  var tellsReceipts = false
  /// Members above which it is large; nil: as the limits say.
  package var memberList: Int?
  /// The most members; nil: as the limits say.
  package var members: Int?

  /// The rights of users whose token has no claim `rooms`. Is `nil` when the pattern does not say: then open mode gives
  /// the standard rights to everybody, and token mode gives them to members.
  package var can: Rights?

  /// The bounds of ``history``, and of its age in seconds.
  package static let counts: ClosedRange<Int64> = 0...1_000_000_000
  package static let ages: ClosedRange<Int64> = 0...3_153_600_000
  /// The bounds of ``memberList`` and ``members``.
  package static let memberLists: ClosedRange<Int64> = 0...10_000
  package static let memberCounts: ClosedRange<Int64> = 0...1_000_000

  /// Nothing is kept.
  package static let live = RoomPolicy(history: Retention(count: 0), pushes: false)

  /// Of what is pushed without a room: as long as a dead letter can be sent again.
  package static let notifications = RoomPolicy(history: Retention(count: 1_000, age: PushWorker.retention))

  var isStored: Bool { history.count > 0 }

  package var traits: RoomTraits {
    var traits: RoomTraits = []
    if isStored { traits.insert(.stored) }
    if pushes { traits.insert(.pushes) }
    if tellsReceipts { traits.insert(.receipts) }
    return traits
  }
}
