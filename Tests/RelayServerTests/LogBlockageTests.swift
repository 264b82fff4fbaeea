// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import RelayServer

/// `LogBlockage`, which reports readers that block the write-ahead log.
struct LogBlockageTests {
  @Test func `a reader that stays is reported once, and its end too`() {
    var blockage = LogBlockage()
    let start = ContinuousClock.now
    #expect(blockage.observe(since: nil, at: start) == nil)
    #expect(blockage.observe(since: start, at: start + .seconds(9)) == nil)
    #expect(blockage.observe(since: start, at: start + .seconds(10)) == .begins)
    #expect(blockage.observe(since: start, at: start + .seconds(60)) == nil)
    #expect(blockage.observe(since: nil, at: start + .seconds(61)) == .ends)
    #expect(blockage.observe(since: nil, at: start + .seconds(62)) == nil)
  }

  @Test func `a short read is not reported`() {
    var blockage = LogBlockage()
    let start = ContinuousClock.now
    #expect(blockage.observe(since: start, at: start + .seconds(1)) == nil)
    #expect(blockage.observe(since: nil, at: start + .seconds(2)) == nil)
  }

  @Test func `another reader that follows at once belongs to the same report`() {
    var blockage = LogBlockage()
    let start = ContinuousClock.now
    #expect(blockage.observe(since: start, at: start + .seconds(10)) == .begins)
    #expect(blockage.observe(since: start + .seconds(11), at: start + .seconds(12)) == nil)
    #expect(blockage.observe(since: start + .seconds(11), at: start + .seconds(30)) == nil)
    #expect(blockage.observe(since: nil, at: start + .seconds(31)) == .ends)
  }
}
