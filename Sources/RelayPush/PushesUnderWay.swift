// SPDX-License-Identifier: Apache-2.0
import RelayStore

/// The pushes that are under way, by lane, and the capacity that they leave.
struct PushesUnderWay: Sendable {
  /// Jobs and updates of a lane that are under way at once: a slow gateway does not fill the memory.
  static let maxInLane = 256
  /// The updates among them, so that badges and edits leave capacity for messages and calls.
  static let maxUpdatesInLane = 64

  private struct Load {
    var pushes = 0
    var updates = 0
  }

  /// By the lane of the pushes.
  private var loads: [Lane: Load] = [:]
  /// The ids of the jobs and updates. Their leases are renewed, however far the clock has moved.
  private(set) var ids: Set<String> = []

  var isEmpty: Bool { ids.isEmpty }

  /// The number of jobs that lanes may begin now. A lane is missing if it and its neighbour have nothing under way. Then
  /// both have their whole capacity.
  var capacity: [Lane: Int] {
    var capacity: [Lane: Int] = [:]
    for (lane, load) in loads {
      let left = max(0, Self.maxInLane - load.pushes)
      capacity[lane] = left
      capacity[lane.forUpdates] = max(0, min(Self.maxUpdatesInLane - load.updates, left))
    }
    return capacity
  }

  /// Each push that begins ends once.
  mutating func begin(_ id: String, in lane: Lane) {
    guard ids.insert(id).inserted else { return }
    loads[lane.forPushes, default: Load()].pushes += 1
    if lane.isForUpdates { loads[lane.forPushes, default: Load()].updates += 1 }
  }

  mutating func end(_ id: String, in lane: Lane) {
    guard ids.remove(id) != nil, var load = loads[lane.forPushes] else { return }
    load.pushes -= 1
    if lane.isForUpdates { load.updates -= 1 }
    loads[lane.forPushes] = load.pushes == 0 ? nil : load
  }
}
