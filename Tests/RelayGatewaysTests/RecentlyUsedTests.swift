// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import RelayGateways

@Suite struct RecentlyUsedTests {
  @Test func `it removes the same entries as a plain list in order of use`() {
    var generator = SystemRandomNumberGenerator()
    var used = RecentlyUsed<Int, Int>(capacity: 7)
    var list: [(key: Int, value: Int)] = []
    for step in 0..<5_000 {
      let key = Int.random(in: 0..<12, using: &generator)
      let found = used.use(key) { value in
        value += 1
        return value
      }
      if let index = list.firstIndex(where: { $0.key == key }) {
        var entry = list.remove(at: index)
        entry.value += 1
        list.append(entry)
        #expect(found == entry.value)
      } else {
        #expect(found == nil)
        let expected = list.count == 7 ? list.removeFirst() : nil
        list.append((key, step))
        let former = used.insert(step, for: key)
        #expect(former?.key == expected?.key)
        #expect(former?.value == expected?.value)
      }
      #expect(used.count == list.count)
    }
  }
}
