// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import RelayServer

/// `DrainDeadline`, which the services share at a graceful shutdown.
@Suite struct DrainDeadlineTests {
  @Test func `the first service that drains sets the deadline for all`() {
    let deadline = DrainDeadline()
    let start = ContinuousClock.now
    #expect(deadline.begin(now: start) == start + .seconds(20))
    #expect(deadline.begin(now: start + .seconds(7)) == start + .seconds(20))
  }

  @Test func `a relay that has lost its files sets a short deadline`() {
    let deadline = DrainDeadline()
    let start = ContinuousClock.now
    #expect(deadline.begin(patience: LostFiles.farewell, now: start) == start + .seconds(1))
    #expect(deadline.begin(now: start) == start + .seconds(1))
  }
}
