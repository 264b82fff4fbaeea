// SPDX-License-Identifier: Apache-2.0
package import RelayProtocol
package import RelayStore

/// The erasures whose last attempt has failed, and the times of their retries. It does no I/O.
///
/// An erasure has no failed state, because an abandoned one would leave rows with the name of the user. The relay tries
/// again until an attempt succeeds, and shows the last failure until then. After a restart, it tries at once.
package struct ErasureFailures {
  package struct Failure: Equatable, Sendable {
    package var cause: Cause
    /// The number of attempts that have failed since the last one that succeeded.
    package var count: Int
    /// The time of the last attempt.
    package var time: Timestamp
    /// The time of the next attempt, for display.
    package var retry: Timestamp
    /// The same time on the monotonic clock, which decides.
    fileprivate var due: ContinuousClock.Instant
  }

  /// The reason of a failure. It is safe as a label.
  package enum Cause: String, Sendable, CaseIterable {
    /// The disk, or the log of the cluster, does not accept the change.
    case unavailable
    /// A page or a row of the database has invalid content.
    case damaged
    /// The database rejected the change, which is a fault of the relay.
    case `internal`
  }

  private var failures: [String: Failure] = [:]

  package var count: Int { failures.count }
  package subscript(_ id: String) -> Failure? { failures[id] }

  /// The time between the last of these failures and the next attempt: 1 to 60 seconds.
  package static func pause(after count: Int) -> Duration { .seconds(min(60, 1 << min(max(count, 1) - 1, 6))) }

  /// - Parameter retryAfter: The time to the next attempt. Is `nil` for ``pause(after:)``.
  package mutating func add(
    _ id: String, _ cause: Cause, at time: Timestamp, retryAfter: Duration? = nil, now: ContinuousClock.Instant
  ) {
    let count = (failures[id]?.count ?? 0) + 1
    let pause = retryAfter ?? Self.pause(after: count)
    failures[id] = Failure(cause: cause, count: count, time: time, retry: time + pause, due: now + pause)
  }

  /// An attempt has succeeded.
  package mutating func remove(_ id: String) { failures[id] = nil }

  /// The erasures whose next attempt is not due yet.
  package func waiting(now: ContinuousClock.Instant) -> Set<String> {
    Set(failures.lazy.filter { $0.value.due > now }.map(\.key))
  }
}

extension ErasureFailures.Cause {
  package init(_ error: StoreError) {
    self =
      switch error {
      case .unavailable, .ended, .closed: .unavailable
      case .damaged, .invalidRow: .damaged
      default: .internal
      }
  }
}
