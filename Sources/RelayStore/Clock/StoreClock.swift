// SPDX-License-Identifier: Apache-2.0
public import RelayProtocol

/// The two clocks of a store.
public struct StoreClock: Sendable {
  /// The wall clock, which an operator or a time service can set.
  public let now: @Sendable () -> Timestamp
  /// The time since a fixed moment, also while the machine is suspended. Nobody can set this clock.
  public let elapsed: @Sendable () -> Duration

  public init(now: @escaping @Sendable () -> Timestamp, elapsed: @escaping @Sendable () -> Duration) {
    self.now = now
    self.elapsed = elapsed
  }

  /// A wall clock that is never set.
  public init(now: @escaping @Sendable () -> Timestamp) {
    self.init(now: now, elapsed: { now() - Timestamp(rawValue: 0) })
  }

  /// The clocks of the system.
  public static let system = {
    let start = ContinuousClock.now
    return StoreClock(now: Store.timeOfDay, elapsed: { ContinuousClock.now - start })
  }()
}
