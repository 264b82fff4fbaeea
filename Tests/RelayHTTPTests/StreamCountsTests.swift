// SPDX-License-Identifier: Apache-2.0
import RelayHub
import RelayIdentity
import Testing

@testable import RelayHTTP

/// The open streams of each API key.
@Suite struct StreamCountsTests {
  private func stream(_ id: UInt64) -> ExchangeHandle { ExchangeHandle(rawValue: id) }

  @Test func `each key has its own count, and a stream ends once`() {
    var counts = StreamCounts()
    counts.add(stream(1), of: BackendKey(name: "shop"))
    counts.add(stream(2), of: BackendKey(name: "shop"))
    counts.add(stream(3), of: BackendKey(name: "mail"))
    #expect(Set(counts.streams { $0.name == "shop" }) == [stream(1), stream(2)])
    #expect(counts["shop"] == 2)
    #expect(counts["mail"] == 1)
    #expect(counts["other"] == 0)
    counts.remove(stream(1))
    counts.remove(stream(1))
    counts.remove(stream(9))
    #expect(counts["shop"] == 1)
    counts.remove(stream(2))
    counts.remove(stream(3))
    #expect(counts.isEmpty)
  }
}
