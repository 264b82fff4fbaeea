// SPDX-License-Identifier: Apache-2.0
import RelayProtocol
import StillwireClient
import Synchronization

/// A clock that only the script advances. It wakes no sleeping task: `advance` runs the due work of the client itself.
final class ManualTime: Timekeeper {
  private let time = Mutex(Duration.zero)
  /// The wall-clock time at the start.
  private let start = Mutex(Duration.seconds(1_800_000_000))

  var now: Duration { time.withLock { $0 } }

  var wall: Timestamp { Timestamp(rawValue: Int64((start.withLock { $0 } + now) / .milliseconds(1))) }

  /// Sets the wall clock ahead or back. No time passes.
  func step(by duration: Duration) { start.withLock { $0 += duration } }

  func sleep(until due: Duration) async throws {
    while true { try await Task.sleep(for: .seconds(3_600)) }
  }

  /// Advances the clock, and runs all due work of the client in the order of its times.
  func advance(by duration: Duration, _ client: Stillwire) async {
    let end = now + duration
    while let due = await client.engine.nextDue, due <= end {
      time.withLock { $0 = max($0, due) }
      await client.engine.timePassed()
    }
    time.withLock { $0 = end }
  }
}
