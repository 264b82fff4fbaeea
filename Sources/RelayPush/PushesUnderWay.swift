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

  private var loads: [Lane: Load] = [:]
  /// The ids of the jobs and updates. Their leases are renewed, however far the clock has moved.
  private(set) var ids: Set<String> = []

  var isEmpty: Bool { ids.isEmpty }

  /// The number of jobs that lanes may begin now. A lane without pushes is missing, and has its whole capacity.
  var capacity: [Lane: Int] { loads.mapValues { max(0, Self.maxInLane - $0.pushes) } }

  /// The number of updates that lanes may begin now. A lane without pushes is missing, and has its whole capacity.
  var updateCapacity: [Lane: Int] {
    loads.mapValues { max(0, min(Self.maxUpdatesInLane - $0.updates, Self.maxInLane - $0.pushes)) }
  }

  /// Each push that begins ends once.
  mutating func begin(_ id: String, in lane: Lane, isUpdate: Bool) {
    guard ids.insert(id).inserted else { return }
    loads[lane, default: Load()].pushes += 1
    if isUpdate { loads[lane, default: Load()].updates += 1 }
  }

  mutating func end(_ id: String, in lane: Lane, isUpdate: Bool) {
    guard ids.remove(id) != nil, var load = loads[lane] else { return }
    load.pushes -= 1
    if isUpdate { load.updates -= 1 }
    loads[lane] = load.pushes == 0 ? nil : load
  }
}
