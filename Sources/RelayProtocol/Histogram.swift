// SPDX-License-Identifier: Apache-2.0

/// How often something was how large.
public struct Histogram: Equatable, Sendable {
  /// Upper bounds, ascending.
  public let bounds: [Double]
  /// Up to each bound and above the one before; the last: above all.
  public private(set) var counts: [UInt64]
  /// Of all values together.
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

  /// For times that a disk has a part in, in seconds.
  public static let seconds = Histogram(
    bounds: [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10])
}
