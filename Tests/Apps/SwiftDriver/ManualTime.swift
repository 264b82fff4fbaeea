// SPDX-License-Identifier: Apache-2.0
import StillwireClient
import Synchronization

/// A time that stands still until it is moved. Nobody wakes by it: who moves it says what is due.
final class ManualTime: Timekeeper {
  private let time = Mutex(Duration.zero)

  var now: Duration { time.withLock { $0 } }

  func sleep(until due: Duration) async throws {
    while true { try await Task.sleep(for: .seconds(3_600)) }
  }

  /// So that everything due happens in the order of its times.
  func advance(by duration: Duration, _ client: Stillwire) async {
    let end = now + duration
    while let due = await client.engine.nextDue, due <= end {
      time.withLock { $0 = max($0, due) }
      await client.engine.timePassed()
    }
    time.withLock { $0 = end }
  }
}
