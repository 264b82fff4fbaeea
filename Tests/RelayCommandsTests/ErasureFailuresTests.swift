// SPDX-License-Identifier: Apache-2.0
import RelayProtocol
import RelayStore
import Testing

@testable import RelayFollowers

/// The retries of erasures that have failed, as values.
@Suite struct ErasureFailuresTests {
  @Test(
    arguments: [(0, 1), (1, 1), (2, 2), (3, 4), (6, 32), (7, 60), (8, 60), (.max, 60)] as [(Int, Int)])
  func `the time to the next attempt doubles up to a minute`(_ count: Int, _ seconds: Int) {
    #expect(ErasureFailures.pause(after: count) == .seconds(seconds))
  }

  @Test func `an erasure waits for its next attempt, and a success forgets its failures`() {
    var failures = ErasureFailures()
    let (start, time) = (ContinuousClock.now, Timestamp(rawValue: 1_000))
    failures.add("a", .unavailable, at: time, now: start)
    failures.add("b", .internal, at: time, now: start + .milliseconds(500))
    #expect(failures.count == 2 && failures["c"] == nil)
    #expect(failures.waiting(now: start + .milliseconds(900)) == ["a", "b"])
    #expect(failures.waiting(now: start + .seconds(1)) == ["b"])
    failures.add("a", .damaged, at: time + .seconds(1), now: start + .seconds(1))
    let failure = failures["a"]
    #expect(failure?.cause == .damaged && failure?.count == 2)
    #expect(failure?.time == time + .seconds(1) && failure?.retry == time + .seconds(3))
    #expect(failures.waiting(now: start + .milliseconds(2_999)) == ["a"])
    #expect(failures.waiting(now: start + .seconds(3)).isEmpty)
    failures.remove("a")
    #expect(failures.count == 1 && failures["a"] == nil)
    failures.add("a", .internal, at: time, retryAfter: .seconds(40), now: start)
    #expect(failures["a"]?.count == 1 && failures["a"]?.retry == time + .seconds(40))
    #expect(failures.waiting(now: start + .seconds(39)) == ["a"])
  }

  @Test(
    arguments: [
      (.unavailable(reason: "full"), .unavailable), (.ended(reason: "deposed"), .unavailable), (.closed, .unavailable),
      (.damaged(path: "/data", reason: "page"), .damaged), (.invalidRow(reason: "row"), .damaged),
      (.failed(reason: "constraint"), .internal), (.tooLarge, .internal),
    ] as [(StoreError, ErasureFailures.Cause)])
  func `an error of the store has a cause`(_ error: StoreError, _ cause: ErasureFailures.Cause) {
    #expect(ErasureFailures.Cause(error) == cause)
  }
}
