// SPDX-License-Identifier: Apache-2.0
import RelayProtocol
import Synchronization

/// A clock that moves only when it is set. Any thread.
final class VirtualClock: Sendable {
  /// A Friday in January.
  static let start = Timestamp(rawValue: 1_800_000_000_000)

  private let time = Atomic(start.rawValue)

  var now: Timestamp { Timestamp(rawValue: time.load(ordering: .sequentiallyConsistent)) }

  func move(to now: Timestamp) {
    precondition(now >= self.now, "time never goes back")
    time.store(now.rawValue, ordering: .sequentiallyConsistent)
  }
}
