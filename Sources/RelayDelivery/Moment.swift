// SPDX-License-Identifier: Apache-2.0
public import RelayProtocol

/// A time of the wall clock, and the steps by which somebody has set this clock.
public struct Moment: Equatable, Sendable {
  public let now: Timestamp
  /// The sum of all steps. Only differences have a meaning.
  public let steps: Duration

  public init(now: Timestamp, steps: Duration = .zero) {
    self.now = now
    self.steps = steps
  }

  /// The time by the stepless clock: the wall clock without all steps, which nobody can set.
  public var stepless: Timestamp { now - steps }
}
