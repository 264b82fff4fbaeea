// SPDX-License-Identifier: Apache-2.0

/// A dictionary of bounded size. When it is full, it removes the least recently used value.
struct RecentlyUsed<Key: Hashable, Value> {
  private struct Slot {
    var key: Key
    var value: Value
    /// The slots that were used directly before and directly after this one.
    var older: Int?
    var newer: Int?
  }

  private let capacity: Int
  private var slots: [Slot] = []
  private var indices: [Key: Int] = [:]
  private var oldest: Int?
  private var newest: Int?

  init(capacity: Int) {
    precondition(capacity > 0, "the capacity must be at least 1")
    self.capacity = capacity
  }

  var count: Int { slots.count }

  /// All entries in no order. Reading them does not count as use.
  var all: [(key: Key, value: Value)] { slots.map { ($0.key, $0.value) } }

  /// Calls `body` with the value of `key` and marks it as used. Returns `nil` when the key has no value.
  mutating func use<T>(_ key: Key, _ body: (inout Value) -> T) -> T? {
    guard let index = indices[key] else { return nil }
    unlink(index)
    link(index)
    return body(&slots[index].value)
  }

  /// Adds a value under a key that has none.
  /// - Returns: The entry that was removed to make space, if the dictionary was full.
  mutating func insert(_ value: Value, for key: Key) -> (key: Key, value: Value)? {
    precondition(indices[key] == nil, "a key has one value")
    guard slots.count == capacity, let index = oldest else {
      slots.append(Slot(key: key, value: value))
      indices[key] = slots.count - 1
      link(slots.count - 1)
      return nil
    }
    let former = slots[index]
    unlink(index)
    indices[former.key] = nil
    slots[index] = Slot(key: key, value: value)
    indices[key] = index
    link(index)
    return (former.key, former.value)
  }

  private mutating func unlink(_ index: Int) {
    let (older, newer) = (slots[index].older, slots[index].newer)
    if let older { slots[older].newer = newer } else { oldest = newer }
    if let newer { slots[newer].older = older } else { newest = older }
  }

  private mutating func link(_ index: Int) {
    slots[index].older = newest
    slots[index].newer = nil
    if let newest { slots[newest].newer = index } else { oldest = index }
    newest = index
  }
}
