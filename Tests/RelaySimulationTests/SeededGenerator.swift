// SPDX-License-Identifier: Apache-2.0

/// SplitMix64 (Steele, Lea and Flood, 2014): the same numbers for the same seed, everywhere.
struct SeededGenerator: RandomNumberGenerator {
  private var state: UInt64

  init(seed: Int) {
    state = UInt64(bitPattern: Int64(seed))
    // Else one seed's numbers would be those of the seed before, but for the first.
    state = next()
  }

  mutating func next() -> UInt64 {
    state &+= 0x9e37_79b9_7f4a_7c15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
    return mixed ^ (mixed >> 31)
  }

  mutating func below(_ bound: Int) -> Int { Int.random(in: 0..<bound, using: &self) }

  /// Whether something happens that happens one time in so many.
  mutating func hits(oneIn times: Int) -> Bool { below(times) == 0 }

  mutating func one<Item>(of items: [Item]) -> Item { items[below(items.count)] }

  /// An item; those with more weight more often.
  mutating func one<Item>(weighted items: [(Int, Item)]) -> Item {
    var place = below(items.reduce(0) { $0 + $1.0 })
    for (weight, item) in items {
      place -= weight
      if place < 0 { return item }
    }
    preconditionFailure("the place is below the sum of the weights")
  }
}
