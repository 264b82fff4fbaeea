// SPDX-License-Identifier: Apache-2.0
package import RelayHub
package import RelayProtocol
package import RelayRequests

/// The policies of the rooms in memory, and the requests that keep rooms there. The hub has the rooms.
///
/// The state is private. The relay creates one object, and the methods run on the hub's thread.
package final class RoomMemory {
  private var policies: [RoomHandle: RoomPolicy] = [:]
  /// The number of requests that need a room to stay in memory.
  private var retained: [RoomID: Int] = [:]
  /// The number of deletions of each room that the store has not completed yet.
  private var deletions: [RoomID: Int] = [:]
  /// Increases with each deleted room and each ended membership. If it has changed during a read of a room, the read may
  /// be outdated.
  package private(set) var removals = 0

  package init() {}

  package static func newEpoch() -> String {
    String(UInt64.random(in: 1...UInt64.max), radix: 36)
  }

  // MARK: Policies

  /// Returns the current policy of a room in memory, or that of the first pattern that matches.
  package func policy(of room: RoomID, on core: isolated Core) -> RoomPolicy {
    core.hub.room(room).flatMap { policies[$0] } ?? core.settings.rooms.policy(for: room)
  }

  /// The policy of a room in memory.
  package func policy(of room: RoomHandle) -> RoomPolicy? { policies[room] }

  func set(_ policy: RoomPolicy, of room: RoomHandle) { policies[room] = policy }

  /// The rooms in memory with their policies.
  var all: [RoomHandle: RoomPolicy] { policies }

  /// Forgets a room that the hub has removed from memory.
  func forget(_ room: RoomHandle) { policies[room] = nil }

  // MARK: Rooms in use

  /// Keeps a stored room in memory until the matching ``release(_:on:)``. A request retains a room before it loads it.
  /// The hub removes live rooms itself, even if they are retained.
  package func retain(_ room: RoomID) { retained[room, default: 0] += 1 }

  /// Ends a ``retain(_:)``. The end of the last one removes a stored room without members from memory.
  package func release(_ room: RoomID, on core: isolated Core) {
    guard let count = retained[room] else { return }
    retained[room] = count == 1 ? nil : count - 1
    guard count == 1, let handle = core.hub.room(room), policies[handle]?.isStored == true,
      core.hub.memberCount(of: handle) == 0
    else { return }
    // The store may have deleted the room with its last member. A room in memory would look as if it existed.
    core.hub.unload(handle)
  }

  /// Unloads a room that no session has joined, unless a request needs it.
  package func unloadIdle(_ room: RoomHandle, on core: isolated Core) {
    guard let name = core.hub.name(of: room), retained[name] == nil else { return }
    core.hub.unload(room)
  }

  /// True if a request needs any room.
  /// - Parameter kept: How often each room is retained for another reason, such as a call that rings.
  func isInUse(besides kept: [RoomID: Int]) -> Bool { retained.contains { $1 > kept[$0, default: 0] } }

  // MARK: Deletions

  /// Counts a deletion that the store is about to complete.
  func beginDeletion(of room: RoomID) { deletions[room, default: 0] += 1 }

  func endDeletion(of room: RoomID) {
    removals += 1
    guard let count = deletions[room] else { return }
    deletions[room] = count == 1 ? nil : count - 1
  }

  func isBeingDeleted(_ room: RoomID) -> Bool { deletions[room] != nil }

  /// Records that the store has ended memberships of rooms that may not be in memory.
  package func noteRemovals() { removals += 1 }
}
