// SPDX-License-Identifier: Apache-2.0

/// A component that acts on changes.
///
/// Each follower receives all changes, in the order of `Relay.followers`. A follower must not wait. It reads and writes
/// the store in a task of its own.
///
/// | change | published |
/// |---|---|
/// | ``Change/marked(_:upTo:in:)`` | when the hub has raised the mark, perhaps before it is stored |
/// | ``Change/loaded(_:)``, ``Change/pushed(heldUntil:)``, ``Change/heldDue`` | some time after the commit |
/// | ``Change/person(_:hasOpenDecisions:)`` | some time after the commit; before it if a report ends by itself or a right is saved late |
/// | ``Change/listChanged(of:)`` | some time after the commit |
/// | ends of invitations by a block | some time after the commit |
/// | all others | in the completion of the commit, before the next commit is shown: in the order of the store |
package protocol Follower: AnyObject {
  func follow(_ change: Change, on core: isolated Core)
}

/// The followers in the order in which they receive each change. They have different types, so that a call of each is
/// direct: each message calls them all.
package struct Followers<each Next: Follower> {
  package let list: (repeat each Next)

  package init(_ list: repeat each Next) { self.list = (repeat each list) }

  /// The followers as values of one type.
  package var all: [any Follower] {
    var all: [any Follower] = []
    for follower in repeat each list { all.append(follower) }
    return all
  }

  @inlinable package func follow(_ change: Change, on core: isolated Core) {
    repeat (each list).follow(change, on: core)
  }
}
