// SPDX-License-Identifier: Apache-2.0
import RelayStore

/// The pushes in progress by lane, and the remaining capacity.
struct PushesInProgress: Sendable {
  /// The maximum number of jobs and updates of a lane in progress. It bounds the memory that a slow gateway can use.
  static let maxInLane = 256
  /// The maximum number of updates among them, so that badges and edits leave capacity for messages and calls.
  static let maxUpdatesInLane = 64

  private struct Load {
    var pushes = 0
    var updates = 0
  }

  /// The number of pushes in progress, by lane.
  private var loads: [Lane: Load] = [:]
  /// The ids of the jobs and updates in progress. The worker renews their leases, even after the clock jumped.
  private(set) var ids: Set<String> = []

  var isEmpty: Bool { ids.isEmpty }

  /// The number of jobs that each lane can begin now. Lanes with nothing in progress are missing: they have their whole
  /// capacity.
  var capacity: [Lane: Int] {
    var capacity: [Lane: Int] = [:]
    for (lane, load) in loads {
      let left = max(0, Self.maxInLane - load.pushes)
      capacity[lane] = left
      capacity[lane.forUpdates] = max(0, min(Self.maxUpdatesInLane - load.updates, left))
    }
    return capacity
  }

  /// Records the start of a push. Repeated starts and ends of the same push have no effect.
  mutating func begin(_ id: String, in lane: Lane) {
    guard ids.insert(id).inserted else { return }
    loads[lane.forPushes, default: Load()].pushes += 1
    if lane.isForUpdates { loads[lane.forPushes, default: Load()].updates += 1 }
  }

  /// - Returns: True if the lane was full.
  @discardableResult
  mutating func end(_ id: String, in lane: Lane) -> Bool {
    guard ids.remove(id) != nil, var load = loads[lane.forPushes] else { return false }
    let wasFull = load.pushes >= Self.maxInLane || load.updates >= Self.maxUpdatesInLane
    load.pushes -= 1
    if lane.isForUpdates { load.updates -= 1 }
    loads[lane.forPushes] = load.pushes == 0 ? nil : load
    return wasFull
  }
}
