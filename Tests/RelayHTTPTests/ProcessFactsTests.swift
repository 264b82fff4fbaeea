// SPDX-License-Identifier: Apache-2.0
import Foundation
import Testing

@testable import RelayHTTP

/// The start time of the process, for `process_start_time_seconds`.
@Suite struct ProcessFactsTests {
  @Test func `the start of the process precedes its first use`() {
    let now = Date().timeIntervalSince1970
    #expect(ProcessFacts.start <= now)
    #expect(ProcessFacts.start > now - 24 * 3600)
  }

  @Test func `the start is the boot time and the ticks in field 22`() {
    // The name of this program is `a b) c`.
    let process = "7 (a b) c) S 1 7 7 0 -1 4194560 9 0 0 0 1 2 0 0 20 0 1 0 250 8192 3\n"
    let system = "cpu 1 2 3\nbtime 1000\nprocesses 9\n"
    #expect(ProcessFacts.start(process: process, system: system, ticksPerSecond: 100) == 1002.5)
  }

  @Test func `a text without the values gives no start`() {
    let process = "7 (a) S" + String(repeating: " 1", count: 30)
    func start(_ process: String, _ system: String) -> Double? {
      ProcessFacts.start(process: process, system: system, ticksPerSecond: 100)
    }
    #expect(start("", "btime 1000\n") == nil)
    #expect(start("7 (a) S 1\n", "btime 1000\n") == nil)
    #expect(start(process, "cpu 1\n") == nil)
    #expect(start(process, "btime 1000\n") == 1000.01)
  }
}
