// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import RelayServer

/// `StoreOutage`, which detects the end of an outage.
struct StoreOutageTests {
  private let start = ContinuousClock.now

  @Test func `the end of an outage is reported once`() {
    var outage = StoreOutage(failures: 3)
    #expect(outage.observe(failures: 3, isAvailable: true, at: start) == nil)
    #expect(outage.observe(failures: 4, isAvailable: false, at: start + .seconds(1)) == nil)
    #expect(outage.observe(failures: 9, isAvailable: false, at: start + .seconds(2)) == nil)
    #expect(outage.observe(failures: 9, isAvailable: true, at: start + .seconds(5)) == .seconds(4))
    #expect(outage.observe(failures: 9, isAvailable: true, at: start + .seconds(6)) == nil)
  }

  @Test func `an outage between two observations is detected`() {
    var outage = StoreOutage(failures: 0)
    #expect(outage.observe(failures: 1, isAvailable: true, at: start) == .zero)
    #expect(outage.observe(failures: 1, isAvailable: true, at: start + .seconds(1)) == nil)
  }
}
