// SPDX-License-Identifier: Apache-2.0
import StillwireExtension

/// A clock that stands still until a test advances it.
final class ManualClock: Clock, Sendable {
  struct Instant: InstantProtocol {
    var offset: Duration
    func advanced(by duration: Duration) -> Instant { Instant(offset: offset + duration) }
    func duration(to other: Instant) -> Duration { other.offset - offset }
    static func < (a: Instant, b: Instant) -> Bool { a.offset < b.offset }
  }

  private struct State {
    var now = Duration.zero
    var sleepers: [Int: (due: Duration, wake: CheckedContinuation<Void, any Error>)] = [:]
    var cancelled: Set<Int> = []
    var last = 0
  }

  private let state = Locked(State())

  var now: Instant { Instant(offset: state.current.now) }
  var minimumResolution: Duration { .nanoseconds(1) }
  /// The number of tasks that sleep.
  var sleepers: Int { state.current.sleepers.count }

  func sleep(until deadline: Instant, tolerance: Duration?) async throws {
    let id = state.withLock {
      $0.last += 1
      return $0.last
    }
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { wake in
        let result: Result<Void, any Error>? = state.withLock { state in
          if state.cancelled.contains(id) { return .failure(CancellationError()) }
          if deadline.offset <= state.now { return .success(()) }
          state.sleepers[id] = (deadline.offset, wake)
          return nil
        }
        if let result { wake.resume(with: result) }
      }
    } onCancel: {
      let sleeper = state.withLock {
        $0.cancelled.insert(id)
        return $0.sleepers.removeValue(forKey: id)
      }
      sleeper?.wake.resume(throwing: CancellationError())
    }
  }

  func advance(by duration: Duration) {
    let due = state.withLock { state in
      state.now += duration
      let due = state.sleepers.filter { $0.value.due <= state.now }
      for id in due.keys { state.sleepers[id] = nil }
      return due.values.map(\.wake)
    }
    due.forEach { $0.resume() }
  }
}

/// Returns when the condition is true.
func wait(until condition: () -> Bool) async throws {
  while !condition() { try await Task.sleep(for: .milliseconds(1)) }
}
