// SPDX-License-Identifier: Apache-2.0
public import RelayProtocol

/// A time of the wall clock, and the steps by which somebody has set this clock. Their difference is a clock that nobody
/// can set, so that the reports of devices age by it.
public struct Moment: Equatable, Sendable {
  public let now: Timestamp
  /// The sum of all steps. Only differences have a meaning.
  public let steps: Duration

  public init(now: Timestamp, steps: Duration = .zero) {
    self.now = now
    self.steps = steps
  }
}
