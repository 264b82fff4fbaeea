// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import RelayFollowers
@testable import RelayState

/// The times at which changes of the lists of rooms are handled.
@Suite struct ChangeThrottleTests {
  private enum Step {
    case change(String), forget(String)
    /// The keys that are handled at once, and end at once.
    case handles([String])
    /// A key that begins, and one that ends.
    case begins(String?), ends(String)
    /// The next due time in milliseconds.
    case due(Int?)
  }

  /// Steps at a time in milliseconds.
  private typealias Line = (at: Int, step: Step)

  private static let interval = Duration.seconds(1)

  private func play(_ lines: [Line]) {
    let start = ContinuousClock.now
    var throttle = ChangeThrottle<String>()
    for (index, line) in lines.enumerated() {
      let now = start + .milliseconds(line.at)
      switch line.step {
      case .change(let key): throttle.change(key, at: now, interval: Self.interval)
      case .forget(let key): throttle.forget(key)
      case .handles(let keys):
        var found: [String] = []
        while let key = throttle.next(at: now) {
          found.append(key)
          throttle.end(key, at: now, interval: Self.interval)
        }
        #expect(found == keys, "line \(index)")
      case .begins(let key): #expect(throttle.next(at: now) == key, "line \(index)")
      case .ends(let key): throttle.end(key, at: now, interval: Self.interval)
      case .due(let time): #expect(throttle.due == time.map { start + .milliseconds($0) }, "line \(index)")
      }
    }
  }

  @Test func `the first change is due at once, and the following ones after the interval`() {
    play([
      (0, .due(nil)), (0, .change("a")), (0, .due(0)), (0, .handles(["a"])), (0, .due(nil)),
      (10, .change("a")), (20, .change("a")), (20, .due(1000)), (999, .handles([])), (1000, .handles(["a"])),
      (5000, .change("a")), (5000, .due(5000)), (5000, .handles(["a"])),
    ])
  }

  @Test func `each key has its own interval, and the oldest change is first`() {
    play([
      (0, .change("a")), (0, .change("b")), (0, .handles(["a", "b"])), (100, .change("b")), (200, .change("a")),
      (300, .change("c")), (300, .handles(["c"])), (1000, .handles(["b", "a"])),
    ])
  }

  @Test func `changes while a key is handled are handled together afterwards`() {
    play([
      (0, .change("a")), (0, .begins("a")), (10, .change("a")), (20, .change("a")), (20, .begins(nil)),
      (30, .ends("a")), (30, .due(1000)), (1000, .handles(["a"])), (2000, .handles([])),
      // A handling that takes longer than the interval.
      (3000, .change("a")), (3000, .begins("a")), (3500, .change("a")), (5000, .ends("a")), (5000, .handles(["a"])),
    ])
  }

  @Test func `a forgotten key is not handled, and begins anew`() {
    play([
      (0, .change("a")), (0, .forget("a")), (0, .handles([])), (0, .change("a")), (0, .handles(["a"])),
      (10, .change("a")), (10, .forget("a")), (20, .change("a")), (20, .handles(["a"])), (1000, .handles([])),
      (2000, .change("a")), (2000, .begins("a")), (2000, .forget("a")), (2000, .ends("a")), (9000, .handles([])),
    ])
  }

  @Test func `the number of running keys counts each key once`() {
    var throttle = ChangeThrottle<Int>()
    let now = ContinuousClock.now
    for key in 0..<3 { throttle.change(key, at: now, interval: Self.interval) }
    #expect(throttle.next(at: now) == 0 && throttle.next(at: now) == 1)
    #expect(throttle.running == 2)
    throttle.end(0, at: now, interval: Self.interval)
    throttle.end(0, at: now, interval: Self.interval)
    throttle.forget(1)
    throttle.forget(2)
    #expect(throttle.running == 0 && throttle.next(at: now) == nil)
  }

  @Test func `memory is bounded by the keys with a change`() {
    var throttle = ChangeThrottle<Int>()
    let start = ContinuousClock.now
    for key in 0..<5_000 { throttle.change(key, at: start, interval: Self.interval) }
    for key in 0..<5_000 {
      #expect(throttle.next(at: start) == key)
      throttle.end(key, at: start, interval: Self.interval)
    }
    throttle.change(7, at: start + .milliseconds(1), interval: Self.interval)
    throttle.forgetResting(before: start)
    #expect(throttle.count == 5_000)
    throttle.forgetResting(before: start + .milliseconds(1))
    #expect(throttle.count == 1)
    #expect(throttle.next(at: start + Self.interval) == 7)
  }
}
