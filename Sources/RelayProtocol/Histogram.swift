// SPDX-License-Identifier: Apache-2.0

/// A histogram: the number of observed values in each range.
public struct Histogram: Equatable, Sendable {
  /// The upper bounds of the ranges, ascending.
  public let bounds: [Double]
  /// The number of values up to each bound and above the previous one. The last count is that of the values above all
  /// bounds.
  public private(set) var counts: [UInt64]
  /// The sum of all values.
  public private(set) var sum: Double

  public init(bounds: [Double]) {
    self.init(bounds: bounds, counts: [UInt64](repeating: 0, count: bounds.count + 1), sum: 0)
  }

  public init(bounds: [Double], counts: [UInt64], sum: Double) {
    precondition(counts.count == bounds.count + 1, "a count for each bound and one more")
    self.bounds = bounds
    self.counts = counts
    self.sum = sum
  }

  public mutating func observe(_ value: Double) {
    counts[bounds.firstIndex { value <= $0 } ?? bounds.count] += 1
    sum += value
  }

  /// An empty histogram for durations in seconds, with bounds that suit operations on a disk.
  public static let seconds = Histogram(
    bounds: [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10])
}
