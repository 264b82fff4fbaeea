// SPDX-License-Identifier: Apache-2.0
import RelayProtocol
import RelayStore
import Synchronization

/// The log of a cluster in memory, and the file of a follower. After each crash of the relay, the next one starts from
/// the follower's file, as a takeover does.
///
/// The relay's writer calls the methods of `Journal`. All else belongs to the simulation's thread, while no relay runs.
final class SimulatedLog: Journal {
  private let groups = Mutex<[[UInt8]]>([])
  private let folder: String
  private let copy: String
  private let clock: VirtualClock

  /// - Parameter root: A folder for the files.
  init(root: String, clock: VirtualClock) {
    self.clock = clock
    folder = root + "/follower"
    copy = root + "/copy"
  }

  /// The clock for keys never differs from the virtual clock.
  var keyTime: Timestamp { clock.now }

  func decide(_ rows: [UInt8]) -> JournalDecision {
    groups.withLock { groups in
      groups.append(rows)
      return .commit(position: "\(groups.count)")
    }
  }

  func committed() {}
  func commitFailed() {}

  /// Creates the first files of the relay and of the follower.
  func found(_ relay: String) throws {
    let replica = try Replica(folder: relay)
    try replica.setPosition("0")
    _ = try replica.copy(to: copy)
    replica.close()
    try Replica.install(copy, folder: folder)
  }

  /// Lets the follower apply the log up to the position of the relay's file. Throws a ``Violation`` if the files differ.
  /// - Parameter takesOver: True if the relay gets the follower's file.
  func follow(_ relay: String, takesOver: Bool) throws {
    let replica = try Replica(folder: relay)
    let (position, hash) = (replica.position.flatMap { Int($0) } ?? 0, try replica.hash())
    replica.close()
    // A relay that has crashed has gone on without an effect. Its later groups do not exist.
    let groups = groups.withLock { groups in
      groups.removeSubrange(position...)
      return groups
    }
    let follower = try Replica(folder: folder)
    let known = follower.position.flatMap { Int($0) } ?? 0
    try follower.apply(Array(groups[known...]), position: "\(position)")
    let copied = try follower.hash()
    _ = try follower.copy(to: copy)
    follower.close()
    guard copied == hash else { throw Violation(.kept, "the follower's file differs at group \(position)") }
    if takesOver { try Replica.install(copy, folder: relay) }
  }
}
