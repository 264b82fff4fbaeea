// SPDX-License-Identifier: Apache-2.0
package import RelayHub
package import RelayProtocol
import RelayPush
package import RelayStore

/// The policy of a room. The first pattern that matches the room's name defines it.
package struct RoomPolicy: Equatable, Sendable {
  /// The messages that are kept. If the count is 0, the store is not used, and members stay only while they are
  /// connected.
  package var history = Retention(count: 1_000, age: .seconds(30 * 24 * 3600))
  /// True if the relay pushes messages to members who are away. Requires that messages are kept, because a push needs
  /// its message.
  package var pushes = true
  /// True if pushes contain the text of messages. If false, only ids, names and keys of texts leave the relay.
  package var hasPreview = true
  /// True if members receive `receipt` events of the others.
  var sendsReceipts = false
  /// The number of members above which the room is large. Is `nil` for the value of the limits.
  package var memberList: Int?
  /// The maximum number of members. Is `nil` for the value of the limits.
  package var members: Int?

  /// The rights of users whose token has no claim `rooms`. Is `nil` if the pattern does not set them. Then all users
  /// have the standard rights in open mode, and otherwise only members have them.
  package var can: Rights?

  /// The bounds of the count in ``history``, and of its age in seconds.
  package static let counts: ClosedRange<Int64> = 0...1_000_000_000
  package static let ages: ClosedRange<Int64> = 0...3_153_600_000
  /// The bounds of ``memberList`` and ``members``.
  package static let memberLists: ClosedRange<Int64> = 0...10_000
  package static let memberCounts: ClosedRange<Int64> = 0...1_000_000

  /// The policy of a room that keeps nothing.
  package static let live = RoomPolicy(history: Retention(count: 0), pushes: false)

  /// The policy of notifications without a room. They are kept as long as a dead letter can be retried.
  package static let notifications = RoomPolicy(history: Retention(count: 1_000, age: PushWorker.retention))

  package var isStored: Bool { history.count > 0 }

  package var traits: RoomTraits {
    var traits: RoomTraits = []
    if isStored { traits.insert(.stored) }
    if pushes { traits.insert(.pushes) }
    if sendsReceipts { traits.insert(.receipts) }
    return traits
  }
}

extension QuotedParts {
  /// The same parts, without texts in a room whose messages have no previews.
  package func within(_ policy: RoomPolicy?) -> QuotedParts {
    self == .preview && policy?.hasPreview == false ? .sender : self
  }
}
