// SPDX-License-Identifier: Apache-2.0

/// SplitMix64 (Steele, Lea and Flood, 2014). Equal seeds give equal numbers on every platform.
public struct SeededGenerator: RandomNumberGenerator, Sendable {
  private var state: UInt64

  public init(seed: Int) {
    state = UInt64(bitPattern: Int64(seed))
    // Without this step, each seed would continue the numbers of the seed before it.
    state = next()
  }

  public mutating func next() -> UInt64 {
    state &+= 0x9e37_79b9_7f4a_7c15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
    return mixed ^ (mixed >> 31)
  }

  /// A random integer from 0 to `bound` - 1.
  public mutating func below(_ bound: Int) -> Int { Int.random(in: 0..<bound, using: &self) }

  /// True one time in `times`.
  public mutating func hits(oneIn times: Int) -> Bool { below(times) == 0 }

  /// A random item.
  public mutating func one<Item>(of items: [Item]) -> Item { items[below(items.count)] }

  /// A random item. The probability of an item is proportional to its weight.
  public mutating func one<Item>(weighted items: [(Int, Item)]) -> Item {
    var place = below(items.reduce(0) { $0 + $1.0 })
    for (weight, item) in items {
      place -= weight
      if place < 0 { return item }
    }
    preconditionFailure("the place is below the sum of the weights")
  }
}
